//! Answers searches: finishes or names what has no full-text rows yet, then asks the search part.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::Result;
use crate::background;
use crate::block::Block;
use crate::core::Core;
use crate::document::DocumentInfo;
use crate::error::StoreError;
use crate::ids::{ChunkId, ChunkRange, DocumentId};
use crate::pending;
use crate::pool::lock;
use crate::read::{Blocks, visible};
use crate::row::{DocumentRow, LABEL, LabelRow};
use crate::search::{
    self, Beginnings, ChunkTexts, FastBuild, Found, InCall, Query, Scope, ScopedDocument, Sketch,
};

/// Chunks that are indexed before a search rather than scanned by it: about 15 ms of work. To scan them
/// costs a tenth of that, but then nobody knows how rare their words are.
const FINISH_CHUNKS: u64 = 256;
/// The longest a search spends on that: somebody else may have the turn.
const FINISH_TIME: Duration = Duration::from_millis(50);

/// A chunk's title, text and place, borrowed from a cached block.
#[derive(Clone, Debug)]
pub(crate) struct ChunkText {
    block: Arc<Block>,
    index: usize,
}

impl ChunkText {
    /// A chunk of a block that holds it.
    pub(crate) fn of(block: &Arc<Block>, chunk: ChunkId) -> Self {
        ChunkText { block: Arc::clone(block), index: (chunk.0 - block.first) as usize }
    }

    /// Its document.
    pub(crate) fn document(&self) -> DocumentId {
        DocumentId(self.block.document)
    }

    /// Its title.
    pub(crate) fn title(&self) -> &str {
        self.block.title(self.index)
    }

    /// Its text.
    pub(crate) fn body(&self) -> &str {
        self.block.body(self.index)
    }

    /// How its tokens begin.
    pub(crate) fn beginnings(&self) -> &Beginnings {
        self.block.beginnings(self.index)
    }

    /// Its first and last line, from 1.
    pub(crate) fn lines(&self) -> (u64, u64) {
        self.block.lines(self.index)
    }
}

/// Documents that were looked up for one of the queries of a call.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// There is text, and nothing of it waits for its full-text rows.
    settled: AtomicBool,
    visible: Mutex<HashMap<u64, Option<DocumentRow>, FastBuild>>,
    documents: Mutex<HashMap<u64, Option<Arc<DocumentInfo>>, FastBuild>>,
}

/// What the queries of one call share.
#[derive(Debug, Default)]
pub(crate) struct Together {
    known: Known,
    in_call: InCall,
}

/// One state of the store, as search sees it.
pub(crate) struct Texts<'a> {
    core: &'a Core,
    connection: &'a Connection,
    blocks: Blocks<'a>,
    known: &'a Known,
}

impl ChunkTexts for Texts<'_> {
    fn chunk(&self, id: ChunkId) -> Result<Option<ChunkText>> {
        let Some(block) = self.blocks.of(id.0)? else { return Ok(None) };
        if !self.is_visible(block.document)? {
            return Ok(None);
        }
        Ok(Some(ChunkText::of(&block, id)))
    }

    fn block(&self, chunk: ChunkId) -> Result<Option<Arc<Block>>> {
        let Some(block) = self.blocks.passing(chunk.0)? else { return Ok(None) };
        Ok(self.is_visible(block.document)?.then_some(block))
    }

    fn sketch(&self, chunk: ChunkId) -> Option<(u64, Arc<Sketch>)> {
        self.core.sketches.get(self.core.pool.generation(), chunk.0)
    }

    fn document(&self, id: DocumentId) -> Result<Option<Arc<DocumentInfo>>> {
        if let Some(known) = lock(&self.known.documents).get(&id.0) {
            return Ok(known.clone());
        }
        let row = if self.is_visible(id.0)? {
            lock(&self.known.visible).get(&id.0).cloned().flatten()
        } else {
            None
        };
        let info = row.map(|row| self.core.info(self.connection, &row, None)).transpose()?;
        let info = info.map(Arc::new);
        lock(&self.known.documents).insert(id.0, info.clone());
        Ok(info)
    }

    fn scope(&self, scope: &Scope<'_>) -> Result<Option<Vec<ScopedDocument>>> {
        let ids = match scope {
            Scope::All => return Ok(None),
            Scope::Documents(ids) => ids.iter().map(|id| id.0).collect(),
            Scope::Source(source) => matching(self.connection, source)?
                .into_iter()
                .map(|label| label.document)
                .collect::<Vec<_>>(),
        };
        let mut documents = Vec::new();
        for id in ids {
            if let Some(row) = visible(self.connection, id)?
                && let Some(range) = row.range()
            {
                let document = DocumentId(id);
                documents.push(ScopedDocument { document, range, kind: row.kind.class() });
            }
        }
        documents.sort_by_key(|document| document.range.first);
        documents.dedup_by_key(|document| document.document);
        Ok(Some(documents))
    }

    fn beginnings(
        &self,
        path: &str,
        wanted: &dyn Fn(u64) -> bool,
        most: usize,
    ) -> Result<Vec<u64>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT documents.id, first FROM labels JOIN documents ON documents.id = document
             WHERE substr(coalesce(path, label), -length(?1)) = ?1 AND first IS NOT NULL
             ORDER BY labels.id",
        )?;
        let mut rows = statement.query([path])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (document, first) = (row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64);
            if wanted(first) && self.is_visible(document)? {
                found.push(first);
            }
            if found.len() == most {
                break;
            }
        }
        Ok(found)
    }

    fn is_empty(&self) -> Result<bool> {
        if self.known.settled.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let any: bool = self
            .connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM documents WHERE last IS NOT NULL AND state IN (1, 2))",
            )?
            .query_row((), |row| row.get(0))?;
        Ok(!any)
    }

    fn unindexed(&self, scope: &Scope<'_>) -> Result<Vec<ChunkRange>> {
        if self.known.settled.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let mut missing = pending::open_chunks(self.connection)?;
        for pending in pending::all(self.connection)? {
            missing.push((pending.document, pending.next, pending.last));
        }
        if missing.is_empty() {
            self.known.settled.store(true, Ordering::Relaxed);
            return Ok(Vec::new());
        }
        let scoped = self.scope(scope)?;
        let mut ranges = Vec::new();
        for (document, first, last) in missing {
            let concerns = scoped
                .as_ref()
                .is_none_or(|scoped| scoped.iter().any(|scoped| scoped.document.0 == document));
            if concerns && self.is_visible(document)? {
                ranges.push(ChunkRange { first: ChunkId(first), last: ChunkId(last) });
            }
        }
        ranges.sort_by_key(|range| range.first);
        Ok(ranges)
    }
}

