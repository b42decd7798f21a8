//! Numbers: reserved before what they name is written, never given twice.

use rusqlite::Connection;

use crate::Result;

/// The counter of chunk numbers. The sign keeps it apart from families of labels.
pub(crate) const CHUNK: &str = "#chunk";
/// The counter of document numbers.
pub(crate) const DOCUMENT: &str = "#document";

/// The span reserved for a document whose number of chunks is not known beforehand, and so the most
/// chunks it may have: 512 MiB of output fill about a third of it.
pub(crate) const SPAN: u64 = 1 << 20;

/// Sets a counter to its first number.
pub(crate) fn start(connection: &Connection, family: &str, first: u64) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO counters (family, next) VALUES (?1, ?2)")?
        .execute((family, first as i64))?;
    Ok(())
}

/// Reserves `count` consecutive numbers; answers the first.
pub(crate) fn reserve(connection: &Connection, family: &str, count: u64) -> Result<u64> {
    let first: i64 = connection
        .prepare_cached(
            "INSERT INTO counters (family, next) VALUES (?1, 1 + ?2)
             ON CONFLICT (family) DO UPDATE SET next = next + ?2 RETURNING next - ?2",
        )?
        .query_row((family, count as i64), |row| row.get(0))?;
    Ok(first as u64)
}

/// Gives numbers back, from `unused` up to the `end` of a reservation, if it is still the newest.
pub(crate) fn give_back(
    connection: &Connection,
    family: &str,
    end: u64,
    unused: u64,
) -> Result<()> {
    connection
        .prepare_cached("UPDATE counters SET next = ?3 WHERE family = ?1 AND next = ?2")?
        .execute((family, end as i64, unused as i64))?;
    Ok(())
}
