//! Here-documents: where their text ends, and the commands in it.

use super::word::Draft;
use super::{Parser, Stdin, Unclear, Word};

/// A here-document whose text has not been reached yet.
pub(super) struct Pending {
    pub delimiter: Vec<u8>,
    /// `<<-`: tabs in front of lines do not count.
    pub tabs: bool,
    /// The delimiter was quoted: the text is taken as it is.
    pub quoted: bool,
    /// The command whose standard input this is.
    pub command: Option<usize>,
}

impl Parser<'_> {
    /// Reads the text of every here-document that was announced; a line has just ended.
    pub(super) fn here_documents(&mut self) -> Result<(), Unclear> {
        for pending in std::mem::take(&mut self.pending) {
            let mut text = Vec::new();
            let mut any_joined = false;
            loop {
                let Some((line, joined)) = self.here_line(&pending) else {
                    return Err(Unclear("a here-document that does not end"));
                };
                self.spend(line.len() + 1)?;
                if line == pending.delimiter {
                    // Shells do not agree on a delimiter that is written over two lines.
                    if joined {
                        return Err(Unclear("a delimiter over two lines"));
                    }
                    break;
                }
                any_joined |= joined;
                text.extend_from_slice(&line);
                text.push(b'\n');
            }
            // Some shells join lines before they look for commands, some after: what is one comment to
            // the first is a comment and a command to the others.
            if any_joined && (text.contains(&b'`') || memchr::memmem::find(&text, b"$(").is_some())
            {
                return Err(Unclear("a line joined in a here-document with commands"));
            }
            let literal = pending.quoted || self.here_text(&text)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let command = pending.command.and_then(|index| self.script.commands.get_mut(index));
            if let Some(command) = command {
                command.stdin = Stdin::Text(Word { text, literal, splits: false });
            }
        }
        Ok(())
    }

    /// The next line of a here-document, and whether it was joined from several.
    fn here_line(&mut self, pending: &Pending) -> Option<(Vec<u8>, bool)> {
        let mut line = Vec::new();
        let mut joined = false;
        loop {
            let rest = self.src.get(self.at..).filter(|rest| !rest.is_empty())?;
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let mut part = rest.get(..end).unwrap_or_default();
            self.at += (end + 1).min(rest.len());
            while pending.tabs && part.first() == Some(&b'\t') {
                part = part.get(1..).unwrap_or_default();
            }
            // A part that is the delimiter by itself: whether it ends the text is a matter of taste.
            if joined && part == pending.delimiter {
                return Some((pending.delimiter.clone(), true));
            }
            line.extend_from_slice(part);
            let slashes = line.iter().rev().take_while(|byte| **byte == b'\\').count();
            if pending.quoted || slashes % 2 == 0 || end == rest.len() {
                return Some((line, joined));
            }
            line.pop();
            joined = true;
        }
    }

    /// Looks for commands in the text of a here-document; `true` when nothing is put into it.
    fn here_text(&mut self, text: &[u8]) -> Result<bool, Unclear> {
        let mut inner = self.inner(text)?;
        let mut seen = Draft::default();
        while let Some(byte) = inner.peek()? {
            match byte {
                b'\\' => inner.at = (inner.at + 2).min(text.len()),
                b'`' => inner.backquote(&mut seen, false)?,
                b'$' => inner.dollar(&mut seen, true)?,
                _ => inner.at += 1,
            }
        }
        self.join(inner);
        // A backslash may stand for itself or not; a shell that reads the text gets what is left.
        Ok(!seen.expands && !text.contains(&b'\\'))
    }
}
