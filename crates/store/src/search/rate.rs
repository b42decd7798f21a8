//! Reads candidates, and text that has no full-text rows yet, and gives each a score.

use std::sync::Arc;
use std::time::Instant;

use super::features::Reader;
use super::noted::Noted;
use super::postings::Limits;
use super::query::Request;
use super::rank::{Score, score};
use super::types::ChunkTexts;
use crate::Result;
use crate::document::DocumentInfo;
use crate::ids::{ChunkId, ChunkRange};
use crate::store::ChunkText;

/// A chunk that was read and has a score.
pub(super) struct Rated {
    pub(super) id: ChunkId,
    pub(super) chunk: ChunkText,
    pub(super) document: Arc<DocumentInfo>,
    pub(super) score: Score,
    /// Other labels with identical text.
    pub(super) also: Vec<String>,
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

    /// Looks through what the index does not know yet, and reads the best of it.
    pub(super) fn scan(&mut self, pending: &[ChunkRange], limits: &Limits) -> Result<()> {
        let mut noted = Noted::default();
        for range in pending {
            let mut next = range.first.0;
            while next <= range.last.0 {
                if self.is_late() {
                    self.left += range.last.0 - next + 1;
                    break;
                }
                next = self.scan_block(next, range.last.0, limits, &mut noted)? + 1;
            }
        }
        for (id, chunk) in noted.best() {
            self.read(ChunkId(id), chunk)?;
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
        noted: &mut Noted,
    ) -> Result<u64> {
        if let Some((end, sketch)) = self.texts.sketch(ChunkId(next))
            && !(noted.may_admit(self.reader.promise_of(&sketch))
                || noted.wants_phrases() && self.reader.may_quote(&sketch))
        {
            return Ok(end.min(last));
        }
        let Some(block) = self.texts.block(ChunkId(next))? else { return Ok(next) };
        let end = block.last().min(last);
        let whole = self.reader.glance(block.titles(), block.text());
        if !(noted.may_admit(whole.promise()) || noted.wants_phrases() && whole.quotes()) {
            return Ok(end);
        }
        for id in (next..=end).filter(|id| limits.contain(*id)) {
            let chunk = ChunkText::of(&block, ChunkId(id));
            noted.note(id, &chunk, &self.reader.glance(chunk.title(), chunk.body()));
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
