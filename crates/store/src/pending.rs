//! Full-text rows that follow later: pending chunks are rows in the store, and any process may
//! write what is missing.
//!
//! Progress is committed by a comparison (`next` is still what it was), so two processes that work
//! on the same document cannot harm each other. A lease only spares them the double work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use crate::Result;
use crate::core::Core;
use crate::courtesy;
use crate::read::Blocks;
use crate::row::LabelRow;
use crate::search::{self, Expander, Rows};
use crate::write::TRANSACTION_TIME;

/// Chunks written in one transaction: at first, at least and at most. How many it is adapts to how
/// long they take.
const BATCH: (u64, u64, u64) = (128, 32, 1_024);

/// How many chunks' full-text rows fit one transaction, from how long the last ones took.
#[derive(Debug)]
pub(crate) struct Pace(AtomicU64);

impl Default for Pace {
    fn default() -> Self {
        Pace(AtomicU64::new(BATCH.0))
    }
}

impl Pace {
    fn chunks(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn took(&self, chunks: u64, time: Duration) {
        if time > TRANSACTION_TIME * 3 / 2 {
            self.0.store((chunks / 2).max(BATCH.1), Ordering::Relaxed);
        } else if time < TRANSACTION_TIME * 2 / 3 && chunks >= self.chunks() {
            self.0.store((chunks * 5 / 4).min(BATCH.2), Ordering::Relaxed);
        }
    }
}

/// Chunks of one document without full-text rows.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) document: u64,
    pub(crate) next: u64,
    pub(crate) last: u64,
    owner: Option<String>,
}

