//! Labels lead to documents; what no label leads to any more is removed and leaves a tombstone.

use rusqlite::{Connection, OptionalExtension as _, Transaction};

use crate::Result;
use crate::document::{Label, NewDocument};
use crate::number;
use crate::row::{self, DocumentRow, LabelRow, State};
use crate::search;

/// Documents with more chunks than this are removed in steps, behind the caller's back.
const AT_ONCE: u64 = 512;

/// Why a document goes. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its label leads to other text now; the number of that text's first chunk, if it has any.
    Replaced(Option<u64>),
    /// Removed on purpose.
    Gone,
    /// Removed by age or size.
    Expired,
}

impl Reason {
    fn code(self) -> i64 {
        match self {
            Reason::Replaced(_) => 1,
            Reason::Gone => 2,
            Reason::Expired => 3,
        }
    }
}

/// What a label led to before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    Same,
    Other,
}

/// The label a new document gets; takes a number when it is a numbered one.
pub(crate) fn name(connection: &Connection, label: Label<'_>) -> Result<String> {
    match label {
        Label::Fixed(label) => Ok(label.to_owned()),
        Label::Numbered { family } => {
            let number = number::reserve(connection, family, 1)?;
            Ok(format!("{family}:{number}"))
        }
    }
}

/// The row of a label that leads to `document` from now on.
pub(crate) fn row_for(new: &NewDocument<'_>, label: String, document: u64) -> LabelRow {
    LabelRow {
        label,
        document,
        origin: new.origin,
        path: new.path.map(str::to_owned),
        stamp: new.stamp,
        outcome: new.outcome.map(str::to_owned),
        used: row::now(),
    }
}

/// Makes a label lead to its document, with the facts that belong to it.
pub(crate) fn attach(transaction: &Transaction<'_>, row: &LabelRow) -> Result<Before> {
    let before: Option<i64> = transaction
        .prepare_cached("SELECT document FROM labels WHERE label = ?1")?
        .query_row([&row.label], |row| row.get(0))
        .optional()?;
    let stamp = row.stamp.as_ref().map(row::stamp_bytes);
    let origin = row::origin_code(row.origin);
    let document = row.document as i64;
    let values = (&row.label, document, origin, &row.path, stamp, &row.outcome, row.used);
    if before == Some(document) {
        transaction
            .prepare_cached(
                "UPDATE labels SET document = ?2, origin = ?3, path = ?4, stamp = ?5, outcome = ?6,
                 used = ?7 WHERE label = ?1",
            )?
            .execute(values)?;
        return Ok(Before::Same);
    }
    // A replaced label is a new row: its age orders a document's labels.
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO labels (label, document, origin, path, stamp, outcome, used)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(values)?;
    let Some(before) = before else { return Ok(Before::Nothing) };
    let first: Option<i64> = transaction
        .prepare_cached("SELECT first FROM documents WHERE id = ?1")?
        .query_row([document], |row| row.get(0))?;
    orphan(transaction, before as u64, Reason::Replaced(first.map(|first| first as u64)))?;
    Ok(Before::Other)
}

/// Removes a label; `false` when there is none of that name.
pub(crate) fn detach(transaction: &Transaction<'_>, label: &str, reason: Reason) -> Result<bool> {
    let document: Option<i64> = transaction
        .prepare_cached("DELETE FROM labels WHERE label = ?1 RETURNING document")?
        .query_row([label], |row| row.get(0))
        .optional()?;
    let Some(document) = document else { return Ok(false) };
    orphan(transaction, document as u64, reason)?;
    Ok(true)
}

/// Removes a document unless a label still leads to it.
fn orphan(transaction: &Transaction<'_>, document: u64, reason: Reason) -> Result<()> {
    let kept: bool = transaction
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM labels WHERE document = ?1)")?
        .query_row([document as i64], |row| row.get(0))?;
    if kept {
        return Ok(());
    }
    let Some(row) = DocumentRow::by_id(transaction, document)? else { return Ok(()) };
    if let Some(range) = row.range() {
        let by = match reason {
            Reason::Replaced(by) => by.map(|first| first as i64),
            Reason::Gone | Reason::Expired => None,
        };
        transaction
            .prepare_cached("INSERT OR REPLACE INTO tombstones VALUES (?1, ?2, ?3, ?4)")?
            .execute((range.first.0 as i64, range.last.0 as i64, reason.code(), by))?;
    }
    bury(transaction, &row)
}

