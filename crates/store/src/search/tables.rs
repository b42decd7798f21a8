//! The full-text tables: made, filled, emptied, purged.

use rusqlite::{Connection, Transaction};

use super::expand::Expander;
use super::types::ChunkTexts;
use super::word_lists::{self, Counts};
use crate::Result;
use crate::ids::ChunkId;

/// The tables of full-text search. `words` holds no text: rows are found by it, read elsewhere.
/// It gets words that are expanded and stemmed already (`expand`): ASCII punctuation between them is
/// all its tokenizer needs to know. `word_rows` and `word_places` are views of its index;
/// `word_lists` is the vocabulary, and its rows add up to the number of chunks. `word_state` tells
/// whether what a process remembers of the vocabulary is still true.
pub(crate) const SCHEMA: &str = "
CREATE VIRTUAL TABLE words USING fts5(title, body, path, content='', contentless_delete=1,
    tokenize='ascii');
INSERT INTO words(words, rank) VALUES ('automerge', 8);
CREATE VIRTUAL TABLE word_rows USING fts5vocab(words, row);
CREATE VIRTUAL TABLE word_places USING fts5vocab(words, instance);
CREATE TABLE word_lists(id INTEGER PRIMARY KEY AUTOINCREMENT, level INTEGER, chunks INTEGER,
    seen INTEGER, seen_bytes INTEGER, words TEXT);
CREATE TABLE word_state(generation INTEGER);
INSERT INTO word_state VALUES (random());
";

/// Merging is not done by whoever commits, which took up to ten times as long as the commit itself, but
/// by `upkeep`, in steps: of eight parts of the index at a time. Where nobody gets to it, parts are
/// merged when there are 64 of them.
pub(crate) const PACE: &str = "
INSERT INTO words(words, rank) VALUES ('automerge', 0);
INSERT INTO words(words, rank) VALUES ('usermerge', 8);
INSERT INTO words(words, rank) VALUES ('crisismerge', 64);
";

/// Pages written by one step of merging: a few milliseconds.
const MERGED_PAGES: i64 = 48;

/// Up to as many rows are removed one by one.
const FEW: u64 = 256;

/// The full-text rows of consecutive chunks, made ready before any transaction.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Titles and texts, expanded, one after the other.
    expanded: String,
    /// By chunk: where in there its title ends, and its text.
    ends: Vec<(usize, usize)>,
    /// Bytes of the texts.
    bytes: usize,
    /// Words that are new to the expander.
    words: String,
}

impl Rows {
    /// Rows for titles and texts.
    pub(crate) fn new<'a>(
        expander: &mut Expander,
        chunks: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut rows = Rows::default();
        for (title, text) in chunks {
            expander.expand(title, &mut rows.expanded);
            let title_end = rows.expanded.len();
            expander.expand(text, &mut rows.expanded);
            rows.ends.push((title_end, rows.expanded.len()));
            rows.bytes += text.len();
        }
        rows.words = expander.new_words();
        rows
    }

    /// The number of chunks.
    pub(crate) fn len(&self) -> u64 {
        self.ends.len() as u64
    }
}

/// Adds full-text rows: of each item the first chunk, the rows, and the path of the document, else
/// its label.
///
/// Only single rows are inserted here: any statement that may have to be undone in part would make
/// the engine write out its part of the index, and so many small documents in one transaction would
/// cost several times as much.
pub(crate) fn index<'a>(
    transaction: &Transaction<'_>,
    documents: impl IntoIterator<Item = (u64, &'a Rows, &'a str)>,
) -> rusqlite::Result<()> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO words(rowid, title, body, path) VALUES (?1, ?2, ?3, ?4)")?;
    let mut expander = Expander::default();
    let mut words = String::new();
    let mut path = String::new();
    let mut counts = Counts::default();
    for (first, rows, found_under) in documents {
        path.clear();
        expander.expand(found_under, &mut path);
        let mut start = 0;
        for (id, (title_end, end)) in (first..).zip(&rows.ends) {
            let title = rows.expanded.get(start..*title_end).unwrap_or_default();
            let text = rows.expanded.get(*title_end..*end).unwrap_or_default();
            insert.execute((id as i64, title, text, &path))?;
            start = *end;
        }
        words.push_str(&rows.words);
        counts.chunks += rows.len() as i64;
        counts.bytes += rows.bytes as i64;
    }
    words.push_str(&expander.new_words());
    counts.seen = counts.chunks;
    word_lists::write(transaction, &words, counts)
}

