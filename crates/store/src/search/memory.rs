//! What searches of one store keep between calls: the vocabulary, and what the index said of words.

use std::sync::{Arc, Mutex};

use rusqlite::{Connection, OptionalExtension as _};

use super::lexicon::Lexicon;
use super::postings::Limits;
use super::shared::Shared;
use super::word_lists::{Counts, counts, state};
use crate::ids::{ChunkId, ChunkRange};
use crate::pool::lock;

/// Rows by which the index may have grown between two searches before all of it is asked again.
const GROWTH: i64 = 20_000;

/// Belongs to whoever owns the store's connections.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    lexicon: Mutex<Arc<Lexicon>>,
    index: Mutex<Option<Index>>,
}

/// What is known of the index.
#[derive(Debug)]
struct Index {
    /// Where rows may come: chunks that waited for theirs, and those behind all others.
    open: Limits,
    shared: Arc<Shared>,
}

impl Memory {
    /// Gives its memory back.
    pub(crate) fn rest(&self) {
        *lock(&self.lexicon) = Arc::default();
        *lock(&self.index) = None;
    }

    /// The vocabulary as the connection sees it now.
    pub(super) fn lexicon(&self, connection: &Connection) -> rusqlite::Result<Arc<Lexicon>> {
        let known = Arc::clone(&lock(&self.lexicon));
        let Some(fresh) = known.renewed(connection, state(connection)?)? else { return Ok(known) };
        let fresh = Arc::new(fresh);
        *lock(&self.lexicon) = Arc::clone(&fresh);
        Ok(fresh)
    }

    /// Answers of the index about everything; `pending` are chunks without rows. What is known stays known
    /// when rows were added and none removed.
    pub(super) fn shared(
        &self,
        connection: &Connection,
        pending: &[ChunkRange],
    ) -> rusqlite::Result<Arc<Shared>> {
        let state = state(connection)?;
        let mut kept = lock(&self.index);
        if let Some(index) = kept.as_ref()
            && index.shared.state == state
        {
            return Ok(Arc::clone(&index.shared));
        }
        let counts = counts(connection)?;
        // What an older state answers must not be taken for an answer of the newer one.
        if let Some(index) = kept.as_ref()
            && index.shared.state.is_at_least(state)
        {
            return Ok(Arc::new(Shared::new(state, counts)));
        }
        let added = match kept.as_ref() {
            Some(index) if index.shared.state.same_generation(state) => {
                index.added(connection, counts)?
            }
            _ => None,
        };
        let shared = match (kept.as_ref(), added) {
            (Some(index), Some(added)) => index.shared.grown(state, counts, added),
            _ => Shared::new(state, counts),
        };
        let shared = Arc::new(shared);
        let open = open(connection, pending)?;
        *kept = Some(Index { open, shared: Arc::clone(&shared) });
        Ok(shared)
    }
}

