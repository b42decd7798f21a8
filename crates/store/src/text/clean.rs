//! Takes terminal control out of text: every escape family, redraws by `\r`, overstrikes by `\b`.
//!
//! The state machine works across buffer borders. Text that only looks like an escape is untouched.
//! A control string (a window title, a link) that never ends is dropped up to the end of its line
//! only, so a broken program cannot hide what follows.

use memchr::{memchr, memrchr};

use super::plain::plain_run;

/// What a carriage return that stands before no line feed does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    /// The next text replaces the line: output of a program, where only the last state counts.
    Redraw,
    /// Nothing: a file keeps its bytes.
    Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    /// After ESC.
    Escape,
    /// After ESC and intermediate bytes: character sets and the like.
    Intermediate,
    /// After ESC `[` or U+009B.
    Sequence,
    /// Inside OSC, DCS, SOS, PM or APC.
    Text,
    /// After ESC inside one of these.
    TextEscape,
}

/// The most cells one cursor movement is followed for.
const MOVEMENT_LIMIT: u32 = 512;

/// Removes control from a stream of text.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one fact about the line or the stream")]
pub(crate) struct Cleaner {
    returns: Returns,
    /// U+FFFD in a row become one: the bytes are not text.
    collapse: bool,
    state: State,
    /// Where the current line begins in the output: redraws go no further back.
    line_start: usize,
    /// Characters right of the cursor after backspaces, the nearest one last.
    ahead: Vec<char>,
    /// The cursor stands at the start of the line; the next character replaces it.
    returned: bool,
    /// The return was a `\r` and nothing came after it.
    bare: bool,
    /// The whole line was erased while the cursor stood somewhere in it.
    erased: bool,
    parameter: Option<u32>,
    /// The sequence has more than one plain number: its meaning is not followed.
    opaque: bool,
    changed: bool,
    replaced: bool,
}

impl Cleaner {
    pub(crate) fn new(returns: Returns, collapse: bool) -> Self {
        Cleaner {
            returns,
            collapse,
            state: State::Ground,
            line_start: 0,
            ahead: Vec::new(),
            returned: false,
            bare: false,
            erased: false,
            parameter: None,
            opaque: false,
            changed: false,
            replaced: false,
        }
    }

    /// Where the current line begins in the output. What lies before it is final.
    pub(crate) fn line_start(&self) -> usize {
        self.line_start
    }

    /// The caller took `bytes` from the front of the output, or declared them final.
    pub(crate) fn taken(&mut self, bytes: usize) {
        self.line_start = self.line_start.saturating_sub(bytes);
    }

    /// Declares all output so far final: an endless line was cut.
    pub(crate) fn settle(&mut self, length: usize) {
        self.line_start = length;
        self.ahead.clear();
    }

    /// The output differs from the input.
    pub(crate) fn changed(&self) -> bool {
        self.changed
    }

    /// A NUL became U+FFFD.
    pub(crate) fn replaced(&self) -> bool {
        self.replaced
    }

