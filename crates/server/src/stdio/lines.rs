//! Cuts the byte stream into lines of bounded length, without ever holding more than one of them.

use crate::frame::IdScan;

/// What remains allocated between lines; the rest of a long line's buffer is given back.
const KEEP: usize = 64 << 10;

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The bytes between two line ends; a carriage return before the line end is left to JSON,
    /// to which it is white space.
    Whole(Vec<u8>),
    /// A line over the limit. It was read to its end and thrown away but for its id, as it
    /// stood in the text, by which the client can be answered.
    TooLong {
        /// The text of the id at the top level.
        id: Option<String>,
    },
}

/// Collects bytes until a line is complete.
#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    buffer: Vec<u8>,
    /// Everything before this position is known to hold no line end.
    searched: usize,
    /// Set while the rest of a line over the limit is being thrown away.
    discarding: Option<IdScan>,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, buffer: Vec::new(), searched: 0, discarding: None }
    }

    /// The buffer to which the next bytes of the stream are appended.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// The next complete line, if its end has arrived.
    pub(super) fn next(&mut self) -> Option<Line> {
        let from = self.searched;
        let found = self.buffer.get(from..)?.iter().position(|&byte| byte == b'\n');
        let Some(found) = found else {
            self.searched = self.buffer.len();
            if self.discarding.is_some() || self.buffer.len() > self.limit {
                self.discard();
            }
            return None;
        };
        let rest = self.buffer.split_off(from + found + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        self.searched = 0;
        Some(self.finish(line))
    }

    /// What was left when the stream ended: a last line need not have an end.
    pub(super) fn last(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.buffer);
        self.searched = 0;
        (!line.is_empty() || self.discarding.is_some()).then(|| self.finish(line))
    }

    fn finish(&mut self, line: Vec<u8>) -> Line {
        let mut scan = match self.discarding.take() {
            Some(scan) => scan,
            None if line.len() <= self.limit => return Line::Whole(line),
            None => IdScan::default(),
        };
        scan.feed(&line);
        Line::TooLong { id: scan.id() }
    }

    fn discard(&mut self) {
        self.discarding.get_or_insert_default().feed(&self.buffer);
        self.buffer.clear();
        self.buffer.shrink_to(KEEP);
        self.searched = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::MESSAGE_LIMIT;

    fn cut(limit: usize, pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::new(limit);
        let mut out = Vec::new();
        for piece in pieces {
            lines.buffer().extend_from_slice(piece);
            while let Some(line) = lines.next() {
                out.push(line);
            }
        }
        out.extend(lines.last());
        out
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_arrive() {
        assert_eq!(cut(9, &[b"a\nb\n"]), [whole("a"), whole("b")]);
        assert_eq!(cut(9, &[b"a", b"", b"b\n\nc"]), [whole("ab"), whole(""), whole("c")]);
        assert_eq!(cut(9, &[b"a\r\n"]), [whole("a\r")]);
        assert_eq!(cut(9, &[]), []);
    }

    #[test]
    fn a_line_over_the_limit_is_dropped_to_its_end_and_keeps_its_id() {
        let long = br#"{"id":17,"x":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}"#;
        let late = br#"{"x":"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy","id":"q"}"#;
        for size in 1..20 {
            let mut stream = Vec::new();
            for line in [&long[..], b"short", late, b"end"] {
                stream.extend_from_slice(line);
                stream.push(b'\n');
            }
            let pieces: Vec<_> = stream.chunks(size).collect();
            let wanted = [
                Line::TooLong { id: Some("17".to_owned()) },
                whole("short"),
                Line::TooLong { id: Some("\"q\"".to_owned()) },
                whole("end"),
            ];
            assert_eq!(cut(12, &pieces), wanted, "pieces of {size}");
        }
    }

    #[test]
    fn memory_of_a_long_line_is_given_back() {
        let mut lines = Lines::new(MESSAGE_LIMIT);
        for _ in 0..40 {
            lines.buffer().extend_from_slice(&vec![b'x'; 1 << 20]);
            assert_eq!(lines.next(), None);
            assert!(lines.buffer.capacity() <= 2 * MESSAGE_LIMIT);
        }
        lines.buffer().push(b'\n');
        assert_eq!(lines.next(), Some(Line::TooLong { id: None }));
        assert!(lines.buffer.capacity() <= KEEP, "{}", lines.buffer.capacity());
    }

    proptest! {
        #[test]
        fn cutting_is_splitting(stream: Vec<u8>, size in 1usize..9) {
            let pieces: Vec<_> = stream.chunks(size).collect();
            let mut wanted: Vec<_> =
                stream.split(|&b| b == b'\n').map(|l| Line::Whole(l.to_vec())).collect();
            if wanted.last() == Some(&Line::Whole(Vec::new())) {
                wanted.pop();
            }
            prop_assert_eq!(cut(1 << 20, &pieces), wanted);
        }
    }
}
