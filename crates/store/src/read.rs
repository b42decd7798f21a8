//! Reads chunks and documents, and finds out where references lead.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _};

use crate::Result;
use crate::block::Block;
use crate::core::Core;
use crate::document::{Chunk, DocumentInfo};
use crate::error::StoreError;
use crate::ids::{ChunkId, DocumentId, Last, Location, Span};
use crate::label::{self, Reason};
use crate::row::{self, DocumentRow, LabelRow, State};

/// Replacements of replacements are followed this far.
const HOPS: usize = 1_000;

/// What a growing document is said to have ended with when its process is gone.
pub(crate) const LOST: &str = "ended with its server";

/// Blocks of one state of the store, through the cache.
pub(crate) struct Blocks<'a> {
    core: &'a Core,
    connection: &'a Connection,
    generation: u64,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(core: &'a Core, connection: &'a Connection) -> Self {
        Blocks { core, connection, generation: core.pool.generation() }
    }

    /// The block that holds a chunk. It may belong to a document that was removed.
    pub(crate) fn of(&self, chunk: u64) -> Result<Option<Arc<Block>>> {
        self.find(chunk, true)
    }

    /// The same for one of many blocks that are looked through once: those that are cached stay.
    pub(crate) fn passing(&self, chunk: u64) -> Result<Option<Arc<Block>>> {
        self.find(chunk, false)
    }

    fn find(&self, chunk: u64, keep: bool) -> Result<Option<Arc<Block>>> {
        if let Some(block) = self.core.cache.get(self.generation, chunk) {
            return Ok(Some(block));
        }
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {}, open FROM blocks WHERE first <= ?1 ORDER BY first DESC LIMIT 1",
            row::BLOCK
        ))?;
        let mut rows = statement.query([chunk as i64])?;
        let Some(found) = rows.next()? else { return Ok(None) };
        let packed = row::block(found)?;
        if chunk >= packed.first + packed.count {
            return Ok(None);
        }
        let block = self.core.cache.decode(&packed);
        let block = Arc::new(block.ok_or_else(StoreError::damaged)?);
        if keep && !found.get::<_, bool>(7)? {
            self.core.cache.put(self.generation, Arc::clone(&block));
        }
        Ok(Some(block))
    }

    /// The blocks that hold the chunks `first..=last`, in order.
    pub(crate) fn range(&self, first: u64, last: u64) -> Result<Vec<Arc<Block>>> {
        let mut blocks = Vec::new();
        let mut next = first;
        while next <= last {
            let Some(block) = self.of(next)? else { break };
            next = block.last() + 1;
            blocks.push(block);
        }
        Ok(blocks)
    }
}

/// One chunk of a block, as it is handed out.
pub(crate) fn chunk(block: &Block, id: u64) -> Chunk {
    let index = (id - block.first) as usize;
    Chunk {
        id: ChunkId(id),
        document: DocumentId(block.document),
        title: block.title(index).to_owned(),
        text: block.body(index).to_owned(),
        lines: block.lines(index),
        start: block.start(index),
    }
}

/// A visible document.
pub(crate) fn visible(connection: &Connection, id: u64) -> Result<Option<DocumentRow>> {
    let row = DocumentRow::by_id(connection, id)?;
    Ok(row.filter(|row| row.state.is_visible()))
}

impl Core {
    /// What is told about a document.
    pub(crate) fn info(
        &self,
        connection: &Connection,
        row: &DocumentRow,
        asked: Option<&str>,
    ) -> Result<DocumentInfo> {
        let labels = LabelRow::of_document(connection, row.id)?;
        let mut info = row::info(row, labels, asked);
        if row.state == State::Growing
            && !row.owner.as_deref().is_some_and(|owner| self.is_alive(owner))
        {
            info.running = false;
            info.outcome.get_or_insert_with(|| LOST.to_owned());
        }
        Ok(info)
    }

    pub(crate) fn document(&self, id: DocumentId) -> Result<Option<DocumentInfo>> {
        self.pool.read(|connection| {
            let row = visible(connection, id.0)?;
            row.map(|row| self.info(connection, &row, None)).transpose()
        })
    }

    pub(crate) fn by_label(&self, label: &str) -> Result<Option<DocumentInfo>> {
        self.pool.read(|connection| {
            let Some(found) = LabelRow::by_label(connection, label)? else { return Ok(None) };
            let row = visible(connection, found.document)?;
            row.map(|row| self.info(connection, &row, Some(label))).transpose()
        })
    }

    pub(crate) fn locate(&self, span: &Span) -> Result<Location> {
        let location = self.pool.read(|connection| self.locate_in(connection, span))?;
        if let Location::Live { document, .. } = &location {
            self.was_read(document.id.0);
        }
        Ok(location)
    }