/// Removes the full-text rows of the chunks `first..=last`; numbers without a row are legal.
pub(crate) fn unindex(
    transaction: &Transaction<'_>,
    first: u64,
    last: u64,
) -> rusqlite::Result<()> {
    let mut removed = 0;
    if last.saturating_sub(first) < FEW {
        let mut delete = transaction.prepare_cached("DELETE FROM words WHERE rowid = ?1")?;
        for id in first..=last {
            removed += delete.execute([id as i64])?;
        }
    } else {
        removed = transaction
            .prepare_cached("DELETE FROM words WHERE rowid BETWEEN ?1 AND ?2")?
            .execute((first as i64, last as i64))?;
    }
    let counts = Counts { chunks: -(removed as i64), ..Counts::default() };
    word_lists::write(transaction, "", counts)
}

/// The vocabulary made anew from the text that is there.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// The newest list when the text was read.
    newest: i64,
    lists: Vec<String>,
}

impl Vocabulary {
    /// Reads all text: about 100 ms for a megabyte. Needs no transaction that writes.
    pub(crate) fn read(connection: &Connection, texts: &dyn ChunkTexts) -> Result<Self> {
        let newest = word_lists::newest(connection)?;
        let ids = connection
            .prepare("SELECT id FROM words_docsize ORDER BY id")?
            .query_map((), |row| row.get::<_, i64>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let mut lists = Vec::new();
        let mut ignored = String::new();
        let mut last_document = None;
        for batch in ids.chunks(1_000) {
            let mut expander = Expander::default();
            for id in batch {
                if let Some(chunk) = texts.chunk(ChunkId(*id as u64))? {
                    expander.expand(chunk.title(), &mut ignored);
                    expander.expand(chunk.body(), &mut ignored);
                    if last_document != Some(chunk.document())
                        && let Some(document) = texts.document(chunk.document())?
                    {
                        let path = document.path.as_deref().unwrap_or(&document.label);
                        expander.expand(path, &mut ignored);
                    }
                    last_document = Some(chunk.document());
                    ignored.clear();
                }
            }
            lists.push(expander.new_words());
        }
        Ok(Vocabulary { newest, lists })
    }

    /// Puts it in the place of the one in the store. `false`: text was added or removed since it was read,
    /// and nothing is changed.
    pub(crate) fn replace(&self, transaction: &Transaction<'_>) -> Result<bool> {
        if word_lists::newest(transaction)? != self.newest {
            return Ok(false);
        }
        let all = word_lists::counts(transaction)?;
        transaction.execute("DELETE FROM word_lists", ())?;
        transaction.execute("UPDATE word_state SET generation = random()", ())?;
        word_lists::write(transaction, "", all)?;
        for list in &self.lists {
            word_lists::write(transaction, list, Counts::default())?;
        }
        Ok(true)
    }
}

/// One step of merging the whole index, which drops the entries of removed rows: `false` when all is
/// merged. The first step begins it.
pub(crate) fn merge_step(transaction: &Transaction<'_>, first: bool) -> rusqlite::Result<bool> {
    merge(transaction, if first { -MERGED_PAGES } else { MERGED_PAGES })
}

/// One step of merging parts of the index where there are eight of a size: `false` when there is nothing
/// to merge.
pub(crate) fn merge_some(transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
    merge(transaction, MERGED_PAGES)
}

fn merge(transaction: &Transaction<'_>, pages: i64) -> rusqlite::Result<bool> {
    let before = transaction.total_changes();
    transaction
        .prepare_cached("INSERT INTO words(words, rank) VALUES ('merge', ?1)")?
        .execute([pages])?;
    Ok(transaction.total_changes() - before >= 2)
}

/// Merges what is left to merge: nothing, unless somebody wrote since the last step.
pub(crate) fn merge_all(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute("INSERT INTO words(words) VALUES ('optimize')", ()).map(drop)
}
