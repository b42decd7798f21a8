//! The vocabulary in the store: lists of words.
//!
//! Each transaction that indexes text leaves one list of its words; eight lists of a level are merged
//! into one of the next, sorted, by `upkeep` and outside of any transaction. A merged list has the number of
//! the newest of those in it, so that whoever knows them need not read it. So adding costs one row, whatever
//! the size of the store, and a search reads a few dozen rows once and afterwards only new ones.

use rusqlite::{Connection, OptionalExtension as _, Transaction};

/// Lists of one level before they become one list of the next.
const FANOUT: usize = 8;
/// Lists of one level that are merged by whoever adds the last one, where nobody did it before.
const CRISIS: i64 = 64;

/// What a row of the vocabulary adds to the number of chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Chunks that have full-text rows.
    pub(super) chunks: i64,
    /// Chunks that ever had.
    pub(super) seen: i64,
    /// Bytes of their text.
    pub(super) bytes: i64,
}

impl Counts {
    /// Chunks that had full-text rows and have none any more.
    pub(super) fn removed(&self) -> i64 {
        self.seen - self.chunks
    }
}

/// The sum of all counts.
pub(super) fn counts(connection: &Connection) -> rusqlite::Result<Counts> {
    connection
        .prepare_cached("SELECT sum(chunks), sum(seen), sum(seen_bytes) FROM word_lists")?
        .query_row((), |row| {
            let value = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.unwrap_or(0));
            Ok(Counts { chunks: value(0)?, seen: value(1)?, bytes: value(2)? })
        })
}

/// Writes words, a line each, and counts.
pub(super) fn write(
    transaction: &Transaction<'_>,
    words: &str,
    counts: Counts,
) -> rusqlite::Result<()> {
    if words.is_empty() && counts == Counts::default() {
        return Ok(());
    }
    insert(transaction, None, 0, words, counts)?;
    let mut level = 0;
    while count(transaction, level)? >= CRISIS {
        let ripe = Ripe::read(transaction, level)?;
        ripe.replace(transaction)?;
        level += 1;
    }
    Ok(())
}

fn count(connection: &Connection, level: i64) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT count(*) FROM word_lists WHERE level = ?1")?
        .query_row([level], |row| row.get(0))
}

/// `id`: the next one where there is none.
fn insert(
    transaction: &Transaction<'_>,
    id: Option<i64>,
    level: i64,
    words: &str,
    counts: Counts,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO word_lists(id, level, chunks, seen, seen_bytes, words)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((id, level, counts.chunks, counts.seen, counts.bytes, words))?;
    Ok(())
}

/// The lists of a full level, read and merged; not yet put in their place.
#[derive(Debug)]
pub(crate) struct Ripe {
    level: i64,
    lists: Vec<i64>,
    words: String,
    counts: Counts,
}

/// The lowest level with enough lists for one of the next, merged. Needs no transaction that writes.
pub(crate) fn ripe(connection: &Connection) -> rusqlite::Result<Option<Ripe>> {
    let level = connection
        .prepare_cached(
            "SELECT level FROM word_lists GROUP BY level HAVING count(*) >= ?1 ORDER BY level LIMIT 1",
        )?
        .query_row([FANOUT as i64], |row| row.get(0))
        .optional()?;
    level.map(|level| Ripe::read(connection, level)).transpose()
}

impl Ripe {
    fn read(connection: &Connection, level: i64) -> rusqlite::Result<Self> {
        let lists = connection
            .prepare_cached(
                "SELECT id, words, chunks, seen, seen_bytes FROM word_lists WHERE level = ?1",
            )?
            .query_map([level], |row| {
                let counts = Counts { chunks: row.get(2)?, seen: row.get(3)?, bytes: row.get(4)? };
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, counts))
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let mut counts = Counts::default();
        let mut words: Vec<&str> = Vec::new();
        for (_, list, own) in &lists {
            words.extend(list.split('\n').filter(|word| !word.is_empty()));
            counts.chunks += own.chunks;
            counts.seen += own.seen;
            counts.bytes += own.bytes;
        }
        words.sort_unstable();
        words.dedup();
        let words = words.join("\n");
        Ok(Ripe { level, lists: lists.into_iter().map(|(id, ..)| id).collect(), words, counts })
    }

    /// Puts the merged list in the place of the others. `false`: one of them is gone (somebody merged or
    /// purged meanwhile), and the transaction must be undone.
    pub(crate) fn replace(&self, transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
        let mut delete =
            transaction.prepare_cached("DELETE FROM word_lists WHERE id = ?1 AND level = ?2")?;
        for id in &self.lists {
            if delete.execute((id, self.level))? == 0 {
                return Ok(false);
            }
        }
        let newest = self.lists.iter().max().copied();
        insert(transaction, newest, self.level + 1, &self.words, self.counts)?;
        Ok(true)
    }
}

/// The newest list. Each transaction that adds or removes rows makes a newer one.
pub(super) fn newest(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(id), 0) FROM word_lists")?
        .query_row((), |row| row.get(0))
}

/// Which full-text rows there are, by two numbers: no two states of a store have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Another one when the vocabulary was made anew.
    generation: i64,
    pub(super) newest: i64,
}

impl State {
    /// Whether one state is the other or came after it.
    pub(super) fn is_at_least(self, other: State) -> bool {
        self.same_generation(other) && self.newest >= other.newest
    }

    /// Whether no vocabulary was made anew between the two.
    pub(super) fn same_generation(self, other: State) -> bool {
        self.generation == other.generation
    }
}

/// The state as the connection sees it now.
pub(super) fn state(connection: &Connection) -> rusqlite::Result<State> {
    let newest = newest(connection)?;
    let generation = connection
        .prepare_cached("SELECT generation FROM word_state")?
        .query_row((), |row| row.get(0))
        .optional()?;
    Ok(State { generation: generation.unwrap_or(0), newest })
}
