//! A block: some consecutive chunks of one document, about 16 KB of text, compressed together.
//!
//! `heads` is the directory of a block: per chunk the length of its text, its line feeds (times two,
//! plus one when it ends with one), and its title as the length shared with the title before, the
//! length of the rest, and the rest. Numbers are LEB128. `text` is one zstd frame.

use std::io;
use std::sync::OnceLock;

use crate::search::{Beginnings, Sketch, Sketcher};

/// A block is closed when its text has reached this many bytes. 16 KiB compress to within a tenth
/// of what 64 KiB do, and decode in about 20 µs.
pub(crate) const BLOCK_BYTES: usize = 16 * 1_024;
/// The fastest level: a third of the time of level 3 for a twentieth more bytes.
const LEVEL: i32 = 1;

/// One chunk on its way into a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

/// Chunks packed together, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// Chunks before this block in its document.
    pub(crate) ordinal: u64,
    /// Chunks in it.
    pub(crate) count: u64,
    /// Byte of the view it starts at.
    pub(crate) start: u64,
    /// Line of the view it starts in, from 1.
    pub(crate) line: u64,
    /// Bytes of its text.
    pub(crate) length: u64,
    pub(crate) heads: Vec<u8>,
    pub(crate) text: Vec<u8>,
    /// Of its text and titles, where asked for.
    pub(crate) sketch: Option<Sketch>,
}

/// Packs the chunks of one document, in order.
pub(crate) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    ordinal: u64,
    start: u64,
    line: u64,
    count: u64,
    heads: Vec<u8>,
    text: Vec<u8>,
    title: String,
    first_line: u64,
    /// Where sketches are asked for: the titles of the block, and who makes them.
    sketching: Option<(String, Sketcher)>,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Packer").field("ordinal", &self.ordinal).finish_non_exhaustive()
    }
}

impl Packer {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Packer {
            compressor: zstd::bulk::Compressor::new(LEVEL)?,
            ordinal: 0,
            start: 0,
            line: 1,
            count: 0,
            heads: Vec::new(),
            text: Vec::with_capacity(BLOCK_BYTES + 2_048),
            title: String::new(),
            first_line: 1,
            sketching: None,
        })
    }

    /// Goes on with the next document, or with the middle of one.
    pub(crate) fn restart(&mut self, ordinal: u64, start: u64, line: u64) {
        (self.ordinal, self.start, self.line, self.first_line) = (ordinal, start, line, line);
        self.count = 0;
        self.heads.clear();
        self.text.clear();
        self.title.clear();
        if let Some((titles, _)) = &mut self.sketching {
            titles.clear();
        }
    }

    /// Whether the blocks from the next one on get a sketch.
    pub(crate) fn sketch(&mut self, wanted: bool) {
        if wanted != self.sketching.is_some() {
            self.sketching = wanted.then(Default::default);
        }
    }

    /// Chunks so far in this document.
    pub(crate) fn chunks(&self) -> u64 {
        self.ordinal + self.count
    }

    /// The line the next chunk begins in.
    pub(crate) fn next_line(&self) -> u64 {
        self.line
    }

    /// The byte of the view the next chunk begins at.
    pub(crate) fn next_start(&self) -> u64 {
        self.start + self.text.len() as u64
    }

    /// Adds a chunk; answers a block when it is full.
    pub(crate) fn add(&mut self, piece: Piece<'_>) -> io::Result<Option<Packed>> {
        let bytes = piece.text.as_bytes();
        let feeds = memchr::memchr_iter(b'\n', bytes).count() as u64;
        put(&mut self.heads, bytes.len() as u64);
        put(&mut self.heads, feeds << 1 | u64::from(bytes.last() == Some(&b'\n')));
        let shared = shared_prefix(&self.title, piece.title);
        put(&mut self.heads, shared as u64);
        put(&mut self.heads, (piece.title.len() - shared) as u64);
        self.heads.extend_from_slice(piece.title.as_bytes().get(shared..).unwrap_or_default());
        if let Some((titles, _)) = &mut self.sketching
            && (titles.is_empty() || self.title != piece.title)
        {
            titles.push_str(piece.title);
            titles.push('\n');
        }
        self.title.clear();
        self.title.push_str(piece.title);
        self.text.extend_from_slice(bytes);
        self.line += feeds;
        self.count += 1;
        if self.text.len() < BLOCK_BYTES { Ok(None) } else { self.close() }
    }

    /// Closes the block that is open, if any.
    pub(crate) fn close(&mut self) -> io::Result<Option<Packed>> {
        if self.count == 0 {
            return Ok(None);
        }
        let packed = Packed {
            ordinal: self.ordinal,
            count: self.count,
            start: self.start,
            line: self.first_line,
            length: self.text.len() as u64,
            heads: std::mem::take(&mut self.heads),
            text: self.compressor.compress(&self.text)?,
            sketch: self.sketched(),
        };
        self.restart(self.ordinal + self.count, self.start + packed.length, self.line);
        Ok(Some(packed))
    }

    fn sketched(&mut self) -> Option<Sketch> {
        let (titles, sketcher) = self.sketching.as_mut()?;
        // Chunks end with whole characters.
        Some(sketcher.sketch([titles, std::str::from_utf8(&self.text).ok()?]))
    }
}

/// Decompresses blocks; making one costs as much as decoding a block.
pub(crate) type Unpacker = zstd::bulk::Decompressor<'static>;

