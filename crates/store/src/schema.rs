//! The tables of a store, version by version: one row of [`MIGRATIONS`] each.

use std::ops::RangeInclusive;

use rusqlite::Transaction;

use crate::search;

/// Marks a file as ours: `QCst`.
pub(crate) const APPLICATION: i64 = 0x5143_7374;

/// The newest version this program reads and writes.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// The versions that can be read as they are, where nothing can be written: their tables are the same.
pub(crate) const READABLE: RangeInclusive<i64> = 1..=VERSION;

/// What turns version `index` into `index + 1`.
const MIGRATIONS: &[fn(&Transaction<'_>) -> rusqlite::Result<()>] = &[first, second];

/// Brings the tables from `version` to [`VERSION`].
pub(crate) fn migrate(transaction: &Transaction<'_>, version: i64) -> rusqlite::Result<()> {
    for step in MIGRATIONS.iter().skip(version.max(0) as usize) {
        step(transaction)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)
}

fn first(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(CORE)?;
    transaction.execute_batch(search::SCHEMA)
}

fn second(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(search::PACE)
}

/// - `counters`: what number comes next: `chunk`, `document`, and one row a family of labels.
/// - `documents`: `state` see [`crate::row::State`]; `first` to `last` are its chunk numbers (NULL:
///   none), `reserved` the end of the span held for it while it is written; the captured bytes
///   equal the view up to byte `raw_from`, and from there on lie in `raws` when `flags` say so;
///   `owner` is the lease of the process that writes it.
/// - `labels`: many for one document; path, stamp, outcome and age belong to the label.
/// - `blocks`: the text; see [`crate::block`]. `open`: the last chunk may still grow.
/// - `raws`: parts of captured bytes; the key is document × 65,536 + part.
/// - `tombstones`: what became of numbers that lead nowhere now; `by_first`: of what replaced them.
/// - `pending`: chunks `next` to `last` have no full-text rows yet.
const CORE: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (family TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,
    digest BLOB,
    kind TEXT NOT NULL,
    first INTEGER,
    last INTEGER,
    reserved INTEGER,
    bytes INTEGER NOT NULL,
    view_bytes INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    encoding TEXT,
    flags INTEGER NOT NULL,
    raw_from INTEGER NOT NULL,
    owner TEXT,
    created INTEGER NOT NULL
);
CREATE INDEX documents_digest ON documents (digest) WHERE digest IS NOT NULL;
CREATE INDEX documents_state ON documents (state) WHERE state <> 1;
CREATE TABLE labels (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    label TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    path TEXT,
    stamp BLOB,
    outcome TEXT,
    used INTEGER NOT NULL
);
CREATE INDEX labels_document ON labels (document);
CREATE INDEX labels_path ON labels (path) WHERE path IS NOT NULL;
CREATE INDEX labels_age ON labels (used) WHERE origin IN (0, 3);
CREATE TABLE blocks (
    first INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    count INTEGER NOT NULL,
    start INTEGER NOT NULL,
    line INTEGER NOT NULL,
    open INTEGER NOT NULL,
    heads BLOB NOT NULL,
    text BLOB NOT NULL
);
CREATE TABLE raws (id INTEGER PRIMARY KEY, length INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE tombstones (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    reason INTEGER NOT NULL,
    by_first INTEGER
);
CREATE TABLE pending (
    document INTEGER PRIMARY KEY,
    next INTEGER NOT NULL,
    last INTEGER NOT NULL,
    owner TEXT
);
CREATE TABLE pages (
    url TEXT PRIMARY KEY,
    final_url TEXT NOT NULL,
    etag TEXT,
    last_modified TEXT,
    fetched INTEGER NOT NULL,
    document INTEGER NOT NULL,
    content_type TEXT NOT NULL
);
CREATE INDEX pages_document ON pages (document);
";

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// All tables and indexes, as their statements.
    fn tables(connection: &Connection) -> Vec<(String, Option<String>)> {
        let mut statement =
            connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn every_earlier_version_becomes_the_newest() {
        let made_from = |version: i64| {
            let mut connection = Connection::open_in_memory().unwrap();
            let transaction = connection.transaction().unwrap();
            for step in MIGRATIONS.iter().take(version as usize) {
                step(&transaction).unwrap();
            }
            transaction.pragma_update(None, "user_version", version).unwrap();
            migrate(&transaction, version).unwrap();
            transaction.commit().unwrap();
            let found: i64 =
                connection.query_row("PRAGMA user_version", (), |row| row.get(0)).unwrap();
            assert_eq!(found, VERSION);
            let merging = "SELECT v FROM words_config WHERE k = 'automerge'";
            let merging: i64 = connection.query_row(merging, (), |row| row.get(0)).unwrap();
            assert_eq!(merging, 0, "from version {version}");
            tables(&connection)
        };
        let newest = made_from(VERSION);
        assert!(newest.iter().any(|(name, _)| name == "documents"), "{newest:?}");
        for version in 0..VERSION {
            assert_eq!(made_from(version), newest, "from version {version}");
        }
    }
}
