//! Sketches of the blocks this process stored and that wait for their full-text rows: a search passes
//! over what cannot concern it. Where there is none (another process stored the block, or there are too
//! many) the text itself is read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::block::Packed;
use crate::pool::lock;
use crate::search::Sketch;

/// The most blocks with a sketch: 15 MiB, for 100 MB of text.
pub(crate) const MOST: usize = 6_144;

/// By the number of a block's first chunk.
#[derive(Debug, Default)]
pub(crate) struct Sketches {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    generation: u64,
    /// The last chunk of the block, and its sketch.
    blocks: BTreeMap<u64, (u64, Arc<Sketch>)>,
}

/// A block with a sketch: its first and last chunk.
pub(crate) type Sketched = (u64, u64, Sketch);

/// The sketches of a document that begins with chunk `first`.
pub(crate) fn of_blocks(first: u64, blocks: &mut [Packed]) -> Vec<Sketched> {
    let sketched = blocks.iter_mut().filter_map(|block| {
        let start = first + block.ordinal;
        block.sketch.take().map(|sketch| (start, start + block.count - 1, sketch))
    });
    sketched.collect()
}

impl Sketches {
    /// Remembers sketches of blocks that are committed: numbers that were not may be given again.
    /// `generation` is that of the file they were written to.
    pub(crate) fn put(&self, generation: u64, sketched: Vec<Sketched>) {
        let mut entries = lock(&self.entries);
        if entries.generation != generation {
            entries.blocks.clear();
            entries.generation = generation;
        }
        for (first, last, sketch) in sketched {
            if entries.blocks.len() >= MOST {
                return;
            }
            entries.blocks.insert(first, (last, Arc::new(sketch)));
        }
    }

    /// The sketch of the block that holds a chunk, and the block's last chunk.
    pub(crate) fn get(&self, generation: u64, chunk: u64) -> Option<(u64, Arc<Sketch>)> {
        let entries = lock(&self.entries);
        if entries.generation != generation {
            return None;
        }
        let (_, (last, sketch)) = entries.blocks.range(..=chunk).next_back()?;
        (*last >= chunk).then(|| (*last, Arc::clone(sketch)))
    }

    /// Keeps only those of blocks that are within these chunks, first and last.
    pub(crate) fn keep(&self, pending: &[(u64, u64)]) {
        lock(&self.entries).blocks.retain(|first, (last, _)| {
            pending.iter().any(|(from, to)| *from <= *last && *first <= *to)
        });
    }

    /// Forgets those of blocks all of which is indexed, now that chunks from `first` up to `next` are.
    pub(crate) fn forget(&self, first: u64, next: u64) {
        let blocks = &mut lock(&self.entries).blocks;
        // The block that is half done begins before.
        let first = blocks.range(..=first).next_back().map_or(first, |(first, _)| *first);
        let over: Vec<u64> = blocks
            .range(first..next)
            .filter(|(_, (last, _))| *last < next)
            .map(|(first, _)| *first)
            .collect();
        for first in over {
            blocks.remove(&first);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&self) {
        lock(&self.entries).blocks.clear();
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.entries).blocks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Core;
    use crate::search::Sketcher;
    use crate::{Label, NewDocument, Origin};

    fn sketched(first: u64, last: u64) -> Sketched {
        (first, last, Sketcher::default().sketch(["", "text"]))
    }

    #[test]
    fn a_sketch_is_of_its_block_only_and_goes_when_it_is_indexed() {
        let sketches = Sketches::default();
        sketches.put(1, vec![sketched(10, 14), sketched(15, 19), sketched(30, 34)]);
        let last = |chunk| sketches.get(1, chunk).map(|(last, _)| last);
        assert_eq!(
            [9, 10, 14, 15, 19, 20, 34].map(last),
            [None, Some(14), Some(14), Some(19), Some(19), None, Some(34)]
        );
        assert!(sketches.get(2, 10).is_none(), "another file");
        sketches.forget(10, 17);
        assert_eq!([10, 15, 30].map(last), [None, Some(19), Some(34)]);
        sketches.forget(17, 31);
        assert_eq!([15, 30].map(last), [None, Some(34)]);
        sketches.keep(&[(31, 40)]);
        assert_eq!([15, 30].map(last), [None, Some(34)]);
        sketches.put(2, vec![sketched(50, 51)]);
        assert_eq!(sketches.len(), 1);
    }

    #[test]
    fn answers_about_text_that_waits_are_the_same_with_sketches_and_without() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        // Nobody else writes the rows meanwhile.
        let _turn = core.indexing.take(None);
        let mut log = String::new();
        for line in 0..30_000_u64 {
            let token = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
            log.push_str(&format!("INFO worker-{:02} request {line} took {token} us\n", line % 17));
            if line % 9_000 == 5_000 {
                log.push_str(
                    "error: the Wombat lost its Größe, 用户身份 unknown, parseHumanSize()\n",
                );
            }
        }
        for (label, origin) in [("run", Origin::Run), ("text", Origin::Content)] {
            let new = NewDocument::new(Label::Fixed(label), origin);
            core.add(&new, &mut log.as_bytes(), None).unwrap();
            log.truncate(700_000);
        }
        assert!(core.sketches.len() > 100);
        let queries = [
            "wombat",
            "größe",
            "用户身份",
            "parse_human_size",
            "worker request took",
            "absent words",
            "\"lost its\"",
            "request 5001",
            "worker-03 wombat",
            "us",
            "wombta",
            "-",
        ];
        let answers = || queries.map(|text| format!("{:?}", core.found(text, 9)));
        let with = answers();
        core.sketches.clear();
        let without = answers();
        core.background.stop();
        for ((query, with), without) in queries.iter().zip(with).zip(without) {
            assert_eq!(with, without, "{query}");
        }
    }

    #[test]
    fn there_are_never_too_many() {
        let sketches = Sketches::default();
        sketches.put(1, (0..MOST as u64 + 9).map(|number| sketched(number, number)).collect());
        assert_eq!(sketches.len(), MOST);
    }
}