impl<'a> Texts<'a> {
    pub(crate) fn new(core: &'a Core, connection: &'a Connection, known: &'a Known) -> Self {
        Texts { core, connection, blocks: Blocks::new(core, connection), known }
    }

    fn is_visible(&self, document: u64) -> Result<bool> {
        if let Some(known) = lock(&self.known.visible).get(&document) {
            return Ok(known.is_some());
        }
        let row = visible(self.connection, document)?;
        let is_visible = row.is_some();
        lock(&self.known.visible).insert(document, row);
        Ok(is_visible)
    }
}

/// The labels a source names: exactly that one, else those with that prefix when it ends in `*`,
/// else those whose path, or label, contains it.
pub(crate) fn matching(connection: &Connection, source: &str) -> Result<Vec<LabelRow>> {
    if let Some(exact) = LabelRow::by_label(connection, source)? {
        return Ok(vec![exact]);
    }
    let (condition, value) = match source.strip_suffix('*') {
        Some(prefix) => {
            ("substr(label, 1, length(?1)) = ?1 OR substr(path, 1, length(?1)) = ?1", prefix)
        }
        None => ("instr(path, ?1) > 0 OR instr(label, ?1) > 0", source),
    };
    if value.is_empty() && !source.ends_with('*') {
        return Ok(Vec::new());
    }
    let mut statement = connection
        .prepare_cached(&format!("SELECT {LABEL} FROM labels WHERE {condition} ORDER BY id"))?;
    let rows = statement.query_map([value], LabelRow::read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl Core {
    pub(crate) fn labels(&self, source: &str) -> Result<Vec<String>> {
        let rows = self.pool.read(|connection| matching(connection, source))?;
        Ok(rows.into_iter().map(|row| row.label).collect())
    }

    /// Searches, with what other queries of the call found out.
    pub(crate) fn search(&self, together: &Together, query: &Query<'_>) -> Result<Found> {
        let _under_way = self.courtesy.search();
        self.pool.read(|connection| {
            let texts = Texts::new(self, connection, &together.known);
            search::search(connection, &texts, &self.memory, &together.in_call, query)
        })
    }

    /// Indexes what is pending when it is little; otherwise the search scans it, and somebody indexes it
    /// meanwhile.
    pub(crate) fn prepare_search(self: &Arc<Self>, deadline: Option<Instant>) -> Result<()> {
        if self.finish_for(deadline)? {
            background::kick(self);
        }
        Ok(())
    }

    /// Answers whether some is left.
    fn finish_for(&self, deadline: Option<Instant>) -> Result<bool> {
        let missing = self.pool.read(pending::all)?;
        let chunks: u64 = missing.iter().map(|pending| pending.last + 1 - pending.next).sum();
        // While much is stored there is no end to it, and the lock is busy.
        if missing.is_empty() || chunks > FINISH_CHUNKS || self.courtesy.is_bulk() {
            return Ok(!missing.is_empty());
        }
        let documents: Vec<u64> = missing.iter().map(|pending| pending.document).collect();
        let now = Instant::now();
        let limit = now + FINISH_TIME;
        let deadline = deadline.map_or(limit, |deadline| limit.min(now + (deadline - now) / 2));
        match self.finish_pending(Some(&documents), deadline) {
            // Searching must work where writing cannot: then everything pending is scanned.
            Ok(finished) => Ok(!finished),
            Err(error @ StoreError::Corrupt { .. }) => Err(error),
            Err(error) => {
                tracing::debug!(%error, "pending text is scanned");
                Ok(false)
            }
        }
    }
}

#[cfg(test)]
impl Core {
    /// What a test asks of all text, in a call of its own.
    pub(crate) fn found(&self, text: &str, limit: usize) -> Found {
        self.search(&Together::default(), &Query::new(text, limit)).unwrap()
    }
}
