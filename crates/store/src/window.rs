//! Cuts a stream of captured bytes into windows of its view, at line ends.

use crate::text::{Returns, Viewer};

/// A window is cut at the last line end once it holds this many bytes.
pub(crate) const WINDOW_BYTES: usize = 1 << 20;

/// A line longer than this is cut at a character border.
const LINE_BYTES: usize = 2 << 20;

/// Some whole lines of a view, and the captured bytes that must be kept beside them.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) text: String,
    /// Captured bytes to be kept apart.
    pub(crate) raw: Vec<u8>,
}

/// Makes windows of what is pushed.
#[derive(Debug)]
pub(crate) struct Windows {
    viewer: Viewer,
    /// The view that is not in a window yet.
    text: String,
    /// Bytes of the view in windows so far.
    taken: u64,
    raw: Vec<u8>,
    raw_from: Option<u64>,
    /// Captured bytes.
    bytes: u64,
}

impl Windows {
    /// `head` holds the first bytes of the stream; they are pushed as well.
    pub(crate) fn new(head: &[u8], returns: Returns) -> Self {
        Windows {
            viewer: Viewer::new(head, returns),
            text: String::new(),
            taken: 0,
            raw: Vec::new(),
            raw_from: None,
            bytes: 0,
        }
    }

    pub(crate) fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Captured bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Up to this byte the captured bytes equal the view; from there on they are in the windows.
    pub(crate) fn raw_from(&self) -> u64 {
        self.raw_from.unwrap_or(self.bytes)
    }

    /// The view that is not in a window yet.
    pub(crate) fn rest(&self) -> &str {
        &self.text
    }

    /// Takes captured bytes in.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.raw_from.is_some() {
            self.raw.extend_from_slice(bytes);
            self.viewer.push(bytes, &mut self.text);
            return;
        }
        // Until the view differs it stands for the bytes. Redraws reach back to the start of the
        // line at most, so the bytes from there on are put together in case this push differs.
        let line_start = self.viewer.line_start().min(self.text.len());
        let line = self.text.as_bytes().get(line_start..).unwrap_or_default();
        let before = [line, &self.viewer.held()].concat();
        self.viewer.push(bytes, &mut self.text);
        if self.viewer.differs() {
            self.raw_from = Some(self.taken + line_start as u64);
            self.raw = before;
            self.raw.extend_from_slice(bytes);
        }
    }

    /// A window, when there is enough for one.
    pub(crate) fn next(&mut self) -> Option<Window> {
        if self.text.len() < WINDOW_BYTES {
            return None;
        }
        let mut end = self.viewer.line_start().min(self.text.len());
        if end == 0 {
            if self.text.len() < LINE_BYTES {
                return None;
            }
            end = self.text.len();
            self.viewer.settle(end);
        }
        Some(self.take(end))
    }

    /// All whole lines there are, as a window.
    pub(crate) fn lines(&mut self) -> Window {
        let end = self.viewer.line_start().min(self.text.len());
        self.take(end)
    }

    /// The last window.
    pub(crate) fn finish(&mut self) -> Window {
        let held = self.viewer.held();
        let line_start = self.viewer.line_start().min(self.text.len());
        let line = self.text.as_bytes().get(line_start..).unwrap_or_default();
        let before = [line, &held].concat();
        self.viewer.finish(&mut self.text);
        if self.viewer.differs() && self.raw_from.is_none() {
            self.raw_from = Some(self.taken + line_start as u64);
            self.raw = before;
        }
        self.take(self.text.len())
    }

    fn take(&mut self, end: usize) -> Window {
        let rest = self.text.split_off(end);
        let text = std::mem::replace(&mut self.text, rest);
        self.viewer.taken(end);
        self.taken += end as u64;
        Window { text, raw: std::mem::take(&mut self.raw) }
    }
}