/// Takes a document out of sight, and its rows away: at once when they are few.
pub(crate) fn bury(transaction: &Transaction<'_>, row: &DocumentRow) -> Result<()> {
    let id = row.id as i64;
    transaction.prepare_cached("DELETE FROM pending WHERE document = ?1")?.execute([id])?;
    transaction.prepare_cached("DELETE FROM pages WHERE document = ?1")?.execute([id])?;
    transaction
        .prepare_cached(
            "UPDATE documents SET state = 3, digest = NULL, owner = NULL WHERE id = ?1",
        )?
        .execute([id])?;
    // What was not finished has no last chunk yet, whatever its size.
    let small = row.state == State::Live && row.chunks() <= AT_ONCE && row.bytes < 4 << 20;
    if small {
        while !reap(transaction, row.id)? {}
    }
    Ok(())
}

/// Takes away a document that was never finished, and gives back the numbers it did not use.
pub(crate) fn bury_unfinished(transaction: &Transaction<'_>, row: &DocumentRow) -> Result<()> {
    if let (Some(first), Some(reserved)) = (row.first, row.reserved) {
        let used: Option<i64> = transaction
            .prepare_cached(
                "SELECT first + count FROM blocks WHERE first >= ?1 AND first < ?2
                 ORDER BY first DESC LIMIT 1",
            )?
            .query_row((first as i64, reserved as i64), |row| row.get(0))
            .optional()?;
        let used = used.map_or(first, |used| used as u64);
        number::give_back(transaction, number::CHUNK, reserved, used)?;
    }
    bury(transaction, row)
}

/// Removes some rows of a dead document, a few milliseconds' worth; `true` when none are left.
pub(crate) fn reap(transaction: &Transaction<'_>, document: u64) -> Result<bool> {
    const BLOCKS: i64 = 64;
    const PARTS: i64 = 16;
    let id = document as i64;
    let Some(row) = DocumentRow::by_id(transaction, document)? else { return Ok(true) };
    if let Some(first) = row.first {
        let (from, to): (Option<i64>, Option<i64>) = transaction
            .prepare_cached(
                "SELECT min(first), max(first + count - 1) FROM
                 (SELECT first, count, document FROM blocks WHERE first >= ?1 ORDER BY first LIMIT ?3)
                 WHERE document = ?2",
            )?
            .query_row((first as i64, id, BLOCKS), |row| Ok((row.get(0)?, row.get(1)?)))?;
        if let (Some(from), Some(to)) = (from, to) {
            search::unindex(transaction, from as u64, to as u64)?;
            transaction
                .prepare_cached("DELETE FROM blocks WHERE first BETWEEN ?1 AND ?2")?
                .execute((from, to))?;
            transaction
                .prepare_cached("UPDATE documents SET first = ?2 WHERE id = ?1")?
                .execute((id, to + 1))?;
            return Ok(false);
        }
    }
    let parts = transaction
        .prepare_cached(
            "DELETE FROM raws WHERE id IN
             (SELECT id FROM raws WHERE id BETWEEN ?1 << 16 AND (?1 << 16) + 65535 LIMIT ?2)",
        )?
        .execute((id, PARTS))?;
    if parts > 0 {
        return Ok(false);
    }
    transaction.prepare_cached("DELETE FROM documents WHERE id = ?1")?.execute([id])?;
    Ok(true)
}

/// What became of a number that leads nowhere now.
pub(crate) fn tombstone(connection: &Connection, chunk: u64) -> Result<Option<Reason>> {
    let row: Option<(i64, i64, Option<i64>)> = connection
        .prepare_cached(
            "SELECT last, reason, by_first FROM tombstones WHERE first <= ?1
             ORDER BY first DESC LIMIT 1",
        )?
        .query_row([chunk as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    Ok(row.filter(|(last, _, _)| *last >= chunk as i64).map(|(_, reason, by)| match reason {
        1 => Reason::Replaced(by.map(|first| first as u64)),
        3 => Reason::Expired,
        _ => Reason::Gone,
    }))
}
