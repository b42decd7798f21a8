//! A document that is stored while it is still being produced.
//!
//! Chunks never move: once a chunk was committed its beginning stays where it is, and only the last
//! one, the open one, still gets longer. It is not in the full-text tables until it is closed;
//! searches read it instead.

use std::sync::Arc;

use rusqlite::Transaction;

use crate::Result;
use crate::background;
use crate::core::Core;
use crate::document::{NewDocument, Origin, Receipt, View};
use crate::error::StoreError;
use crate::ids::{ChunkId, ChunkRange, DocumentId};
use crate::label;
use crate::lines::Lines;
use crate::number::{self, SPAN};
use crate::prepare::{self, Identity};
use crate::read::LOST;
use crate::row::{self, DocumentRow, State};
use crate::tail::Tail;
use crate::window::{Window, Windows};
use crate::write::{self, Numbers};

/// A part of captured bytes of this size is closed.
const PART_BYTES: usize = 32 * 1_024;

/// The output of a running job: readable and searchable while it grows.
#[derive(Debug)]
pub struct Growing {
    core: Arc<Core>,
    origin: Origin,
    numbers: Numbers,
    receipt: Receipt,
    /// From the first bytes on.
    windows: Option<Windows>,
    identity: Identity,
    lines: Lines,
    tail: Tail,
    /// Closed chunks that were declared to need full-text rows.
    declared: u64,
    /// The part of captured bytes that is not full yet, and its number.
    part: (u64, Vec<u8>),
    ended: bool,
    /// Something could not be written: what followed it would not join what is stored.
    failed: bool,
}

impl Growing {
    /// Begins a document under its label.
    pub(crate) fn begin(core: &Arc<Core>, new: &NewDocument<'_>) -> Result<Self> {
        let kind = prepare::kind(new, View::default(), "");
        let lease = core.lease()?;
        let tail = Tail::new(kind, new)?;
        let receipt = core.write(|transaction| {
            let numbers = write::insert_open(transaction, kind, State::Growing, lease)?;
            let label = label::name(transaction, new.label)?;
            let row = label::row_for(new, label.clone(), numbers.document);
            let before = label::attach(transaction, &row)?;
            Ok((numbers, label, write::fresh(before)))
        });
        let (numbers, label, status) = receipt?;
        Ok(Growing {
            core: Arc::clone(core),
            origin: new.origin,
            numbers,
            receipt: Receipt {
                document: DocumentId(numbers.document),
                label,
                range: None,
                bytes: 0,
                lines: 0,
                chunks: 0,
                view: View::default(),
                status,
            },
            windows: None,
            identity: Identity::new(kind, prepare::returns(new.origin)),
            lines: Lines::default(),
            tail,
            declared: 0,
            part: (0, Vec::new()),
            ended: false,
            failed: false,
        })
    }

    /// What is stored so far; the number of the first chunk it has, or will have, is
    /// [`Growing::first`].
    pub fn receipt(&self) -> Receipt {
        self.receipt.clone()
    }

    /// The number of its first chunk, known before there is one.
    pub fn first(&self) -> ChunkId {
        ChunkId(self.numbers.first)
    }

