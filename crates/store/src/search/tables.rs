//! The full-text tables: made, filled, emptied, purged.

use rusqlite::Transaction;

use super::expand::Expander;
use super::lexicon;
use super::types::{ChunkTexts, IndexRow};
use crate::Result;
use crate::ids::ChunkId;

/// The tables of full-text search. `words` holds no text: rows are found by it, read elsewhere.
/// It gets words that are expanded and stemmed already (`expand`): ASCII punctuation between them is
/// all its tokenizer needs to know. `word_state` counts live chunks, and all chunks there ever were
/// with their bytes, for the length of an average one. `word_rows` and `word_places` are views of its index; `word_lists` is the vocabulary.
pub(crate) const SCHEMA: &str = "
CREATE VIRTUAL TABLE words USING fts5(title, body, path, content='', contentless_delete=1,
    tokenize='ascii');
CREATE VIRTUAL TABLE word_rows USING fts5vocab(words, row);
CREATE VIRTUAL TABLE word_places USING fts5vocab(words, instance);
CREATE TABLE word_lists(id INTEGER PRIMARY KEY AUTOINCREMENT, level INTEGER NOT NULL,
    words TEXT NOT NULL);
CREATE TABLE word_state(id INTEGER PRIMARY KEY CHECK (id = 1), generation INTEGER NOT NULL,
    chunks INTEGER NOT NULL, seen INTEGER NOT NULL, seen_bytes INTEGER NOT NULL);
INSERT INTO word_state VALUES (1, random(), 0, 0, 0);
INSERT INTO words(words, rank) VALUES ('automerge', 8);
";

/// Adds the full-text rows of chunks, in ascending order of number.
pub(crate) fn index(transaction: &Transaction<'_>, rows: &[IndexRow<'_>]) -> rusqlite::Result<()> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO words(rowid, title, body, path) VALUES (?1, ?2, ?3, ?4)")?;
    let mut expander = Expander::default();
    let [mut title, mut body, mut path] = [const { String::new() }; 3];
    let mut last_path = None;
    for row in rows {
        expander.expand(row.title, &mut title);
        expander.expand(row.body, &mut body);
        if last_path != Some(row.path) {
            expander.expand(row.path, &mut path);
            last_path = Some(row.path);
        }
        insert.execute((row.id as i64, &title, &body, &path))?;
    }
    let bytes: usize = rows.iter().map(|row| row.body.len()).sum();
    transaction
        .prepare_cached(
            "UPDATE word_state SET chunks = chunks + ?1, seen = seen + ?1, seen_bytes = seen_bytes + ?2",
        )?
        .execute((rows.len() as i64, bytes as i64))?;
    lexicon::write(transaction, expander.words())
}

/// Removes the full-text rows of the chunks `first..=last`; numbers without a row are legal.
pub(crate) fn unindex(
    transaction: &Transaction<'_>,
    first: u64,
    last: u64,
) -> rusqlite::Result<()> {
    let removed = transaction
        .prepare_cached("DELETE FROM words WHERE rowid BETWEEN ?1 AND ?2")?
        .execute((first as i64, last as i64))?;
    transaction
        .prepare_cached("UPDATE word_state SET chunks = max(chunks - ?1, 0)")?
        .execute([removed as i64])?;
    Ok(())
}

/// Leaves no trace of removed words in the full-text tables: merges the index, which drops the
/// entries of removed rows, and makes the vocabulary anew from the text that is left.
pub(crate) fn purge_terms(transaction: &Transaction<'_>, texts: &dyn ChunkTexts) -> Result<()> {
    transaction.execute("INSERT INTO words(words) VALUES ('optimize')", ())?;
    transaction.execute("DELETE FROM word_lists", ())?;
    transaction.execute("UPDATE word_state SET generation = random()", ())?;
    let ids = transaction
        .prepare("SELECT id FROM words_docsize ORDER BY id")?
        .query_map((), |row| row.get::<_, i64>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
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
        lexicon::write(transaction, expander.words())?;
    }
    Ok(())
}