impl Index {
    /// The chunks that got rows since, where nothing else happened: none was removed, and all that were added
    /// are where rows might come.
    fn added(
        &self,
        connection: &Connection,
        now: Counts,
    ) -> rusqlite::Result<Option<Vec<ChunkRange>>> {
        let before = self.shared.counts;
        let more = now.chunks - before.chunks;
        if before.removed() != now.removed() || !(0..=GROWTH).contains(&more) {
            return Ok(None);
        }
        let mut statement = connection.prepare_cached(
            "SELECT count(*), min(id), max(id) FROM words_docsize WHERE id BETWEEN ?1 AND ?2",
        )?;
        let (mut found, mut added) = (0, Vec::new());
        for range in self.open.0.iter().flatten() {
            let (rows, first, last): (i64, Option<i64>, Option<i64>) = statement
                .query_row((range.first.0 as i64, range.last.0 as i64), |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?;
            found += rows;
            if let (Some(first), Some(last)) = (first, last) {
                added.push(ChunkRange { first: ChunkId(first as u64), last: ChunkId(last as u64) });
            }
        }
        Ok((found == more).then_some(added))
    }
}

/// Where rows may come next.
fn open(connection: &Connection, pending: &[ChunkRange]) -> rusqlite::Result<Limits> {
    let newest = connection
        .prepare_cached("SELECT id FROM words_docsize ORDER BY id DESC LIMIT 1")?
        .query_row((), |row| row.get::<_, i64>(0))
        .optional()?;
    let behind = ChunkId(newest.map_or(0, |newest| newest as u64 + 1));
    let behind = ChunkRange { first: behind, last: ChunkId(i64::MAX as u64) };
    Ok(Limits::of(pending.iter().copied().chain([behind]).collect()))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::core::Core;
    use crate::document::{Label, NewDocument, Origin};
    use crate::store::Purge;

    /// Text of common and rare words.
    fn text(seed: u64, words: u64) -> String {
        let word = |at: u64| {
            let number = (seed * 7_919 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            match number % 5 {
                0 => String::from("common"),
                1 => format!("often{}", (b'a' + (number % 7) as u8) as char),
                2 => format!("rare{}", number % 1_000),
                3 => format!("seed{seed}"),
                _ => String::from("and\n"),
            }
        };
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_kept_answers_as_what_is_asked_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (core, other) = (Core::beneath(folder.path()), Core::beneath(folder.path()));
        let answers = |core: &Core| {
            ["common", "oftena rare7", "common oftenb", "\"common and\"", "seed7", "raer12", "path"]
                .map(|text| format!("{:?}", core.found(text, 9)))
        };
        let known =
            |core: &Core| lock(&core.memory.index).as_ref().map(|index| index.shared.known_since());
        let (mut grown, mut anew) = (0, 0);
        for step in 0..45_u64 {
            let before = known(&core);
            let label = format!("path/{}", step % 23);
            let new = NewDocument::new(Label::Fixed(&label), Origin::Content);
            match step % 9 {
                // Much waits; some of it gets its rows, later ones first.
                0 => drop(other.add(&new, &mut text(step, 12_000).as_bytes(), None).unwrap()),
                1 => drop(other.finish_pending(None, Instant::now() + Duration::from_millis(9))),
                2 => while other.upkeep().unwrap() {},
                5 => drop(other.purge(Purge::Source(&label)).unwrap()),
                8 => while !other.finish_pending(None, Instant::now() + GENEROUS).unwrap() {},
                _ => drop(other.add(&new, &mut text(step, 300).as_bytes(), None).unwrap()),
            }
            other.memory.rest();
            let expected = answers(&other);
            assert_eq!(answers(&core), expected, "after step {step}");
            match (before, known(&core)) {
                (Some((of, since)), Some((now, until))) if of == now => {
                    grown += usize::from(until > since);
                }
                _ => anew += 1,
            }
        }
        assert!(grown > 15 && anew > 3, "{grown} {anew}");
        core.background.stop();
        other.background.stop();
    }

    #[test]
    fn a_reader_of_an_older_state_answers_for_itself_only() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        let add = |label: &str| {
            let new = NewDocument::new(Label::Fixed(label), Origin::Content);
            core.add(&new, &mut format!("wombat {label}").as_bytes(), None).unwrap();
        };
        let memory = Memory::default();
        let found = |shared: &Shared, connection: &Connection| {
            let ask = |limits: Option<&Limits>| {
                let (first, last) = limits.map_or((0, i64::MAX), Limits::hull);
                let rows = "SELECT count(*) FROM words WHERE words MATCH 'wombat' AND rowid BETWEEN ?1 AND ?2";
                let chunks =
                    connection.query_row(rows, (first, last), |row| row.get::<_, i64>(0))?;
                Ok(super::super::statistics::Frequency { chunks: chunks as u64, places: 0 })
            };
            shared.frequency("wombat", ask).unwrap().chunks
        };
        add("one");
        core.pool
            .read(|older| {
                assert_eq!(found(&memory.shared(older, &[]).unwrap(), older), 1);
                add("two");
                core.pool.read(|newer| {
                    let before = memory.shared(newer, &[]).unwrap();
                    assert_eq!(found(&memory.shared(older, &[]).unwrap(), older), 1);
                    assert_eq!(found(&before, newer), 2);
                    Ok(())
                })
            })
            .unwrap();
        core.background.stop();
    }

    const GENEROUS: Duration = Duration::from_mins(1);
}