/// All pending chunks.
pub(crate) fn all(connection: &Connection) -> Result<Vec<Pending>> {
    let mut statement = connection
        .prepare_cached("SELECT document, next, last, owner FROM pending ORDER BY document")?;
    let rows = statement.query_map((), |row| {
        Ok(Pending {
            document: row.get::<_, i64>(0)? as u64,
            next: row.get::<_, i64>(1)? as u64,
            last: row.get::<_, i64>(2)? as u64,
            owner: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The open chunks of growing documents, as document, first and last: they get full-text rows when
/// they are closed, and are read by searches until then.
pub(crate) fn open_chunks(connection: &Connection) -> Result<Vec<(u64, u64, u64)>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, last FROM documents WHERE state = 2 AND last IS NOT NULL
         AND (SELECT open FROM blocks WHERE first <= documents.last ORDER BY first DESC LIMIT 1)",
    )?;
    let rows = statement.query_map((), |row| {
        let last = row.get::<_, i64>(1)? as u64;
        Ok((row.get::<_, i64>(0)? as u64, last, last))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Full-text rows of one document, ready to be written.
#[derive(Debug)]
struct Batch {
    document: u64,
    first: u64,
    rows: Rows,
    path: String,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Put {
    /// It is written, and more is missing.
    More,
    /// It is written, and was the last.
    Done,
    /// Another process was faster.
    Outrun,
}

impl Core {
    /// Writes a document's missing full-text rows as long as `goes_on` says so, one transaction
    /// after the other; another thread makes the next rows meanwhile. `awaited`: somebody waits for it.
    pub(crate) fn index_document(
        &self,
        pending: &Pending,
        goes_on: &(dyn Fn() -> bool + Sync),
        awaited: bool,
    ) -> Result<()> {
        if pending.last - pending.next < self.pace.chunks() {
            return self.put_batch(&self.make(pending, pending.next)?).map(drop);
        }
        let (sender, receiver) = sync_channel(1);
        thread::scope(|scope| {
            scope.spawn(move || {
                if !awaited {
                    courtesy::step_back();
                }
                let mut next = pending.next;
                while next <= pending.last && goes_on() {
                    let made = self.make(pending, next);
                    // Nothing where there should be something: the other thread finds out why.
                    let ends = made.as_ref().map_or(true, |batch| batch.rows.len() == 0);
                    next += made.as_ref().map_or(0, |batch| batch.rows.len());
                    if sender.send(made).is_err() || ends {
                        return;
                    }
                }
            });
            for batch in receiver {
                if !goes_on() || self.put_batch(&batch?)? != Put::More {
                    break;
                }
                self.upkeep()?;
            }
            Ok(())
        })
    }

    /// Makes the rows of as many chunks as fit one transaction.
    fn make(&self, pending: &Pending, next: u64) -> Result<Batch> {
        let until = pending.last.min(next + self.pace.chunks() - 1);
        let (blocks, path) = self.pool.read(|connection| {
            let blocks = Blocks::new(self, connection).range(next, until)?;
            let labels = LabelRow::of_document(connection, pending.document)?;
            let path = labels.into_iter().next().map(|label| label.path.unwrap_or(label.label));
            Ok((blocks, path.unwrap_or_default()))
        })?;
        let chunks = blocks.iter().flat_map(|block| {
            let ids = block.first.max(next)..=block.last().min(until);
            let indexes = ids.map(|id| (id - block.first) as usize);
            indexes.map(|index| (block.title(index), block.body(index)))
        });
        let rows = Rows::new(&mut Expander::default(), chunks);
        Ok(Batch { document: pending.document, first: next, rows, path })
    }

    fn put_batch(&self, batch: &Batch) -> Result<Put> {
        let lease = self.lease()?;
        let document = batch.document as i64;
        self.pool.let_pass();
        let mut start = Instant::now();
        let put = self.write(|transaction| {
            start = Instant::now();
            let next: Option<(i64, i64)> = transaction
                .prepare_cached("SELECT next, last FROM pending WHERE document = ?1")?
                .query_row([document], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let Some((next, last)) = next else { return Ok(Put::Done) };
            if next as u64 != batch.first {
                return Ok(Put::Outrun);
            }
            search::index(transaction, [(batch.first, &batch.rows, &*batch.path)])?;
            let done = batch.first + batch.rows.len();
            if batch.rows.len() == 0 || done > last as u64 {
                transaction
                    .prepare_cached("DELETE FROM pending WHERE document = ?1")?
                    .execute([document])?;
                return Ok(Put::Done);
            }
            transaction
                .prepare_cached("UPDATE pending SET next = ?2, owner = ?3 WHERE document = ?1")?
                .execute((document, done as i64, lease))?;
            Ok(Put::More)
        })?;
        if put != Put::Outrun {
            self.pace.took(batch.rows.len(), start.elapsed());
            self.sketches.forget(batch.first, batch.first + batch.rows.len());
        }
        Ok(put)
    }

    /// Whether another living process is at work on these chunks.
    pub(crate) fn is_taken(&self, pending: &Pending) -> Result<bool> {
        let Some(owner) = &pending.owner else { return Ok(false) };
        Ok(owner != self.lease()? && self.is_alive(owner))
    }

    /// Writes missing full-text rows of these documents (of all when `None`) until the deadline;
    /// `true` when none are missing any more.
    pub(crate) fn finish_pending(
        &self,
        documents: Option<&[u64]>,
        deadline: Instant,
    ) -> Result<bool> {
        let in_time = || Instant::now() + TRANSACTION_TIME <= deadline;
        let next = || -> Result<Option<Pending>> {
            let pending = self.pool.read(all)?;
            Ok(pending.into_iter().find(|pending| {
                documents.is_none_or(|documents| documents.contains(&pending.document))
            }))
        };
        while next()?.is_some() {
            // Whoever has the turn may be at work on the very same.
            let turn = self.indexing.take(Some(deadline));
            if turn.is_none() || !in_time() {
                return Ok(false);
            }
            if let Some(next) = next()? {
                self.index_document(&next, &in_time, true)?;
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_get_shorter_when_they_take_long() {
        let pace = Pace::default();
        let (long, short) = (TRANSACTION_TIME * 2, TRANSACTION_TIME / 2);
        pace.took(BATCH.0, long);
        assert_eq!(pace.chunks(), BATCH.0 / 2);
        for _ in 0..20 {
            pace.took(pace.chunks(), long);
        }
        assert_eq!(pace.chunks(), BATCH.1);
        // The rest of a document says nothing about a whole batch.
        pace.took(pace.chunks() - 1, short);
        assert_eq!(pace.chunks(), BATCH.1);
        for _ in 0..40 {
            pace.took(pace.chunks(), short);
        }
        assert_eq!(pace.chunks(), BATCH.2);
    }
}