    fn locate_in(&self, connection: &Connection, span: &Span) -> Result<Location> {
        let first = span.first.0;
        let Some(block) = Blocks::new(self, connection).of(first)? else {
            return self.departed(connection, first);
        };
        let row = visible(connection, block.document)?;
        let Some((row, range)) = row.and_then(|row| row.range().map(|range| (row, range))) else {
            return self.departed(connection, first);
        };
        let length = block.body((first - block.first) as usize).len() as u64;
        if span.skip > length {
            return Ok(Location::SkipBeyond { len: length });
        }
        let last = match span.last {
            Last::One => span.first,
            Last::End => range.last,
            Last::At(last) => last,
        };
        if last > range.last || last < span.first {
            return Ok(Location::Crosses { end: range.last });
        }
        let document = Box::new(self.info(connection, &row, None)?);
        Ok(Location::Live { document, first: span.first, skip: span.skip, last })
    }

    /// What became of a chunk that is not there.
    fn departed(&self, connection: &Connection, chunk: u64) -> Result<Location> {
        let mut at = chunk;
        for hop in 0..HOPS {
            match label::tombstone(connection, at)? {
                Some(Reason::Gone) => return Ok(Location::Gone),
                Some(Reason::Expired) => return Ok(Location::Expired),
                Some(Reason::Replaced(None)) => return Ok(Location::Replaced { by: None }),
                Some(Reason::Replaced(Some(by))) => at = by,
                None if hop == 0 => return Ok(Location::Unknown),
                None => break,
            }
            if let Some(block) = Blocks::new(self, connection).of(at)?
                && let Some(row) = visible(connection, block.document)?
            {
                return Ok(Location::Replaced { by: row.range() });
            }
        }
        Ok(Location::Replaced { by: None })
    }

    pub(crate) fn chunks(&self, first: u64, last: u64, max_bytes: u64) -> Result<Vec<Chunk>> {
        let chunks = self.pool.read(|connection| {
            let blocks = Blocks::new(self, connection);
            let (mut chunks, mut bytes) = (Vec::new(), 0);
            let (mut next, mut document) = (first, None);
            while next <= last && bytes < max_bytes.max(1) {
                let Some(block) = blocks.of(next)? else { break };
                if document.is_none() && visible(connection, block.document)?.is_none() {
                    break;
                }
                if *document.get_or_insert(block.document) != block.document {
                    break;
                }
                while next <= last.min(block.last()) && bytes < max_bytes.max(1) {
                    let chunk = chunk(&block, next);
                    bytes += chunk.text.len() as u64;
                    chunks.push(chunk);
                    next += 1;
                }
            }
            Ok(chunks)
        })?;
        if let Some(chunk) = chunks.first() {
            self.was_read(chunk.document.0);
        }
        Ok(chunks)
    }

    /// The chunk that holds the beginning of a line: the first one that reaches it.
    pub(crate) fn chunk_of_line(&self, document: DocumentId, line: u64) -> Result<Option<ChunkId>> {
        self.pool.read(|connection| {
            let Some(row) = visible(connection, document.0)? else { return Ok(None) };
            let Some(range) = row.range() else { return Ok(None) };
            if line == 0 || line > row.lines {
                return Ok(None);
            }
            // Numbers are consecutive, so the block is found by halving.
            let mut find = connection.prepare_cached(
                "SELECT first, count, line FROM blocks WHERE first <= ?1
                 ORDER BY first DESC LIMIT 1",
            )?;
            let (mut low, mut high, mut found) = (range.first.0, range.last.0, None);
            while low <= high {
                let middle = low + (high - low) / 2;
                let block: Option<(i64, i64, i64)> = find
                    .query_row([middle as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                    .optional()?;
                let Some((first, count, starts)) = block else { break };
                // A line may begin in the block before the one it continues in.
                if (starts as u64) < line || first as u64 == range.first.0 {
                    found = Some(first as u64);
                    low = (first + count) as u64;
                } else {
                    high = first as u64 - 1;
                }
            }
            let blocks = Blocks::new(self, connection);
            let mut next = found;
            while let Some(id) = next.filter(|id| *id <= range.last.0) {
                let Some(block) = blocks.of(id)? else { break };
                let holds = |id: &u64| block.lines((id - block.first) as usize).1 >= line;
                if let Some(id) = (block.first..=block.last()).find(holds) {
                    return Ok(Some(ChunkId(id)));
                }
                next = Some(block.last() + 1);
            }
            Ok(None)
        })
    }
}
