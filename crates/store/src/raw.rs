//! Gives back captured bytes: from the view as far as both are the same, then from what is kept
//! apart. Flat memory: one block or part at a time.

use std::io::{self, Read};
use std::sync::Arc;

use rusqlite::OptionalExtension as _;

use crate::Result;
use crate::core::Core;
use crate::error::StoreError;
use crate::ids::DocumentId;
use crate::read::{Blocks, visible};

/// Reads the captured bytes of one document.
#[derive(Debug)]
pub(crate) struct RawReader {
    core: Arc<Core>,
    document: u64,
    source: Source,
    /// What was fetched and not read yet.
    buffer: Vec<u8>,
    at: usize,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// From the block that holds this chunk; so many bytes are still equal.
    View { next: u64, last: u64, left: u64 },
    /// From this part on.
    Parts { next: u64 },
}

/// Begins to read.
pub(crate) fn reader(core: &Arc<Core>, document: DocumentId) -> Result<RawReader> {
    let row = core.pool.read(|connection| visible(connection, document.0))?;
    let row = row.ok_or(StoreError::Missing)?;
    core.was_read(row.id);
    let left = if row.view.differs { row.raw_from } else { row.bytes };
    let source = match row.range() {
        Some(range) if left > 0 => Source::View { next: range.first.0, last: range.last.0, left },
        _ => Source::Parts { next: 0 },
    };
    let core = Arc::clone(core);
    Ok(RawReader { core, document: row.id, source, buffer: Vec::new(), at: 0 })
}

impl RawReader {
    /// Fetches more; `false` at the end.
    fn fetch(&mut self) -> Result<bool> {
        let (core, document) = (&self.core, self.document);
        let (bytes, source) = match self.source {
            Source::View { next, last, left } => {
                let block = core.pool.read(|connection| {
                    let block = Blocks::new(core, connection).of(next)?;
                    match block.filter(|block| block.document == document) {
                        Some(block) if visible(connection, document)?.is_some() => Ok(block),
                        _ => Err(StoreError::Missing),
                    }
                })?;
                let text = block.text().as_bytes();
                let text = text.get(..text.len().min(left as usize)).unwrap_or_default();
                let left = left - text.len() as u64;
                let source = if left == 0 || block.last() >= last {
                    Source::Parts { next: 0 }
                } else {
                    Source::View { next: block.last() + 1, last, left }
                };
                (text.to_vec(), source)
            }
            Source::Parts { next } => {
                let part: Option<(i64, Vec<u8>)> = core.pool.read(|connection| {
                    Ok(connection
                        .prepare_cached("SELECT length, data FROM raws WHERE id = ?1")?
                        .query_row([(document << 16 | next) as i64], |row| {
                            Ok((row.get(0)?, row.get(1)?))
                        })
                        .optional()?)
                })?;
                let Some((length, data)) = part else { return Ok(false) };
                let bytes = zstd::bulk::decompress(&data, length as usize)
                    .map_err(|_| StoreError::damaged())?;
                (bytes, Source::Parts { next: next + 1 })
            }
        };
        (self.buffer, self.at, self.source) = (bytes, 0, source);
        Ok(true)
    }
}

impl Read for RawReader {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        if output.is_empty() {
            return Ok(0);
        }
        while self.at >= self.buffer.len() {
            if !self.fetch().map_err(io::Error::other)? {
                return Ok(0);
            }
        }
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let count = rest.len().min(output.len());
        if let (Some(to), Some(from)) = (output.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}
