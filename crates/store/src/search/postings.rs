//! Reads the lists of the index: where a stem stands, which chunks an expression matches.
//!
//! Reading a list with columns and repetitions costs about 0.15 µs a chunk, reading only the chunk
//! numbers a third of that.

use std::sync::Arc;

use rusqlite::Connection;

use super::occurrences::{self, Occurrences};
use super::query::Alternative;
use super::rank::FIELD_TITLE;
use super::shared::Shared;
use super::statistics::Frequency;
use crate::ids::ChunkRange;

/// Chunk numbers a search is limited to, ascending; `None` is all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limits(pub(super) Option<Vec<ChunkRange>>);

impl Limits {
    /// These chunks.
    pub(super) fn of(mut ranges: Vec<ChunkRange>) -> Self {
        ranges.sort_unstable_by_key(|range| range.first);
        ranges.dedup_by(|next, range| {
            let adjacent = next.first.0 <= range.last.0 + 1;
            if adjacent {
                range.last = range.last.max(next.last);
            }
            adjacent
        });
        Limits(Some(ranges))
    }

    /// How many ranges of consecutive chunks it has.
    pub(super) fn ranges(&self) -> usize {
        self.0.as_ref().map_or(1, Vec::len)
    }

    pub(super) fn contain(&self, id: u64) -> bool {
        let Some(ranges) = &self.0 else { return true };
        let at = ranges.partition_point(|range| range.last.0 < id);
        ranges.get(at).is_some_and(|range| range.first.0 <= id)
    }

    /// The numbers between which all of it lies.
    pub(super) fn hull(&self) -> (i64, i64) {
        match self.0.as_deref() {
            None => (0, i64::MAX),
            Some(ranges) => (
                ranges.first().map_or(0, |range| range.first.0 as i64),
                ranges.last().map_or(-1, |range| range.last.0 as i64),
            ),
        }
    }

    /// How many chunks it may have, if it lies close together.
    pub(super) fn narrow(&self) -> Option<u64> {
        let ranges = self.0.as_deref()?;
        let size: u64 = ranges.iter().map(|range| range.last.0 - range.first.0 + 1).sum();
        let (first, last) = self.hull();
        ((last - first) as u64 <= size.saturating_mul(4).saturating_add(1_000)).then_some(size)
    }
}

/// A chunk with the weighted number of places of a term, and the weight of its best form there.
pub(super) type Find = (u64, (f64, f64));

/// One entry a chunk: the forms of a term may stand in the same one.
pub(super) fn merge(mut found: Vec<Find>) -> Vec<Find> {
    found.sort_unstable_by_key(|(id, _)| *id);
    found.dedup_by(|(id, (places, weight)), (kept, into)| {
        let same = id == kept;
        if same {
            *into = (into.0 + *places, into.1.max(*weight));
        }
        same
    });
    found
}

const ASCENDING: &str = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3";
const DESCENDING: &str = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3
     ORDER BY rowid DESC";

/// The index within the limits of one search.
#[derive(Clone, Copy)]
pub(super) struct Postings<'a> {
    pub(super) connection: &'a Connection,
    pub(super) shared: &'a Shared,
    pub(super) limits: &'a Limits,
}

impl Postings<'_> {
    /// Reads where a stem stands: by chunk, ascending.
    pub(super) fn places(&self, stem: &str, weight: f64) -> rusqlite::Result<Arc<Vec<Find>>> {
        self.shared.places(stem, weight, |added| {
            let mut found = Vec::new();
            each_chunk(self.connection, stem, added.unwrap_or(self.limits), |id, places| {
                found.push((id, (weight * places.weighted(), weight)));
            })?;
            Ok(found)
        })
    }

    /// The chunks in which forms of a term stand, without how often.
    pub(super) fn presence(&self, forms: &[Alternative]) -> rusqlite::Result<Vec<Find>> {
        let mut found = Vec::new();
        for form in forms {
            let chunks = self.chunks(&quoted(&form.stem))?;
            found.extend(chunks.iter().map(|id| (*id, (form.weight, form.weight))));
            let in_title = format!("title : {}", quoted(&form.stem));
            let titled = self.chunks(&in_title)?;
            found.extend(titled.iter().map(|id| (*id, (form.weight * FIELD_TITLE, form.weight))));
        }
        Ok(merge(found))
    }

    /// The chunks an expression matches, oldest first; other queries may have asked for them.
    pub(super) fn chunks(&self, expression: &str) -> rusqlite::Result<Arc<Vec<u64>>> {
        self.shared.chunks(expression, |added| {
            self.read(ASCENDING, expression, added.unwrap_or(self.limits), usize::MAX)
        })
    }

    /// The chunks an expression matches, oldest first.
    pub(super) fn all(&self, expression: &str) -> rusqlite::Result<Vec<u64>> {
        self.read(ASCENDING, expression, self.limits, usize::MAX)
    }

    /// The newest chunks an expression matches.
    pub(super) fn newest(&self, expression: &str, most: usize) -> rusqlite::Result<Vec<u64>> {
        self.read(DESCENDING, expression, self.limits, most)
    }

    fn read(
        &self,
        sql: &str,
        expression: &str,
        limits: &Limits,
        most: usize,
    ) -> rusqlite::Result<Vec<u64>> {
        let (first, last) = limits.hull();
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((expression, first, last))?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            let id = row.get::<_, i64>(0)? as u64;
            if limits.contain(id) {
                ids.push(id);
            }
            if ids.len() >= most {
                break;
            }
        }
        Ok(ids)
    }
}

/// Calls `each` with every chunk within limits in which a stem stands, oldest first, and how often it does.
fn each_chunk(
    connection: &Connection,
    stem: &str,
    limits: &Limits,
    mut each: impl FnMut(u64, Occurrences),
) -> rusqlite::Result<()> {
    let (first, last) = limits.hull();
    let mut statement = occurrences::prepare(
        connection,
        "SELECT rowid, occurrences(words) FROM words
         WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3",
    )?;
    let mut rows = statement.query((quoted(stem), first, last))?;
    while let Some(row) = rows.next()? {
        let id = row.get::<_, i64>(0)? as u64;
        if limits.contain(id) {
            each(id, Occurrences::unpack(row.get(1)?));
        }
    }
    Ok(())
}

/// How often a stem stands in some chunks.
pub(super) fn frequency_within(
    connection: &Connection,
    stem: &str,
    limits: &Limits,
) -> rusqlite::Result<Frequency> {
    let mut frequency = Frequency::default();
    each_chunk(connection, stem, limits, |_, places| {
        frequency = frequency.and(Frequency { chunks: 1, places: places.count() });
    })?;
    Ok(frequency)
}

/// A stem, or stems in a row, as an expression of the engine.
pub(super) fn quoted(stems: &str) -> String {
    format!("\"{}\"", stems.replace('"', ""))
}

/// Any of some stems as an expression.
pub(super) fn any<'a>(stems: impl Iterator<Item = &'a str>) -> String {
    stems.map(quoted).collect::<Vec<_>>().join(" OR ")
}