    /// Stores more bytes. What the last line end closes is readable when this returns.
    ///
    /// Once this failed it fails for good; what was stored before stays readable.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.identity.update(bytes);
        let returns = prepare::returns(self.origin);
        let windows = self.windows.get_or_insert_with(|| Windows::new(bytes, returns));
        windows.push(bytes);
        let mut ready = Vec::new();
        ready.extend(std::iter::from_fn(|| windows.next()));
        ready.push(windows.lines());
        for window in ready {
            self.grow(window, Step::More)?;
        }
        Ok(())
    }

    /// Stores the rest and how the run ended.
    pub fn finish(mut self, outcome: &str) -> Result<Receipt> {
        let window = self.windows.as_mut().map(Windows::finish).unwrap_or_default();
        self.grow(window, Step::Last(outcome))?;
        self.ended = true;
        background::kick(&self.core);
        Ok(self.receipt.clone())
    }

    fn grow(&mut self, window: Window, step: Step<'_>) -> Result<()> {
        if window.text.is_empty() && window.raw.is_empty() && matches!(step, Step::More) {
            return Ok(());
        }
        self.lines.see(&window.text, None);
        self.tail.cut(&window.text);
        let (blocks, open) = self.tail.pack()?;
        self.part.1.extend_from_slice(&window.raw);
        let chunks = self.tail.count();
        if chunks > SPAN {
            return Err(StoreError::TooLarge { limit: SPAN });
        }
        let last = matches!(step, Step::Last(_));
        let closed = if last { chunks } else { self.tail.closed() };
        self.update_receipt(chunks);
        let part = (self.part.0, prepare::raw_parts(&self.part.1)?);
        if self.failed {
            return Err(StoreError::Missing);
        }
        self.failed = true;
        self.core.write(|transaction| {
            write::put_blocks(transaction, self.numbers, &blocks, open && !last)?;
            write::put_raw(transaction, self.numbers.document, part.0, &part.1)?;
            self.update(transaction, chunks)?;
            if closed > self.declared {
                let first = self.numbers.first;
                let (next, last) = (first + self.declared, first + closed - 1);
                write::put_pending(transaction, self.numbers.document, next, last)?;
            }
            if let Step::Last(outcome) = step {
                self.end(transaction, outcome)?;
            }
            Ok(())
        })?;
        self.failed = false;
        self.declared = self.declared.max(closed);
        if self.part.1.len() >= PART_BYTES {
            self.part = (self.part.0 + part.1.len() as u64, Vec::new());
        }
        Ok(())
    }

    fn update_receipt(&mut self, chunks: u64) {
        self.receipt.chunks = chunks;
        self.receipt.range = (chunks > 0).then(|| ChunkRange {
            first: ChunkId(self.numbers.first),
            last: ChunkId(self.numbers.first + chunks - 1),
        });
        self.receipt.lines = self.lines.count();
        if let Some(windows) = &self.windows {
            self.receipt.bytes = windows.bytes();
            self.receipt.view = windows.viewer().view();
        }
    }

    fn update(&self, transaction: &Transaction<'_>, chunks: u64) -> Result<()> {
        let view = self.receipt.view;
        // While it runs, bytes of a line that has not ended count as not captured yet.
        let raw_from = self.windows.as_ref().map_or(0, Windows::raw_from);
        let updated = transaction
            .prepare_cached(
                "UPDATE documents SET last = ?2, bytes = ?3, view_bytes = ?4, lines = ?5,
                 encoding = ?6, flags = ?7, raw_from = ?8 WHERE id = ?1 AND state = 2",
            )?
            .execute(rusqlite::params![
                self.numbers.document as i64,
                (chunks > 0).then(|| (self.numbers.first + chunks - 1) as i64),
                self.receipt.bytes as i64,
                self.tail.bytes() as i64,
                self.receipt.lines as i64,
                view.encoding,
                row::flags(view),
                raw_from as i64,
            ])?;
        // Its label was replaced or purged: nobody could read what follows.
        if updated == 0 { Err(StoreError::Missing) } else { Ok(()) }
    }

    fn end(&self, transaction: &Transaction<'_>, outcome: &str) -> Result<()> {
        let id = self.numbers.document as i64;
        // The first number was told before there was a chunk: it stays this document's.
        let unused = self.numbers.first + self.receipt.chunks.max(1);
        number::give_back(transaction, number::CHUNK, self.numbers.first + SPAN, unused)?;
        transaction
            .prepare_cached(
                "UPDATE documents SET state = 1, digest = ?2, owner = NULL, reserved = NULL,
                 first = CASE WHEN last IS NULL THEN NULL ELSE first END
                 WHERE id = ?1 AND state = 2",
            )?
            .execute((id, self.identity.clone().finish()))?;
        transaction
            .prepare_cached("UPDATE labels SET outcome = ?2, used = ?3 WHERE document = ?1")?
            .execute((id, outcome, row::now()))?;
        Ok(())
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let id = self.numbers.document;
        let ended = self.core.write(|transaction| end_abandoned(transaction, id));
        if let Err(error) = ended {
            tracing::warn!(%error, "a growing document was left open");
        }
    }
}

/// Ends a growing document where it is: nobody writes it any more.
pub(crate) fn end_abandoned(transaction: &Transaction<'_>, id: u64) -> Result<()> {
    let Some(row) = DocumentRow::by_id(transaction, id)? else { return Ok(()) };
    if row.state != State::Growing {
        return Ok(());
    }
    let id = id as i64;
    if let Some(range) = row.range() {
        // Only the open chunk was not declared yet.
        let last = range.last.0;
        write::put_pending(transaction, row.id, last, last)?;
        transaction
            .prepare_cached(
                "UPDATE blocks SET open = 0 WHERE first BETWEEN ?1 AND ?2 AND open = 1",
            )?
            .execute((range.first.0 as i64, last as i64))?;
        if let Some(reserved) = row.reserved {
            number::give_back(transaction, number::CHUNK, reserved, last + 1)?;
        }
    }
    transaction
        .prepare_cached(
            "UPDATE documents SET state = 1, owner = NULL, reserved = NULL WHERE id = ?1",
        )?
        .execute([id])?;
    transaction
        .prepare_cached("UPDATE labels SET outcome = ?2 WHERE document = ?1 AND outcome IS NULL")?
        .execute((id, LOST))?;
    Ok(())
}

/// Whether more may follow.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    More,
    Last(&'a str),
}
