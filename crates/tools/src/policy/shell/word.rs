//! Words: quotes, escapes, and what makes a word something other than what it looks like.

use super::{Dialect, Parser, Unclear, Word};

/// A word while it is read.
#[derive(Default)]
pub(super) struct Draft {
    pub text: Vec<u8>,
    /// Something is put in by the shell.
    pub expands: bool,
    /// Something unquoted is put in, or a pattern: one word may become many.
    pub splits: bool,
    /// A quote or a backslash was there.
    pub quoted: bool,
    /// Length of the text up to the first quote or expansion.
    pub plain: Option<usize>,
}

impl Draft {
    pub(super) fn mark_plain(&mut self) {
        self.plain.get_or_insert(self.text.len());
    }

    fn quote(&mut self) {
        self.mark_plain();
        self.quoted = true;
    }

    /// Where the value begins if this is an assignment: `NAME=`, `NAME+=`, `NAME[…]=`.
    pub(super) fn value_at(&self, dialect: Dialect) -> Option<usize> {
        let plain = self.text.get(..self.plain.unwrap_or(self.text.len()))?;
        let name = plain.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        if name == 0 || plain.first()?.is_ascii_digit() {
            return None;
        }
        let rest = plain.get(name..)?;
        if rest.starts_with(b"=") {
            return Some(name + 1);
        }
        if rest.starts_with(b"+=") {
            return Some(name + 2);
        }
        if !rest.starts_with(b"[") || dialect == Dialect::Posix {
            return None;
        }
        let behind = |mark: &[u8]| memchr::memmem::find(&self.text, mark).map(|at| at + mark.len());
        behind(b"]=").or_else(|| behind(b"]+="))
    }

    pub(super) fn finish(self) -> Word {
        let text = String::from_utf8_lossy(&self.text).into_owned();
        Word { literal: !self.expands && !self.splits, splits: self.splits, text }
    }
}

impl Parser<'_> {
    /// The word that begins here; `None` at an operator, a blank or the end.
    pub(super) fn word(&mut self) -> Result<Option<Draft>, Unclear> {
        let mut word = Draft::default();
        let mut brace = false;
        let mut tilde = false;
        while let Some(byte) = self.peek()? {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => break,
                b'<' | b'>' => {
                    if self.dialect == Dialect::Posix || self.look(1) != Some(b'(') {
                        break;
                    }
                    self.process(&mut word)?;
                }
                b'\\' => {
                    word.quote();
                    self.at += 1;
                    word.text.extend(self.src.get(self.at));
                    self.at = (self.at + 1).min(self.src.len());
                }
                b'\'' => self.single(&mut word)?,
                b'"' => self.double(&mut word)?,
                b'`' => self.backquote(&mut word, false)?,
                b'$' => self.dollar(&mut word, false)?,
                _ => {
                    brace |= byte == b'{';
                    let first = word.text.is_empty() && !word.quoted;
                    let pattern = matches!(byte, b'*' | b'?' | b'[');
                    let list = brace && matches!(byte, b',' | b'.');
                    tilde |= first && byte == b'~';
                    word.splits |= pattern || list;
                    word.text.push(byte);
                    self.at += 1;
                }
            }
        }
        // `[` begins a pattern only before a `]`; alone it is a command.
        if matches!(word.text.as_slice(), b"[" | b"[[") {
            word.splits = false;
        }
        // `~` and `~name` are put in by the shell, and `HOME` may say anything.
        word.expands |= tilde && !word.text.contains(&b'/');
        Ok((!word.text.is_empty() || word.quoted || word.expands).then_some(word))
    }

    fn single(&mut self, word: &mut Draft) -> Result<(), Unclear> {
        word.quote();
        let from = self.at + 1;
        let rest = self.src.get(from..).unwrap_or_default();
        let end = memchr::memchr(b'\'', rest).ok_or(Unclear("a quote that does not end"))?;
        self.spend(end)?;
        word.text.extend(rest.get(..end).unwrap_or_default());
        self.at = from + end + 1;
        Ok(())
    }

    /// Text in double quotes; the first quote is here.
    pub(super) fn double(&mut self, word: &mut Draft) -> Result<(), Unclear> {
        word.quote();
        self.at += 1;
        loop {
            match self.peek()?.ok_or(Unclear("a quote that does not end"))? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    let next = self.src.get(self.at + 1).copied();
                    if !matches!(next, Some(b'$' | b'`' | b'"' | b'\\')) {
                        word.text.push(b'\\');
                    }
                    word.text.extend(next);
                    self.at += 2;
                }
                b'`' => self.backquote(word, true)?,
                b'$' => self.dollar(word, true)?,
                byte => {
                    word.text.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// `$'…'`: the quote is here.
    pub(super) fn ansi(&mut self, word: &mut Draft) -> Result<(), Unclear> {
        word.quote();
        self.at += 1;
        loop {
            self.spend(1)?;
            let byte = *self.src.get(self.at).ok_or(Unclear("a quote that does not end"))?;
            self.at += 1;
            match byte {
                b'\'' => return Ok(()),
                b'\\' => self.ansi_escape(word)?,
                byte => word.text.push(byte),
            }
        }
    }

    fn ansi_escape(&mut self, word: &mut Draft) -> Result<(), Unclear> {
        let byte = *self.src.get(self.at).ok_or(Unclear("a quote that does not end"))?;
        self.at += 1;
        let plain = match byte {
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'\\' | b'\'' | b'"' | b'?' => byte,
            b'x' => return self.ansi_number(word, 16, 2, false),
            b'u' => return self.ansi_number(word, 16, 4, true),
            b'U' => return self.ansi_number(word, 16, 8, true),
            b'0'..=b'7' => {
                self.at -= 1;
                return self.ansi_number(word, 8, 3, false);
            }
            // `\c` and what no shell gives a meaning to.
            _ => return Err(Unclear("an unusual escape")),
        };
        word.text.push(plain);
        Ok(())
    }

    fn ansi_number(
        &mut self,
        word: &mut Draft,
        radix: u32,
        most: usize,
        character: bool,
    ) -> Result<(), Unclear> {
        let mut value = 0_u32;
        let mut digits = 0;
        while let Some(digit) =
            self.src.get(self.at).and_then(|byte| char::from(*byte).to_digit(radix))
        {
            if digits == most {
                break;
            }
            value = value.wrapping_mul(radix).wrapping_add(digit);
            digits += 1;
            self.at += 1;
        }
        // A NUL ends the string early in some shells.
        let nul = if character { value == 0 } else { value as u8 == 0 };
        if digits == 0 || nul {
            return Err(Unclear("an unusual escape"));
        }
        if character {
            let letter = char::from_u32(value).ok_or(Unclear("an unusual escape"))?;
            word.text.extend(letter.to_string().bytes());
        } else {
            word.text.push(value as u8);
        }
        Ok(())
    }
}
