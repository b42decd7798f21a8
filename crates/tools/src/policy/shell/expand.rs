//! What the shell puts into words: substitutions hold commands, and parameters may hold substitutions.

use super::word::Draft;
use super::{Dialect, Parser, Unclear};

impl Parser<'_> {
    /// `$…`; the dollar is here. `quoted`: in double quotes, a here-document or arithmetic.
    pub(super) fn dollar(&mut self, word: &mut Draft, quoted: bool) -> Result<(), Unclear> {
        word.mark_plain();
        let start = self.at;
        self.at += 1;
        match self.look(0) {
            Some(b'(') => {
                if !(self.look(1) == Some(b'(') && self.arithmetic()?) {
                    self.expect("(")?;
                    self.deeper(Self::substitution)?;
                }
            }
            Some(b'{') => {
                self.expect("{")?;
                self.deeper(|parser| parser.parameter(quoted))?;
            }
            Some(b'\'') if !quoted => {
                self.peek()?;
                return match self.dialect {
                    Dialect::Bash => self.ansi(word),
                    Dialect::Posix => Err(Unclear("$'…' for a shell that may not know it")),
                };
            }
            Some(b'"') if !quoted => {
                self.peek()?;
                word.expands |= self.dialect == Dialect::Posix;
                return self.double(word);
            }
            Some(b'[') => return Err(Unclear("$[…]")),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                while self.peek()?.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
                    self.at += 1;
                }
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-') => {
                self.peek()?;
                self.at += 1;
            }
            _ => {
                word.text.push(b'$');
                return Ok(());
            }
        }
        self.put(word, start, quoted);
        Ok(())
    }

    /// The text from `start` on is put in by the shell.
    fn put(&self, word: &mut Draft, start: usize, quoted: bool) {
        word.text.extend(self.src.get(start..self.at).unwrap_or_default());
        word.expands = true;
        // `"$@"` is many words or none.
        word.splits |= !quoted || word.text.ends_with(b"@") || word.text.ends_with(b"@]}");
    }

    /// `<(…)` and `>(…)`; the angle is here.
    pub(super) fn process(&mut self, word: &mut Draft) -> Result<(), Unclear> {
        word.mark_plain();
        let start = self.at;
        self.at += 1;
        self.expect("(")?;
        self.deeper(Self::substitution)?;
        self.put(word, start, true);
        Ok(())
    }

    /// Commands up to the closing parenthesis.
    pub(super) fn substitution(&mut self) -> Result<(), Unclear> {
        let outer = std::mem::take(&mut self.pending);
        self.list()?;
        if !self.pending.is_empty() {
            return Err(Unclear("a here-document that begins in one substitution only"));
        }
        self.pending = outer;
        self.expect(")")
    }

    /// Commands in backquotes; the first one is here.
    pub(super) fn backquote(&mut self, word: &mut Draft, quoted: bool) -> Result<(), Unclear> {
        word.mark_plain();
        let start = self.at;
        self.at += 1;
        let mut text = Vec::new();
        loop {
            self.spend(1)?;
            let byte = *self.src.get(self.at).ok_or(Unclear("a backquote that does not end"))?;
            self.at += 1;
            match (byte, self.src.get(self.at).copied()) {
                (b'`', _) => break,
                (b'\\', Some(next)) => {
                    let escape = matches!(next, b'`' | b'\\' | b'$') || (quoted && next == b'"');
                    if !escape {
                        text.push(b'\\');
                    }
                    text.push(next);
                    self.at += 1;
                }
                _ => text.push(byte),
            }
        }
        let mut inner = self.inner(&text)?;
        inner.whole()?;
        self.join(inner);
        self.put(word, start, quoted);
        Ok(())
    }

    /// `${…}`; behind the brace.
    fn parameter(&mut self, quoted: bool) -> Result<(), Unclear> {
        if matches!(self.look(0), None | Some(b' ' | b'\t' | b'\n' | b'|' | b'(')) {
            return Err(Unclear("${ …}, which runs commands in some shells"));
        }
        let mut seen = Draft::default();
        let start = self.at;
        loop {
            match self.peek()?.ok_or(Unclear("a brace that does not end"))? {
                b'}' => break,
                b'\\' => self.at = (self.at + 2).min(self.src.len()),
                // In double quotes shells do not agree on what a single quote is.
                b'\'' if quoted => return Err(Unclear("a single quote in \"${…}\"")),
                b'\'' => {
                    let rest = self.src.get(self.at + 1..).unwrap_or_default();
                    let end = memchr::memchr(b'\'', rest);
                    self.at += 2 + end.ok_or(Unclear("a quote that does not end"))?;
                }
                b'"' if quoted && self.dialect == Dialect::Posix => {
                    return Err(Unclear("quotes in quotes"));
                }
                b'"' => self.double(&mut seen)?,
                b'`' => self.backquote(&mut seen, quoted)?,
                b'$' => self.dollar(&mut seen, quoted)?,
                b'<' | b'>' if self.look(1) == Some(b'(') => self.process(&mut seen)?,
                _ => self.at += 1,
            }
        }
        // `${name@P}` expands the value as a prompt, commands included.
        if self.src.get(start..self.at).is_some_and(|text| text.ends_with(b"@P")) {
            return Err(Unclear("${…@P}"));
        }
        self.at += 1;
        Ok(())
    }

    /// Arithmetic in `((…))`; `false`, and nothing passed over, when the parentheses are not that.
    pub(super) fn arithmetic(&mut self) -> Result<bool, Unclear> {
        let start = self.at;
        self.expect("((")?;
        let mut seen = Draft::default();
        let mut open = 0;
        loop {
            match self.peek()?.ok_or(Unclear("arithmetic that does not end"))? {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b')' if self.look(1) == Some(b')') => {
                    self.expect("))")?;
                    return Ok(true);
                }
                b')' => {
                    self.at = start;
                    return Ok(false);
                }
                b'\'' | b'\\' => return Err(Unclear("a quote in arithmetic")),
                b'"' => {
                    self.deeper(|parser| parser.double(&mut seen))?;
                    continue;
                }
                b'`' => {
                    self.backquote(&mut seen, true)?;
                    continue;
                }
                b'$' => {
                    self.deeper(|parser| parser.dollar(&mut seen, true))?;
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }
}