/// A decoded block.
#[derive(Debug)]
pub(crate) struct Block {
    /// Number of its first chunk.
    pub(crate) first: u64,
    /// Its document.
    pub(crate) document: u64,
    text: String,
    titles: String,
    heads: Vec<Head>,
    /// By chunk, made when it is first searched.
    beginnings: Vec<OnceLock<Beginnings>>,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    title: (u32, u32),
    text: (u32, u32),
    lines: (u64, u64),
    start: u64,
}

impl Block {
    /// Decodes a row; `None` when it is not what was written.
    pub(crate) fn decode(row: &BlockRow<'_>, decompressor: &mut Unpacker) -> Option<Block> {
        let mut heads = Vec::with_capacity(row.count as usize);
        let (mut titles, mut title) = (String::new(), String::new());
        let (mut at, mut line, mut input) = (0_u64, row.line, row.heads);
        for _ in 0..row.count {
            let length = take(&mut input)?;
            let feeds = take(&mut input)?;
            let shared = take(&mut input)? as usize;
            let rest = take(&mut input)? as usize;
            let (bytes, after) = input.split_at_checked(rest)?;
            input = after;
            if shared > title.len() || !title.is_char_boundary(shared) {
                return None;
            }
            title.truncate(shared);
            title.push_str(std::str::from_utf8(bytes).ok()?);
            let title_start = titles.len() as u32;
            titles.push_str(&title);
            let next_line = line + (feeds >> 1);
            heads.push(Head {
                title: (title_start, titles.len() as u32),
                text: (at as u32, (at + length) as u32),
                lines: (line, (next_line - (feeds & 1)).max(line)),
                start: row.start + at,
            });
            at += length;
            line = next_line;
        }
        let text = decompressor.decompress(row.text, at as usize).ok()?;
        let text = String::from_utf8(text).ok().filter(|text| text.len() as u64 == at)?;
        let beginnings = heads.iter().map(|_| OnceLock::new()).collect();
        Some(Block { first: row.first, document: row.document, text, titles, heads, beginnings })
    }

    /// Number of its last chunk.
    pub(crate) fn last(&self) -> u64 {
        self.first + (self.heads.len() as u64).saturating_sub(1)
    }

    /// All of its titles, one after the other.
    pub(crate) fn titles(&self) -> &str {
        &self.titles
    }

    /// All of its text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The title of the chunk at this place in the block; empty when there is none.
    pub(crate) fn title(&self, index: usize) -> &str {
        self.heads.get(index).and_then(|head| slice(&self.titles, head.title)).unwrap_or_default()
    }

    /// The text of the chunk at this place in the block; empty when there is none.
    pub(crate) fn body(&self, index: usize) -> &str {
        self.heads.get(index).and_then(|head| slice(&self.text, head.text)).unwrap_or_default()
    }

    /// How the tokens begin of the chunk at this place in the block.
    pub(crate) fn beginnings(&self, index: usize) -> &Beginnings {
        let kept = self.beginnings.get(index);
        kept.map_or(Beginnings::NONE, |kept| kept.get_or_init(|| Beginnings::of(self.body(index))))
    }

    /// First and last line of the chunk at this place in the block.
    pub(crate) fn lines(&self, index: usize) -> (u64, u64) {
        self.heads.get(index).map_or((1, 1), |head| head.lines)
    }

    /// The byte of the view at which the chunk at this place in the block starts.
    pub(crate) fn start(&self, index: usize) -> u64 {
        self.heads.get(index).map_or(0, |head| head.start)
    }
}

/// A block as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRow<'a> {
    pub(crate) first: u64,
    pub(crate) document: u64,
    pub(crate) count: u64,
    pub(crate) start: u64,
    pub(crate) line: u64,
    pub(crate) heads: &'a [u8],
    pub(crate) text: &'a [u8],
}

fn slice(text: &str, (from, to): (u32, u32)) -> Option<&str> {
    text.get(from as usize..to as usize)
}

fn shared_prefix(before: &str, now: &str) -> usize {
    let same = before.bytes().zip(now.bytes()).take_while(|(a, b)| a == b).count();
    now.floor_char_boundary(same)
}

fn put(output: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        output.push(number as u8 | 0x80);
        number >>= 7;
    }
    output.push(number as u8);
}

fn take(input: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_give_back_what_was_packed(
            chunks in prop::collection::vec(("\\PC{0,40}", "(?s).{1,1200}"), 1..40),
        ) {
            let mut packer = Packer::new().unwrap();
            let mut blocks = Vec::new();
            for (title, text) in &chunks {
                blocks.extend(packer.add(Piece { title, text }).unwrap());
            }
            blocks.extend(packer.close().unwrap());
            let (mut seen, mut whole) = (0, String::new());
            for packed in blocks {
                let row = BlockRow {
                    first: 100 + packed.ordinal,
                    document: 7,
                    count: packed.count,
                    start: packed.start,
                    line: packed.line,
                    heads: &packed.heads,
                    text: &packed.text,
                };
                let block = Block::decode(&row, &mut Unpacker::new().unwrap()).unwrap();
                prop_assert_eq!(block.first, 100 + seen as u64);
                for index in 0..packed.count as usize {
                    prop_assert_eq!(block.title(index), &chunks[seen].0);
                    prop_assert_eq!(block.body(index), &chunks[seen].1);
                    prop_assert_eq!(block.start(index), whole.len() as u64);
                    let first = 1 + whole.matches('\n').count() as u64;
                    whole.push_str(block.body(index));
                    let open = whole.strip_suffix('\n').unwrap_or(&whole);
                    let last = 1 + open.matches('\n').count() as u64;
                    prop_assert_eq!(block.lines(index), (first, last));
                    seen += 1;
                }
            }
            prop_assert_eq!(seen, chunks.len());
        }
    }
}
