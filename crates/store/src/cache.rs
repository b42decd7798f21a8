//! The decoded blocks used last, so that neighbouring chunks and repeated queries cost one decoding.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::block::{Block, BlockRow, Unpacker};
use crate::pool::lock;

/// Blocks kept: about 18 MiB of text, and notes on what of it was searched. Half as many were fewer than the
/// blocks of 10 MB.
const BLOCKS: usize = 1_024;

/// A least-recently-used cache, by the number of a block's first chunk.
#[derive(Default)]
pub(crate) struct BlockCache {
    entries: Mutex<Entries>,
    unpackers: Mutex<Vec<Unpacker>>,
}

#[derive(Debug, Default)]
struct Entries {
    generation: u64,
    clock: u64,
    blocks: BTreeMap<u64, (u64, Arc<Block>)>,
}

impl std::fmt::Debug for BlockCache {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BlockCache").finish_non_exhaustive()
    }
}

impl BlockCache {
    /// Decodes a block; `None` when it is not what was written.
    pub(crate) fn decode(&self, row: &BlockRow<'_>) -> Option<Block> {
        let idle = lock(&self.unpackers).pop();
        let mut unpacker = idle.or_else(|| Unpacker::new().ok())?;
        let block = Block::decode(row, &mut unpacker);
        lock(&self.unpackers).push(unpacker);
        block
    }

    /// The block that holds a chunk.
    pub(crate) fn get(&self, generation: u64, chunk: u64) -> Option<Arc<Block>> {
        let mut entries = lock(&self.entries);
        if entries.generation != generation {
            return None;
        }
        entries.clock += 1;
        let clock = entries.clock;
        let (_, (used, block)) = entries.blocks.range_mut(..=chunk).next_back()?;
        if block.last() < chunk {
            return None;
        }
        *used = clock;
        Some(Arc::clone(block))
    }

    /// Remembers a block that will never change.
    pub(crate) fn put(&self, generation: u64, block: Arc<Block>) {
        let mut entries = lock(&self.entries);
        if entries.generation != generation {
            entries.blocks.clear();
            entries.generation = generation;
        }
        if entries.blocks.len() >= BLOCKS {
            // Half goes at once: one sort for many insertions.
            let mut used: Vec<u64> = entries.blocks.values().map(|entry| entry.0).collect();
            used.sort_unstable();
            let middle = used.get(used.len() / 2).copied().unwrap_or_default();
            entries.blocks.retain(|_, entry| entry.0 > middle);
        }
        entries.clock += 1;
        let clock = entries.clock;
        entries.blocks.insert(block.first, (clock, block));
    }

    /// Gives its memory back.
    pub(crate) fn rest(&self) {
        self.clear();
        lock(&self.unpackers).clear();
    }

    /// Forgets everything: text was purged.
    pub(crate) fn clear(&self) {
        lock(&self.entries).blocks.clear();
    }
}
