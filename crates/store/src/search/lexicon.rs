//! The vocabulary: every word of the store as it is written, for typo repair and parts of words.
//!
//! Each transaction that indexes text leaves one list of its words; eight lists of a level are merged
//! into one of the next, sorted, by `upkeep` and outside of any transaction. So adding costs one row,
//! whatever the size of the store, and a search reads a few dozen rows once and afterwards only new ones.

use rusqlite::{Connection, OptionalExtension as _, Transaction};

/// Lists of one level before they become one list of the next.
const FANOUT: usize = 8;
/// Lists of one level that are merged by whoever adds the last one, where nobody did it before.
const CRISIS: i64 = 64;
/// Longer words are not repaired.
const MAX_BYTES: usize = 40;

/// Whether a token is a word somebody might misspell: letters, few digits, no hash.
pub(super) fn is_word(token: &str) -> bool {
    if !(3..=MAX_BYTES).contains(&token.len()) {
        return false;
    }
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    digits <= 3 && token.len() - digits >= 2 && !token.starts_with(|c: char| c.is_ascii_digit())
}

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
    insert(transaction, 0, words, counts)?;
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

fn insert(
    transaction: &Transaction<'_>,
    level: i64,
    words: &str,
    counts: Counts,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO word_lists(level, chunks, seen, seen_bytes, words)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((level, counts.chunks, counts.seen, counts.bytes, words))?;
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
        let mut delete = transaction.prepare_cached("DELETE FROM word_lists WHERE id = ?1")?;
        for id in &self.lists {
            if delete.execute([id])? == 0 {
                return Ok(false);
            }
        }
        insert(transaction, self.level + 1, &self.words, self.counts)?;
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
    newest: i64,
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

/// All words, by length in bytes: each bucket is its words one after the other, sorted. No pointers,
/// no lengths: half a megabyte for fifty thousand words, scanned in a fraction of a millisecond.
#[derive(Clone, Debug, Default)]
pub(super) struct Lexicon {
    state: State,
    buckets: Vec<Vec<u8>>,
}

impl Lexicon {
    /// These words.
    #[cfg(test)]
    pub(super) fn of(words: &[&str]) -> Self {
        let mut lexicon = Lexicon::default();
        lexicon.add(words.iter().copied());
        lexicon
    }

    /// The vocabulary in a state as new as that; nothing when it is this one.
    pub(super) fn renewed(
        &self,
        connection: &Connection,
        state: State,
    ) -> rusqlite::Result<Option<Self>> {
        let same = self.state.generation == state.generation;
        if same && self.state.newest >= state.newest {
            return Ok(None);
        }
        let mut lexicon = if same { self.clone() } else { Lexicon::default() };
        lexicon.read(connection)?;
        lexicon.state.generation = state.generation;
        Ok(Some(lexicon))
    }

    fn read(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection
            .prepare_cached("SELECT id, words FROM word_lists WHERE id > ?1 ORDER BY id")?;
        let lists = statement
            .query_map([self.state.newest], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        if let Some((newest, _)) = lists.last() {
            self.state.newest = *newest;
        }
        self.add(lists.iter().flat_map(|(_, list)| list.split('\n')));
        Ok(())
    }

    fn add<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        let mut added: Vec<Vec<&[u8]>> = vec![Vec::new(); MAX_BYTES + 1];
        for word in words {
            if let Some(bucket) = added.get_mut(word.len())
                && !word.is_empty()
            {
                bucket.push(word.as_bytes());
            }
        }
        self.buckets.resize(MAX_BYTES + 1, Vec::new());
        for (length, (bucket, mut new)) in self.buckets.iter_mut().zip(added).enumerate() {
            if length == 0 || new.is_empty() {
                continue;
            }
            new.sort_unstable();
            new.dedup();
            *bucket = merged(bucket, length, &new);
        }
    }

    /// The words of a length in bytes.
    pub(super) fn of_length(&self, length: usize) -> impl Iterator<Item = &str> {
        let bucket = self.buckets.get(length).map_or(&[][..], Vec::as_slice);
        bucket.chunks_exact(length.max(1)).filter_map(|word| std::str::from_utf8(word).ok())
    }

    /// Words that contain a part, shortest first, and not the part itself.
    pub(super) fn containing(&self, part: &str, limit: usize) -> Vec<&str> {
        let finder = memchr::memmem::Finder::new(part);
        let mut found: Vec<&str> = Vec::new();
        for (length, bucket) in self.buckets.iter().enumerate().skip(part.len() + 1) {
            for at in finder.find_iter(bucket) {
                let word = at / length;
                let inside = at % length + part.len() <= length;
                let text = bucket
                    .get(word * length..(word + 1) * length)
                    .and_then(|bytes| std::str::from_utf8(bytes).ok());
                match text {
                    Some(text) if inside && found.last() != Some(&text) => found.push(text),
                    _ => {}
                }
                if found.len() == limit {
                    return found;
                }
            }
        }
        found
    }
}

/// A sorted bucket with some sorted words more: what lies between two of them is copied in one piece.
fn merged(bucket: &[u8], length: usize, new: &[&[u8]]) -> Vec<u8> {
    let word = |at: usize| bucket.get(at * length..(at + 1) * length).unwrap_or_default();
    let count = bucket.len() / length;
    let mut all = Vec::with_capacity(bucket.len() + new.len() * length);
    let mut copied = 0;
    for added in new {
        let (mut low, mut high) = (copied, count);
        while low < high {
            let middle = low.midpoint(high);
            if word(middle) < *added {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        all.extend_from_slice(bucket.get(copied * length..low * length).unwrap_or_default());
        copied = low;
        if word(low) != *added {
            all.extend_from_slice(added);
        }
    }
    all.extend_from_slice(bucket.get(copied * length..).unwrap_or_default());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_each_word_once_and_sorted() {
        let mut lexicon = Lexicon::of(&["pear", "plum", "fig", "pear"]);
        lexicon.add(["kiwi", "plum", "fig"].into_iter());
        assert_eq!(lexicon.of_length(4).collect::<Vec<_>>(), ["kiwi", "pear", "plum"]);
        assert_eq!(lexicon.of_length(3).collect::<Vec<_>>(), ["fig"]);
        assert_eq!(lexicon.of_length(0).count(), 0);
        // Before, between, after, and again.
        lexicon.add(["zoom", "apes", "plum", "loom"].into_iter());
        let words = lexicon.of_length(4).collect::<Vec<_>>();
        assert_eq!(words, ["apes", "kiwi", "loom", "pear", "plum", "zoom"]);
    }

    #[test]
    fn parts_are_found_within_words_only() {
        let lexicon =
            Lexicon::of(&["deadlock", "padlocks", "blocked", "lock", "clock", "abclo", "cking"]);
        assert_eq!(lexicon.containing("lock", 9), ["clock", "blocked", "deadlock", "padlocks"]);
        assert_eq!(lexicon.containing("lock", 2), ["clock", "blocked"]);
        assert!(lexicon.containing("lockx", 9).is_empty());
    }

    #[test]
    fn hashes_and_numbers_are_no_words() {
        for word in ["config", "sha256", "utf8", "größe", "parsehumansize"] {
            assert!(is_word(word), "{word}");
        }
        for noise in ["ab", "12345", "3f9c0de", "a1b2c3d4e5", "0x", ""] {
            assert!(!is_word(noise), "{noise}");
        }
    }
}
