//! Lines of a text by byte ranges, and the small questions that chunkers ask about them.

use memchr::Memchr;

/// One line: where it starts, where its text ends, and where the next one starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub start: usize,
    /// Start of the next line (the end of the text for the last one).
    pub next: usize,
    /// The line without its `\n` or `\r\n`.
    pub text: &'a [u8],
}

impl<'a> Line<'a> {
    /// Whether the line holds nothing but white space.
    #[inline]
    pub(super) fn is_blank(&self) -> bool {
        // Most lines show by their first byte that they are not blank.
        match self.text.first() {
            None => true,
            Some(byte) if byte.is_ascii_whitespace() => {
                self.text.iter().all(u8::is_ascii_whitespace)
            }
            Some(_) => false,
        }
    }

    /// Whether the line starts with a blank or a tab.
    #[inline]
    pub(super) fn is_indented(&self) -> bool {
        matches!(self.text.first(), Some(b' ' | b'\t'))
    }

    /// Columns of leading white space (a tab counts four) and the rest of the line.
    pub(super) fn indent(&self) -> (u32, &'a [u8]) {
        let mut columns: u32 = 0;
        for (index, byte) in self.text.iter().enumerate() {
            match byte {
                b' ' => columns = columns.saturating_add(1),
                b'\t' => columns = columns.saturating_add(4),
                _ => return (columns, &self.text[index..]),
            }
        }
        (columns, &[])
    }
}

/// Iterates over the lines of `text`; the last one need not end with a line feed.
pub(super) fn lines(text: &str) -> Lines<'_> {
    let bytes = text.as_bytes();
    Lines { bytes, start: 0, offset: 0, feeds: memchr::memchr_iter(b'\n', bytes) }
}

/// See [`lines`].
#[derive(Debug)]
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    start: usize,
    /// Where `feeds` counts from.
    offset: usize,
    feeds: Memchr<'a>,
}

impl Lines<'_> {
    /// Goes on with the line that starts at byte `start`, which lies ahead.
    pub(super) fn skip_to(&mut self, start: usize) {
        self.start = start;
        let rest = self.bytes.get(start..).unwrap_or_default();
        self.offset = start;
        self.feeds = memchr::memchr_iter(b'\n', rest);
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let start = self.start;
        if start >= self.bytes.len() {
            return None;
        }
        let (end, next) = match self.feeds.next().map(|feed| feed + self.offset) {
            Some(feed) if feed > start && self.bytes[feed - 1] == b'\r' => (feed - 1, feed + 1),
            Some(feed) => (feed, feed + 1),
            None => (self.bytes.len(), self.bytes.len()),
        };
        self.start = next;
        Some(Line { start, next, text: &self.bytes[start..end] })
    }
}

/// Where `needle` first occurs in a short `haystack`; cheaper to start than a prepared search.
pub(super) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    memchr::memchr_iter(first, haystack).find(|&at| haystack[at..].starts_with(needle))
}

/// Removes ASCII white space at both ends.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// The longest prefix of `bytes` made of identifier bytes (letters, digits, `_`, anything not ASCII).
pub(super) fn word(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| !is_word(byte)).unwrap_or(bytes.len());
    &bytes[..end]
}

/// Whether a byte may be part of an identifier.
#[inline]
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}
