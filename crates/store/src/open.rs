//! Opens a store's file, and makes it on first use: folder, modes, settings, version.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, ffi};
use sha2::{Digest as _, Sha256};

use crate::Result;
use crate::error::{BUSY_SECONDS, StoreError};
use crate::gate::{self, Gate, Seat};
use crate::number;
use crate::schema;

/// The numbers a new store starts counting at lie below this, so that a reference of another root's
/// store, or of a store set aside, almost never resolves.
const FIRST_NUMBERS: std::ops::Range<u64> = 10_000..900_000;

/// Pages of 4 KiB in the log at which a commit moves them into the file, whoever commits: 32 MiB. It
/// hardly ever comes to that, since `upkeep` does it at 8 MiB, where nobody waits for it.
const LOG_PAGES: i64 = 8_000;
/// What stays of the log's file when it begins anew: a longer file is a log that was not moved yet.
const SPARE_LOG_BYTES: i64 = 1 << 20;

/// A connection with its own handle on the gate.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: Connection,
    /// `None`: the folder cannot be written to, so nobody replaces the file either.
    pub(crate) gate: Option<Gate>,
    pub(crate) seat: Seat,
}

/// The file of a root's store.
pub(crate) fn path_of(directory: &Path, root: &Path) -> PathBuf {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let name = digest.iter().take(8).fold(0_u64, |name, byte| name << 8 | u64::from(*byte));
    let name = format!("{name:016x}");
    directory.join(name).with_extension("db")
}

/// Opens the file, and makes or migrates it if need be.
pub(crate) fn connect(path: &Path, root: &Path) -> Result<Link> {
    match writable(path, root) {
        Err(StoreError::ReadOnly) if path.exists() => read_only(path),
        other => other,
    }
}

fn writable(path: &Path, root: &Path) -> Result<Link> {
    let folder = path.parent().unwrap_or(Path::new("."));
    gate::make_folder(folder).map_err(|error| failed(&error))?;
    let gate = Gate::open(path).map_err(|error| failed(&error))?;
    let passage = gate.pass().map_err(|error| failed(&error))?;
    drop(gate::private_file(path).map_err(|error| failed(&error))?);
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut version = version(&connection)?;
    if version < schema::VERSION {
        drop(passage);
        let _alone = gate.pass_alone().map_err(|error| failed(&error))?;
        version = make(&mut connection, root)?;
    } else {
        drop(passage);
    }
    if version > schema::VERSION {
        return Err(StoreError::Newer { found: version, known: schema::VERSION });
    }
    let seat = gate::seat(path).map_err(|error| failed(&error))?;
    settings(&connection)?;
    Ok(Link { connection, gate: Some(gate), seat })
}

/// A store in a folder that cannot be written to can still be read.
fn read_only(path: &Path) -> Result<Link> {
    let seat = gate::seat(path).map_err(|error| failed(&error))?;
    let open_it = |uri: &Path, flags| -> Result<Connection> {
        let connection = open(uri, flags)?;
        let version = version(&connection)?;
        if !schema::READABLE.contains(&version) {
            return Err(StoreError::Newer { found: version, known: schema::VERSION });
        }
        Ok(connection)
    };
    let connection = open_it(path, OpenFlags::SQLITE_OPEN_READ_ONLY).or_else(|error| {
        // Without its shared index a log cannot be read; the file alone can.
        let mut uri = String::from("file:");
        for byte in path.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
                byte => uri.push_str(&format!("%{byte:02x}")),
            }
        }
        uri.push_str("?immutable=1");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        open_it(Path::new(&uri), flags).map_err(|_| error)
    })?;
    Ok(Link { connection, gate: None, seat })
}

fn failed(error: &io::Error) -> StoreError {
    match StoreError::io("opening the data folder", error) {
        StoreError::Io { .. } => StoreError::Open { reason: error.kind().to_string() },
        other => other,
    }
}

