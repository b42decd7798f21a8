//! Packs the borders of a text into chunks: about 1,500 bytes each, never above 2,048, nothing left out.
//!
//! A chunker walks its text once and names the places where a chunk may start, with a rank that says
//! how good each place is. The cutter decides. Because it alone makes ranges, every chunker tiles.

use std::ops::Range;

use memchr::memmem;

/// Bytes a chunk is filled to when borders allow it (measured best for retrieval by hits per byte).
pub(super) const TARGET: usize = 1_536;
/// Bytes no chunk exceeds, also for one endless line.
pub(crate) const LIMIT: usize = 2_048;
/// From here on an ordinary border may end a chunk.
const HALF: usize = TARGET / 2;
/// From here on the start of a definition may end a chunk: a whole function beats a full chunk.
const THIRD: usize = TARGET / 3;

/// How good a place is for a chunk to start, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Between two lines that belong together: only when nothing better is near.
    Inner,
    /// An ordinary line or record.
    Line,
    /// After a blank line.
    Block,
    /// A nested definition or list of values.
    Part,
    /// A definition at top level.
    Head,
    /// Always starts a chunk, unless what stands before it is tiny.
    Section,
}

const RANKS: usize = Rank::Section as usize + 1;

/// Collects borders in rising order and cuts as soon as a chunk is full.
#[derive(Debug)]
pub(super) struct Cutter<'a> {
    bytes: &'a [u8],
    tiny: usize,
    start: usize,
    /// Latest border of each rank within the open chunk; 0 when there is none.
    best: [usize; RANKS],
    ranges: Vec<Range<usize>>,
}

impl<'a> Cutter<'a> {
    /// A cutter that joins a piece below `tiny` bytes with the section that follows it.
    pub(super) fn new(text: &'a str, tiny: usize) -> Self {
        let ranges = Vec::with_capacity(text.len() / (TARGET * 2 / 3) + 1);
        Self { bytes: text.as_bytes(), tiny, start: 0, best: [0; RANKS], ranges }
    }

    /// Says that a chunk may start at byte `at`, which must be a character border.
    #[inline]
    pub(super) fn border(&mut self, at: usize, rank: Rank) {
        if at <= self.start {
            return;
        }
        if at - self.start > TARGET {
            self.shrink(at);
            if at <= self.start {
                return;
            }
        }
        if rank == Rank::Section && at - self.start >= self.tiny {
            self.end_at(at);
        } else {
            self.best[rank as usize] = at;
        }
    }

    /// The finished ranges: in order, without gap or overlap, from 0 to the end of the text.
    pub(super) fn finish(mut self) -> Vec<Range<usize>> {
        let end = self.bytes.len();
        if end.saturating_sub(self.start) > TARGET {
            self.shrink(end);
        }
        if self.start < end {
            let tail = self.start..end;
            let blank = self.bytes[tail.clone()].iter().all(u8::is_ascii_whitespace);
            let room = if blank { LIMIT } else { TARGET };
            let small = blank || tail.len() < self.tiny;
            match self.ranges.last_mut() {
                Some(last) if small && end - last.start <= room => last.end = end,
                _ => self.ranges.push(tail),
            }
        }
        self.ranges
    }

    fn end_at(&mut self, at: usize) {
        self.ranges.push(self.start..at);
        self.start = at;
    }

    /// Cuts until the open chunk, seen up to the border `at`, is no longer too big.
    #[cold]
    fn shrink(&mut self, at: usize) {
        while at - self.start > TARGET {
            if let Some(border) = self.best_from(HALF) {
                self.end_at(border);
            } else if at - self.start <= LIMIT {
                // One piece, such as a fenced block: whole up to the limit.
                return self.end_at(at);
            } else if let Some(border) = self.best_from(self.tiny) {
                self.end_at(border);
            } else {
                let cut = long_cut(self.bytes, self.start);
                self.end_at(cut);
            }
        }
    }

    /// The best border that leaves at least `least` bytes in the chunk: by rank, then the latest.
    fn best_from(&self, least: usize) -> Option<usize> {
        let from = |rank: usize| {
            let least = if rank >= Rank::Part as usize { least.min(THIRD) } else { least };
            self.start + least.max(1)
        };
        (0..RANKS).rev().find(|&rank| self.best[rank] >= from(rank)).map(|rank| self.best[rank])
    }
}

/// Where to cut a piece above the limit that has no border of its own: at a line, a sentence, a
/// separator, or at least between two characters.
fn long_cut(bytes: &[u8], start: usize) -> usize {
    let low = start + HALF;
    let high = (start + TARGET).min(bytes.len());
    let window = &bytes[low..high];
    if let Some(found) = memmem::rfind(window, b"\n\n") {
        return low + found + 2;
    }
    if let Some(found) = memchr::memrchr(b'\n', window) {
        return low + found + 1;
    }
    for separator in [". ", "\u{3002}", "; ", ", ", "},", " ", ";", "}", ",", "&", "|"] {
        if let Some(found) = memmem::rfind(window, separator.as_bytes()) {
            return low + found + separator.len();
        }
    }
    let mut cut = high;
    while cut > low && bytes.get(cut).is_some_and(|byte| byte & 0xC0 == 0x80) {
        cut -= 1;
    }
    if bytes.get(cut) == Some(&b'\n') && bytes[cut - 1] == b'\r' { cut - 1 } else { cut }
}
