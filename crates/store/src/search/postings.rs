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
use crate::ids::ChunkRange;

/// Chunk numbers a search is limited to, ascending; `None` is all.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits(pub(super) Option<Vec<ChunkRange>>);

impl Limits {
    pub(super) fn contain(&self, id: u64) -> bool {
        let Some(ranges) = &self.0 else { return true };
        let at = ranges.partition_point(|range| range.last.0 < id);
        ranges.get(at).is_some_and(|range| range.first.0 <= id)
    }

    /// The numbers between which all of it lies.
    fn hull(&self) -> (i64, i64) {
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
        self.shared.places(stem, weight, || self.read_places(stem, weight))
    }

    fn read_places(&self, stem: &str, weight: f64) -> rusqlite::Result<Vec<Find>> {
        let (first, last) = self.limits.hull();
        let mut statement = occurrences::prepare(
            self.connection,
            "SELECT rowid, occurrences(words) FROM words
             WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3",
        )?;
        let mut rows = statement.query((quoted(stem), first, last))?;
        let mut found: Vec<Find> = Vec::new();
        while let Some(row) = rows.next()? {
            let id = row.get::<_, i64>(0)? as u64;
            if self.limits.contain(id) {
                let places = Occurrences::unpack(row.get(1)?).places();
                found.push((id, (weight * places, weight)));
            }
        }
        Ok(found)
    }

    /// The chunks in which forms of a term stand, without how often.
    pub(super) fn presence(&self, forms: &[Alternative]) -> rusqlite::Result<Vec<Find>> {
        let mut found = Vec::new();
        for form in forms {
            let chunks = self.chunks(&form.stem)?;
            found.extend(chunks.iter().map(|id| (*id, (form.weight, form.weight))));
            let in_title = format!("title : {}", quoted(&form.stem));
            let titled = self.shared.chunks(&in_title, || self.all(&in_title))?;
            found.extend(titled.iter().map(|id| (*id, (form.weight * FIELD_TITLE, form.weight))));
        }
        Ok(merge(found))
    }

    /// The chunks in which a stem stands, oldest first.
    pub(super) fn chunks(&self, stem: &str) -> rusqlite::Result<Arc<Vec<u64>>> {
        let expression = quoted(stem);
        self.shared.chunks(&expression, || self.all(&expression))
    }

    /// The chunks an expression matches, oldest first.
    pub(super) fn all(&self, expression: &str) -> rusqlite::Result<Vec<u64>> {
        self.read(
            "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3",
            expression,
            usize::MAX,
        )
    }

    /// The newest chunks an expression matches.
    pub(super) fn newest(&self, expression: &str, most: usize) -> rusqlite::Result<Vec<u64>> {
        self.read(
            "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3
             ORDER BY rowid DESC",
            expression,
            most,
        )
    }

    fn read(&self, sql: &str, expression: &str, most: usize) -> rusqlite::Result<Vec<u64>> {
        let (first, last) = self.limits.hull();
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((expression, first, last))?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            let id = row.get::<_, i64>(0)? as u64;
            if self.limits.contain(id) {
                ids.push(id);
            }
            if ids.len() >= most {
                break;
            }
        }
        Ok(ids)
    }
}

/// A stem, or stems in a row, as an expression of the engine.
pub(super) fn quoted(stems: &str) -> String {
    format!("\"{}\"", stems.replace('"', ""))
}

/// Any of some stems as an expression.
pub(super) fn any<'a>(stems: impl Iterator<Item = &'a str>) -> String {
    stems.map(quoted).collect::<Vec<_>>().join(" OR ")
}
