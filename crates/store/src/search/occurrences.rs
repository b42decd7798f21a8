//! A function of the index, `occurrences(words)`: how often the stem that is asked for stands in each column
//! of a row. The engine itself would say where each one stands, as a row of its own, which takes four times
//! as long for a word that stands six times in each chunk.

use std::ffi::{c_int, c_void};
use std::ptr;

use rusqlite::types::ToSqlOutput;
use rusqlite::{CachedStatement, Connection, ffi};

use super::rank::{FIELD_PATH, FIELD_TITLE};

/// Bits of each count: no text that is searched has more words.
const BITS: u32 = 20;
const MOST: i64 = (1 << BITS) - 1;

/// How often a stem stands in title, text and path.
pub(super) struct Occurrences(i64);

impl Occurrences {
    /// What the function answered.
    pub(super) fn unpack(packed: i64) -> Self {
        Occurrences(packed)
    }

    fn in_column(&self, column: u32) -> i64 {
        self.0 >> (column * BITS) & MOST
    }

    /// All of them.
    pub(super) fn count(&self) -> u64 {
        (0..3).map(|column| self.in_column(column) as u64).sum()
    }

    /// What they are worth together; a title that says it twice says no more.
    pub(super) fn weighted(&self) -> f64 {
        FIELD_TITLE * self.in_column(0).min(1) as f64
            + self.in_column(1) as f64
            + FIELD_PATH * self.in_column(2) as f64
    }
}

/// Prepares a statement that uses the function. A connection learns it with the first one: most never search.
pub(super) fn prepare<'c>(
    connection: &'c Connection,
    sql: &str,
) -> rusqlite::Result<CachedStatement<'c>> {
    connection.prepare_cached(sql).or_else(|_unknown| {
        register(connection)?;
        connection.prepare_cached(sql)
    })
}

/// Makes the function known to a connection.
fn register(connection: &Connection) -> rusqlite::Result<()> {
    let mut api: *mut ffi::fts5_api = ptr::null_mut();
    let slot =
        ToSqlOutput::Pointer((ptr::from_mut(&mut api).cast::<c_void>(), c"fts5_api_ptr", None));
    connection.query_row("SELECT fts5(?1)", [slot], |_| Ok(()))?;
    #[expect(unsafe_code, reason = "the engine's only way to add a function to the index")]
    // SAFETY: `api` is the engine's own and lives as long as the connection, which keeps the function; its
    // name is a constant, and it needs no data.
    let code = unsafe {
        let create = api.as_ref().and_then(|api| api.xCreateFunction);
        create.map_or(ffi::SQLITE_ERROR, |create| {
            let name = c"occurrences".as_ptr();
            create(api, name, ptr::null_mut(), Some(occurrences), None)
        })
    };
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
}

/// Counts the first phrase of the expression in the row at hand.
#[expect(unsafe_code, reason = "called by the engine")]
unsafe extern "C" fn occurrences(
    api: *const ffi::Fts5ExtensionApi,
    row: *mut ffi::Fts5Context,
    answer: *mut ffi::sqlite3_context,
    _: c_int,
    _: *mut *mut ffi::sqlite3_value,
) {
    let mut places = ffi::Fts5PhraseIter { a: ptr::null(), b: ptr::null() };
    let (mut column, mut offset) = (-1, -1);
    let mut counts = [0_i64; 3];
    // SAFETY: the engine hands out its table of functions, the row they are about and the place for the
    // answer, and calls from the thread that uses them. The iterator is used for this row only.
    unsafe {
        let functions = api.as_ref().and_then(|api| Some((api.xPhraseFirst?, api.xPhraseNext?)));
        let Some((first, next)) = functions else {
            return ffi::sqlite3_result_error_code(answer, ffi::SQLITE_ERROR);
        };
        let code = first(row, 0, &raw mut places, &raw mut column, &raw mut offset);
        if code != ffi::SQLITE_OK {
            return ffi::sqlite3_result_error_code(answer, code);
        }
        while let Ok(at) = usize::try_from(column) {
            if let Some(count) = counts.get_mut(at) {
                *count = (*count + 1).min(MOST);
            }
            next(row, &raw mut places, &raw mut column, &raw mut offset);
        }
        let packed = counts.iter().rev().fold(0, |packed, count| packed << BITS | count);
        ffi::sqlite3_result_int64(answer, packed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::SCHEMA;
    use super::*;

    #[test]
    fn each_column_is_counted() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let many = "word ".repeat(2_000);
        for (id, title, body, path) in [
            (1, "word", "a word and a word", ""),
            (2, "", "other", "word/word"),
            (3, "word word", &many, "word"),
            (4, "", "other", ""),
        ] {
            connection
                .execute(
                    "INSERT INTO words(rowid, title, body, path) VALUES (?1, ?2, ?3, ?4)",
                    (id, title, body, path),
                )
                .unwrap();
        }
        connection.execute("DELETE FROM words WHERE rowid = 2", ()).unwrap();
        let sql = "SELECT rowid, occurrences(words) FROM words WHERE words MATCH '\"word\"'";
        let mut statement = prepare(&connection, sql).unwrap();
        let found = statement.query_map((), |row| {
            let occurrences = Occurrences::unpack(row.get(1)?);
            let counts = [0, 1, 2].map(|column| occurrences.in_column(column));
            Ok((row.get::<_, i64>(0)?, counts, occurrences.weighted(), occurrences.count()))
        });
        let found: Vec<_> = found.unwrap().map(Result::unwrap).collect();
        let expected = [(1, [1, 2, 0], 4.0, 3), (3, [2, 2_000, 1], 2_002.6, 2_003)];
        assert_eq!(found, expected);
    }
}
