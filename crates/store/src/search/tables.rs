//! The full-text tables: made, filled, emptied, purged.

use rusqlite::Transaction;

use super::expand::Expander;
use super::lexicon::{self, Counts};
use super::types::{ChunkTexts, IndexRow};
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

/// Up to as many rows are removed one by one.
const FEW: u64 = 256;

/// Adds the full-text rows of chunks, in ascending order of number.
///
/// Only single rows are inserted here: any statement that may have to be undone in part would make
/// the engine write out its part of the index, and so many small documents in one transaction would
/// cost several times as much.
pub(crate) fn index(transaction: &Transaction<'_>, rows: &[IndexRow<'_>]) -> rusqlite::Result<()> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO words(rowid, title, body, path) VALUES (?1, ?2, ?3, ?4)")?;
    let mut expander = Expander::default();
    let [mut title, mut body, mut path] = [const { String::new() }; 3];
    let mut last_path = None;
    let mut bytes = 0;
    for row in rows {
        expander.expand(row.title, &mut title);
        expander.expand(row.body, &mut body);
        if last_path != Some(row.path) {
            expander.expand(row.path, &mut path);
            last_path = Some(row.path);
        }
        insert.execute((row.id as i64, &title, &body, &path))?;
        bytes += row.body.len() as i64;
    }
    let chunks = rows.len() as i64;
    lexicon::write(transaction, expander.words(), Counts { chunks, seen: chunks, bytes })
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
    lexicon::write(transaction, Vec::new(), counts)
}

/// Leaves no trace of removed words in the full-text tables: merges the index, which drops the
/// entries of removed rows, and makes the vocabulary anew from the text that is left.
pub(crate) fn purge_terms(transaction: &Transaction<'_>, texts: &dyn ChunkTexts) -> Result<()> {
    transaction.execute("INSERT INTO words(words) VALUES ('optimize')", ())?;
    let all = lexicon::counts(transaction)?;
    transaction.execute("DELETE FROM word_lists", ())?;
    transaction.execute("UPDATE word_state SET generation = random()", ())?;
    let ids = transaction
        .prepare("SELECT id FROM words_docsize ORDER BY id")?
        .query_map((), |row| row.get::<_, i64>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    lexicon::write(transaction, Vec::new(), all)?;
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
            }
        }
        lexicon::write(transaction, expander.words(), Counts::default())?;
    }
    Ok(())
}
