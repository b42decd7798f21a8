//! Writes a prepared document: numbers, text, full-text rows, label.

use std::time::{Duration, Instant};

use rusqlite::Transaction;

use crate::Result;
use crate::block::Packed;
use crate::chunk::ContentKind;
use crate::core::Core;
use crate::document::{NewDocument, Receipt, Status};
use crate::ids::{ChunkId, ChunkRange, DocumentId};
use crate::label::{self, Before};
use crate::number::{self, SPAN};
use crate::prepare::{Prepared, Viewed};
use crate::row::{self, DocumentRow, LabelRow, State};
use crate::search::{self, Expander};
use crate::sketches;

/// Text up to this size gets its full-text rows in the transaction that stores it.
pub(crate) const INLINE_BYTES: usize = 256 * 1_024;

/// How long a transaction of bulk work should take, with its commit: another process waits for one
/// such transaction, and on a busy machine it takes several times as long.
pub(crate) const TRANSACTION_TIME: Duration = Duration::from_millis(10);

/// Whether a transaction begun at `start` has been worked on long enough to leave time for its commit.
pub(crate) fn is_long(start: Instant) -> bool {
    start.elapsed() >= TRANSACTION_TIME / 2
}

/// Numbers for one document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) document: u64,
    /// The first of its chunks.
    pub(crate) first: u64,
}

/// Reserves the numbers of a document with that many chunks.
pub(crate) fn reserve(transaction: &Transaction<'_>, chunks: u64) -> Result<Numbers> {
    Ok(Numbers {
        document: number::reserve(transaction, number::DOCUMENT, 1)?,
        first: number::reserve(transaction, number::CHUNK, chunks)?,
    })
}

/// Reserves the numbers of a document of unknown size and inserts its row.
pub(crate) fn insert_open(
    transaction: &Transaction<'_>,
    kind: ContentKind,
    state: State,
    lease: &str,
) -> Result<Numbers> {
    let numbers = reserve(transaction, SPAN)?;
    transaction
        .prepare_cached(
            "INSERT INTO documents (id, state, kind, first, reserved, bytes, view_bytes, lines,
             flags, raw_from, owner, created) VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0, 0, 0, ?6, ?7)",
        )?
        .execute((
            numbers.document as i64,
            state as i64,
            kind.name(),
            numbers.first as i64,
            (numbers.first + SPAN) as i64,
            lease,
            row::now(),
        ))?;
    Ok(numbers)
}

/// Writes a document under numbers reserved for it. The full-text rows of a small one are the
/// caller's to write, in the same transaction.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    prepared: &Prepared,
    numbers: Numbers,
) -> Result<()> {
    let chunks = prepared.chunks;
    let range = (chunks > 0).then(|| (numbers.first as i64, (numbers.first + chunks - 1) as i64));
    transaction
        .prepare_cached(
            "INSERT INTO documents (id, state, digest, kind, first, last, bytes, view_bytes, lines,
             encoding, flags, raw_from, created)
             VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(rusqlite::params![
            numbers.document as i64,
            prepared.digest,
            prepared.kind.name(),
            range.map(|range| range.0),
            range.map(|range| range.1),
            prepared.bytes as i64,
            prepared.view_bytes as i64,
            prepared.lines as i64,
            prepared.view.encoding,
            row::flags(prepared.view),
            prepared.raw.from as i64,
            row::now(),
        ])?;
    put_blocks(transaction, numbers, &prepared.blocks, false)?;
    put_raw(transaction, numbers.document, 0, &prepared.raw.parts)?;
    if let Some((first, last)) = range
        && prepared.rows.is_none()
    {
        put_pending(transaction, numbers.document, first as u64, last as u64)?;
    }
    Ok(())
}

/// Writes blocks of a document; `open`: the last chunk of the last one may still grow.
pub(crate) fn put_blocks(
    transaction: &Transaction<'_>,
    numbers: Numbers,
    blocks: &[Packed],
    open: bool,
) -> Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO blocks (first, document, count, start, line, open, heads, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (index, block) in blocks.iter().enumerate() {
        insert.execute((
            (numbers.first + block.ordinal) as i64,
            numbers.document as i64,
            block.count as i64,
            block.start as i64,
            block.line as i64,
            open && index + 1 == blocks.len(),
            &block.heads,
            &block.text,
        ))?;
    }
    Ok(())
}

