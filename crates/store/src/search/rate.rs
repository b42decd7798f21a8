//! Reads candidates, and text that has no full-text rows yet, and gives each a score.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Instant;

use super::features::Reader;
use super::postings::Limits;
use super::query::Request;
use super::rank::{Score, score};
use super::types::ChunkTexts;
use crate::Result;
use crate::document::DocumentInfo;
use crate::ids::{ChunkId, ChunkRange};
use crate::store::ChunkText;

/// Hits kept while text is scanned; the weaker half goes when there are twice as many.
const KEPT: usize = 128;

/// A chunk that was read and has a score.
pub(super) struct Rated {
    pub(super) id: ChunkId,
    pub(super) chunk: ChunkText,
    pub(super) document: Arc<DocumentInfo>,
    pub(super) score: Score,
    /// Other labels with identical text.
    pub(super) also: Vec<String>,
}

/// The most promising chunks seen while text is scanned: only what may be among them is read.
#[derive(Default)]
struct Promises(BinaryHeap<Reverse<u64>>);

impl Promises {
    /// Whether something of that promise may be among the best.
    fn may_admit(&self, promise: f64) -> bool {
        let Promises(best) = self;
        let better = |Reverse(least): &Reverse<u64>| promise.to_bits() > *least;
        promise > 0.0 && (best.len() < KEPT || best.peek().is_some_and(better))
    }

    /// Whether a chunk may be among the best; then it is counted.
    fn admits(&mut self, promise: f64) -> bool {
        let admitted = self.may_admit(promise);
        if admitted {
            let Promises(best) = self;
            if best.len() >= KEPT {
                best.pop();
            }
            // The bits of positive numbers are in their order.
            best.push(Reverse(promise.to_bits()));
        }
        admitted
    }
}

/// Reads chunks until the deadline.
pub(super) struct Rater<'a> {
    texts: &'a dyn ChunkTexts,
    request: &'a Request,
    deadline: Option<Instant>,
    pub(super) reader: Reader<'a>,
    pub(super) rated: Vec<Rated>,
    /// Chunks that could not be read in time.
    pub(super) left: u64,
}

impl<'a> Rater<'a> {
    pub(super) fn new(
        texts: &'a dyn ChunkTexts,
        request: &'a Request,
        average_bytes: f64,
        deadline: Option<Instant>,
    ) -> Self {
        let reader = Reader::new(request, average_bytes);
        Rater { texts, request, deadline, reader, rated: Vec::new(), left: 0 }
    }

    /// Reads the candidates of the index.
    pub(super) fn read_all(&mut self, ids: &[u64]) -> Result<()> {
        for (at, id) in ids.iter().enumerate() {
            if self.is_late() {
                self.left += (ids.len() - at) as u64;
                return Ok(());
            }
            if let Some(chunk) = self.texts.chunk(ChunkId(*id))? {
                self.read(ChunkId(*id), chunk)?;
            }
        }
        Ok(())
    }

    /// Reads what the index does not know yet, and keeps the best of it.
    pub(super) fn scan(&mut self, pending: &[ChunkRange], limits: &Limits) -> Result<()> {
        let mut promises = Promises::default();
        for range in pending {
            let mut next = range.first.0;
            while next <= range.last.0 {
                if self.is_late() {
                    self.left += range.last.0 - next + 1;
                    break;
                }
                next = self.scan_block(next, range.last.0, limits, &mut promises)? + 1;
            }
        }
        Ok(())
    }

    /// Looks through the block that holds chunk `next`, up to chunk `last`; answers the last chunk it was
    /// about. A whole block promises at least what its chunks do: most blocks are passed over by their
    /// sketch, others by one look at all of their text.
    fn scan_block(
        &mut self,
        next: u64,
        last: u64,
        limits: &Limits,
        promises: &mut Promises,
    ) -> Result<u64> {
        if let Some((end, sketch)) = self.texts.sketch(ChunkId(next))
            && !promises.may_admit(self.reader.promise_of(&sketch))
        {
            return Ok(end.min(last));
        }
        let Some(block) = self.texts.block(ChunkId(next))? else { return Ok(next) };
        let end = block.last().min(last);
        if !promises.may_admit(self.reader.promise(block.titles(), block.text())) {
            return Ok(end);
        }
        for id in (next..=end).filter(|id| limits.contain(*id)) {
            let chunk = ChunkText::of(&block, ChunkId(id));
            if promises.admits(self.reader.promise(chunk.title(), chunk.body())) {
                self.read(ChunkId(id), chunk)?;
            }
            if self.rated.len() > 2 * KEPT {
                self.rated.sort_by(|a, b| b.score.value.total_cmp(&a.score.value));
                self.rated.truncate(KEPT);
            }
        }
        Ok(end)
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn read(&mut self, id: ChunkId, chunk: ChunkText) -> Result<()> {
        let Some(document) = self.texts.document(chunk.document())? else { return Ok(()) };
        let path = document.path.as_deref().unwrap_or(&document.label);
        let is_data = document.kind.is_data();
        let mut seen = self.reader.read(&chunk, path, is_data);
        seen.begins_document = document.range.is_some_and(|range| range.first == id);
        let score = score(self.request, &seen);
        if score.value > 0.0 {
            self.rated.push(Rated { id, chunk, document, score, also: Vec::new() });
        }
        Ok(())
    }
}