    /// Input that has been seen, changed nothing yet and is not in the output.
    pub(crate) fn held(&self) -> &'static [u8] {
        if self.returned && self.bare && !self.changed { b"\r" } else { b"" }
    }

    /// Adds the view of `text` to `output`.
    pub(crate) fn push(&mut self, text: &str, output: &mut String) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.state == State::Ground {
                let rest = text.get(at..).unwrap_or_default();
                let run = plain_run(rest.as_bytes(), self.returns);
                if run > 0 {
                    self.copy(rest.get(..run).unwrap_or_default(), output);
                    at += run;
                } else {
                    at += self.control(rest, output);
                }
            } else if self.state == State::Text {
                at += self.skip_text(bytes.get(at..).unwrap_or_default());
            } else if self.sequence(byte, output) {
                at += 1;
            }
        }
    }

    /// Ends the stream: an escape cut off at the end is dropped.
    pub(crate) fn finish(&mut self, output: &mut String) {
        self.erase_returned(output);
        self.restore_ahead(output);
        self.changed |= self.returned;
        self.returned = false;
        self.state = State::Ground;
    }

    /// Text without control characters other than line feed and tab.
    fn copy(&mut self, run: &str, output: &mut String) {
        let mut run = run;
        if self.collapse && output.ends_with(char::REPLACEMENT_CHARACTER) {
            let left = run.trim_start_matches(char::REPLACEMENT_CHARACTER);
            self.changed |= left.len() < run.len();
            run = left;
        }
        if self.returned || self.erased || !self.ahead.is_empty() {
            let end = memchr(b'\n', run.as_bytes()).map_or(run.len(), |newline| newline + 1);
            let (line, rest) = run.split_at_checked(end).unwrap_or((run, ""));
            for character in line.chars() {
                self.put(character, output);
            }
            run = rest;
        }
        if let Some(newline) = memrchr(b'\n', run.as_bytes()) {
            self.line_start = output.len() + newline + 1;
        }
        output.push_str(run);
    }

    fn put(&mut self, character: char, output: &mut String) {
        if character == '\n' {
            self.restore_ahead(output);
            if self.returned && self.bare {
                output.push('\r');
            }
            output.push('\n');
            self.line_start = output.len();
            (self.returned, self.bare, self.erased) = (false, false, false);
            return;
        }
        if self.returned {
            self.clear_line(output);
            (self.returned, self.erased) = (false, false);
        }
        output.push(character);
        self.ahead.pop();
    }

    fn clear_line(&mut self, output: &mut String) {
        output.truncate(self.line_start);
        self.ahead.clear();
        self.changed = true;
    }

    fn restore_ahead(&mut self, output: &mut String) {
        while let Some(character) = self.ahead.pop() {
            output.push(character);
        }
    }

    /// One control character at the start of `rest`; answers its length.
    fn control(&mut self, rest: &str, output: &mut String) -> usize {
        let bytes = rest.as_bytes();
        let redraw = self.returns == Returns::Redraw;
        let byte = bytes.first().copied().unwrap_or_default();
        if byte == b'\r' {
            if bytes.get(1) == Some(&b'\n') && !self.returned && self.ahead.is_empty() {
                output.push_str("\r\n");
                self.line_start = output.len();
                self.erased = false;
                return 2;
            }
            self.changed |= self.returned;
            self.erase_returned(output);
            self.restore_ahead(output);
            (self.returned, self.bare) = (true, true);
            return 1;
        }
        self.erase_returned(output);
        self.bare = false;
        self.changed = true;
        match byte {
            0x1b => self.state = State::Escape,
            0x08 => self.back(1, output),
            0x00 => {
                self.replaced = true;
                self.copy("\u{fffd}", output);
            }
            0x0b | 0x0c if redraw => self.put('\n', output),
            0xc2 => {
                match bytes.get(1) {
                    Some(0x9b) => self.begin_sequence(),
                    Some(0x90 | 0x98 | 0x9d..=0x9f) => self.state = State::Text,
                    Some(0x85) => self.put('\n', output),
                    _ => {}
                }
                return 2;
            }
            _ => {}
        }
        1
    }

    /// Erases the line to whose start the cursor went. Not when `\r` comes: with a line feed behind it,
    /// which may be in the next buffer, it only ends the line.
    fn erase_returned(&mut self, output: &mut String) {
        if self.returned && self.erased {
            self.clear_line(output);
            self.erased = false;
        }
    }

    fn back(&mut self, cells: u32, output: &mut String) {
        if self.returned {
            return;
        }
        for _ in 0..cells.min(MOVEMENT_LIMIT) {
            if output.len() <= self.line_start {
                break;
            }
            self.ahead.extend(output.pop());
        }
    }

    fn begin_sequence(&mut self) {
        self.state = State::Sequence;
        self.parameter = None;
        self.opaque = false;
    }

    /// One byte inside an escape; `false` when it does not belong to it and is to be read again.
    fn sequence(&mut self, byte: u8, output: &mut String) -> bool {
        let next = match (self.state, byte) {
            // CAN and SUB end any escape.
            (_, 0x18 | 0x1a) | (State::TextEscape, b'\\') => State::Ground,
            (State::TextEscape, _) => {
                self.state = State::Escape;
                return false;
            }
            (_, 0x1b) => State::Escape,
            (State::Escape, b'[') => {
                self.begin_sequence();
                return true;
            }
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => State::Text,
            (State::Escape | State::Intermediate, 0x20..=0x2f) => State::Intermediate,
            (State::Escape | State::Intermediate, 0x30..=0x7e) => State::Ground,
            (State::Sequence, b'0'..=b'9') => {
                let digit = u32::from(byte - b'0');
                let number = self.parameter.unwrap_or(0).saturating_mul(10).saturating_add(digit);
                self.parameter = Some(number);
                State::Sequence
            }
            (State::Sequence, 0x20..=0x3f) => {
                self.opaque = true;
                State::Sequence
            }
            (State::Sequence, 0x40..=0x7e) => {
                if !self.opaque {
                    self.movement(byte, output);
                }
                State::Ground
            }
            _ => {
                self.state = State::Ground;
                return false;
            }
        };
        self.state = next;
        true
    }

    /// The few sequences that change what is left standing on the line.
    fn movement(&mut self, last: u8, output: &mut String) {
        match (last, self.parameter) {
            (b'K', None | Some(0 | 2)) if self.returned => self.clear_line(output),
            (b'K', None | Some(0)) => self.ahead.clear(),
            (b'K', Some(2)) => self.erased = true,
            (b'G', None | Some(0 | 1)) if self.returns == Returns::Redraw => {
                self.returned = true;
                self.erase_returned(output);
                self.restore_ahead(output);
            }
            (b'D', cells) => self.back(cells.unwrap_or(1).max(1), output),
            (b'C', cells) if !self.returned => {
                for _ in 0..cells.unwrap_or(1).clamp(1, MOVEMENT_LIMIT) {
                    let under = self.ahead.pop().unwrap_or(' ');
                    output.push(under);
                }
            }
            _ => {}
        }
    }

    /// Skips inside a control string; answers how many bytes.
    fn skip_text(&mut self, bytes: &[u8]) -> usize {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                0x07 | 0x18 | 0x1a => {
                    self.state = State::Ground;
                    return at + 1;
                }
                0x1b => {
                    self.state = State::TextEscape;
                    return at + 1;
                }
                b'\n' => {
                    self.state = State::Ground;
                    return at;
                }
                0xc2 if bytes.get(at + 1) == Some(&0x9c) => {
                    self.state = State::Ground;
                    return at + 2;
                }
                _ => {}
            }
        }
        bytes.len()
    }
}