/// Writes captured bytes kept apart; answers the next part's number.
pub(crate) fn put_raw(
    transaction: &Transaction<'_>,
    document: u64,
    part: u64,
    parts: &[(u64, Vec<u8>)],
) -> Result<u64> {
    let mut insert = transaction
        .prepare_cached("INSERT OR REPLACE INTO raws (id, length, data) VALUES (?1, ?2, ?3)")?;
    let mut part = part;
    for (length, data) in parts {
        insert.execute(((document << 16 | part) as i64, *length as i64, data))?;
        part += 1;
    }
    Ok(part)
}

/// Notes that chunks have no full-text rows yet; this process is about to write them.
pub(crate) fn put_pending(
    transaction: &Transaction<'_>,
    document: u64,
    first: u64,
    last: u64,
) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO pending (document, next, last) VALUES (?1, ?2, ?3)
             ON CONFLICT (document) DO UPDATE SET last = ?3",
        )?
        .execute((document as i64, first as i64, last as i64))?;
    Ok(())
}

/// What a document is found under: its path, else its label.
pub(crate) fn indexed_path<'a>(new: &NewDocument<'a>, label: &'a str) -> &'a str {
    new.path.unwrap_or(label)
}

/// The receipt of a document that was there already.
pub(crate) fn receipt_of(row: &DocumentRow, label: String, status: Status) -> Receipt {
    Receipt {
        document: DocumentId(row.id),
        label,
        range: row.range(),
        bytes: row.bytes,
        lines: row.lines,
        chunks: row.chunks(),
        view: row.view,
        status,
    }
}

/// The receipt of a document that was written.
pub(crate) fn receipt_for(
    prepared: &Prepared,
    numbers: Numbers,
    label: String,
    status: Status,
) -> Receipt {
    let chunks = prepared.chunks;
    Receipt {
        document: DocumentId(numbers.document),
        label,
        range: (chunks > 0).then(|| ChunkRange {
            first: ChunkId(numbers.first),
            last: ChunkId(numbers.first + chunks - 1),
        }),
        bytes: prepared.bytes,
        lines: prepared.lines,
        chunks,
        view: prepared.view,
        status,
    }
}

/// The status of a document whose text is new.
pub(crate) fn fresh(before: Before) -> Status {
    if before == Before::Nothing { Status::New } else { Status::Replaced }
}

/// Gives a document that is there already another label; `None` when it is not there.
pub(crate) fn share(
    transaction: &Transaction<'_>,
    new: &NewDocument<'_>,
    digest: &[u8],
) -> Result<Option<Receipt>> {
    let Some(row) = DocumentRow::by_digest(transaction, digest)? else { return Ok(None) };
    let earlier = LabelRow::of_document(transaction, row.id)?;
    let label = label::name(transaction, new.label)?;
    let before = label::attach(transaction, &label::row_for(new, label.clone(), row.id))?;
    let status = match (before, earlier.into_iter().next()) {
        (Before::Same, _) => Status::Unchanged,
        (Before::Nothing, Some(earlier)) => Status::SameAs(earlier.label),
        (Before::Nothing, None) => Status::New,
        (Before::Other, _) => Status::Replaced,
    };
    Ok(Some(receipt_of(&row, label, status)))
}

impl Core {
    /// Stores a whole document.
    pub(crate) fn add_whole(&self, new: &NewDocument<'_>, viewed: Viewed<'_>) -> Result<Receipt> {
        let digest = viewed.digest;
        let known =
            self.pool.read(|connection| DocumentRow::by_digest(connection, &digest))?.is_some();
        if known
            && let Some(receipt) = self.write(|transaction| share(transaction, new, &digest))?
        {
            return Ok(receipt);
        }
        let mut packer = crate::block::Packer::new().map_err(crate::prepare::packing)?;
        let mut prepared = Prepared::new(new, viewed, &mut packer, &mut Expander::default())?;
        let generation = self.pool.generation();
        let mut first = None;
        let receipt = self.write(|transaction| {
            // Another process may have stored the same bytes since.
            if let Some(receipt) = share(transaction, new, &digest)? {
                return Ok(receipt);
            }
            let numbers = reserve(transaction, prepared.chunks)?;
            first = Some(numbers.first);
            let label = label::name(transaction, new.label)?;
            put(transaction, &prepared, numbers)?;
            let row = label::row_for(new, label.clone(), numbers.document);
            let before = label::attach(transaction, &row)?;
            if let Some(rows) = &prepared.rows {
                search::index(transaction, [(numbers.first, rows, indexed_path(new, &label))])?;
            }
            Ok(receipt_for(&prepared, numbers, label, fresh(before)))
        })?;
        if let Some(first) = first {
            let sketched = sketches::of_blocks(first, &mut prepared.blocks);
            self.sketches.put(generation, sketched);
        }
        Ok(receipt)
    }
}