/// The engine would count its memory under one lock for all connections, and nobody asks. Heeded before the
/// first connection only.
fn count_no_memory() {
    static ONCE: Once = Once::new();
    #[expect(unsafe_code, reason = "the engine's only way to say it")]
    ONCE.call_once(|| {
        // SAFETY: takes an integer, as this option does; refused once the engine is in use.
        let _taken = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0) };
    });
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    count_no_memory();
    let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| match StoreError::from(error) {
            StoreError::Engine { source, .. }
                if source.sqlite_error_code() == Some(rusqlite::ErrorCode::CannotOpen) =>
            {
                StoreError::ReadOnly
            }
            other => other,
        })?;
    connection.busy_handler(Some(keep_trying))?;
    Ok(connection)
}

/// Waits for another process's transaction, which takes about 50 ms. Steps of a millisecond find
/// the gap such a writer leaves between two of its transactions.
fn keep_trying(attempts: i32) -> bool {
    thread::sleep(Duration::from_millis(1));
    u64::try_from(attempts).unwrap_or(0) < BUSY_SECONDS * 1_000
}

fn version(connection: &Connection) -> Result<i64> {
    Ok(connection.query_row("PRAGMA user_version", (), |row| row.get(0))?)
}

/// Makes or migrates the tables; the caller passes the gate alone.
fn make(connection: &mut Connection, root: &Path) -> Result<i64> {
    let found = version(connection)?;
    if found >= schema::VERSION {
        return Ok(found);
    }
    if found == 0 {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    // Where the file system has no shared memory the answer is another mode, and that works too.
    let _mode: String = connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0))?;
    settings(connection)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    schema::migrate(&transaction, found)?;
    if found == 0 {
        transaction.pragma_update(None, "application_id", schema::APPLICATION)?;
        number::start(&transaction, number::CHUNK, first_number(root))?;
        transaction.execute(
            "INSERT INTO meta (key, value) VALUES ('root', ?1)",
            [root.to_string_lossy()],
        )?;
    }
    transaction.commit()?;
    Ok(schema::VERSION)
}

/// Drawn from the root and the moment of creation.
fn first_number(root: &Path) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let digest = Sha256::new()
        .chain_update(root.as_os_str().as_encoded_bytes())
        .chain_update(now.as_nanos().to_le_bytes())
        .chain_update(std::process::id().to_le_bytes())
        .finalize();
    let drawn = digest.iter().take(7).fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    FIRST_NUMBERS.start + drawn % (FIRST_NUMBERS.end - FIRST_NUMBERS.start)
}

fn settings(connection: &Connection) -> Result<()> {
    connection.execute_batch(&format!(
        "PRAGMA synchronous = NORMAL;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -4096;
         PRAGMA wal_autocheckpoint = {LOG_PAGES};
         PRAGMA journal_size_limit = {SPARE_LOG_BYTES};"
    ))?;
    // A plan does not depend on what is bound: otherwise statements are prepared anew for each value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Moves a damaged file, with its log, to a new name in the same folder. The caller passes the gate
/// alone. Answers that name.
pub(crate) fn set_aside(path: &Path) -> io::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("{stem}.damaged-{now}.db");
    let target = path.with_file_name(&name);
    fs::rename(path, &target)?;
    for end in ["-wal", "-shm"] {
        let beside = |file: &Path| {
            let mut file = file.as_os_str().to_owned();
            file.push(end);
            PathBuf::from(file)
        };
        match fs::rename(beside(path), beside(&target)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_version_is_read_where_nothing_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        drop(connect(&path, folder.path()).unwrap());
        for (version, readable) in [(schema::VERSION, true), (1, true), (0, false), (99, false)] {
            let connection = Connection::open(&path).unwrap();
            connection.pragma_update(None, "user_version", version).unwrap();
            drop(connection);
            assert_eq!(read_only(&path).is_ok(), readable, "version {version}");
        }
    }
}
