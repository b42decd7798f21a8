//! Counts the lines of a view and shows them to an observer.

use memchr::{memchr_iter, memrchr};

use crate::document::Observer;

/// The most bytes shown at once; a longer line comes in pieces.
const PIECE_BYTES: usize = 64 * 1_024;

/// Lines of a text that comes in windows.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Lines that ended.
    ended: u64,
    /// A line has begun and not ended.
    open: bool,
}

impl Lines {
    /// Lines so far.
    pub(crate) fn count(&self) -> u64 {
        self.ended + u64::from(self.open)
    }

    /// Counts the lines of the next window, and shows them.
    pub(crate) fn see(&mut self, text: &str, observer: Option<&mut dyn Observer>) {
        let Some(observer) = observer else {
            self.ended += memchr_iter(b'\n', text.as_bytes()).count() as u64;
            self.settle(text);
            return;
        };
        let mut start = 0;
        for feed in memchr_iter(b'\n', text.as_bytes()) {
            let line = text.get(start..feed).unwrap_or_default();
            show(observer, self.ended + 1, line.strip_suffix('\r').unwrap_or(line));
            self.ended += 1;
            start = feed + 1;
        }
        let rest = text.get(start..).unwrap_or_default();
        if !rest.is_empty() {
            show(observer, self.ended + 1, rest);
        }
        self.settle(text);
    }

    fn settle(&mut self, text: &str) {
        if !text.is_empty() {
            self.open = memrchr(b'\n', text.as_bytes()) != Some(text.len() - 1);
        }
    }
}

fn show(observer: &mut dyn Observer, number: u64, line: &str) {
    let mut rest = line;
    while rest.len() > PIECE_BYTES {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        observer.line(number, piece);
        rest = after;
    }
    observer.line(number, rest);
}
