//! What can go wrong in the store, each in one clear line.

use std::io::ErrorKind;

use rusqlite::{ErrorCode, ffi};
use thiserror::Error;

/// How long an operation waits for another process's transaction. Every transaction of this crate
/// takes about 50 ms, so this long means that something else holds the file.
pub(crate) const BUSY_SECONDS: u64 = 30;

/// Why an operation of the store failed. The texts carry no SQL and no path outside the data folder.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store could not be opened or created.
    #[error("the store could not be opened: {reason}")]
    Open {
        /// What the system said.
        reason: String,
    },
    /// Another process held the store for longer than this one may wait.
    #[error("the store is busy: another process has been writing to it for {seconds} s")]
    Locked {
        /// How long this one waited.
        seconds: u64,
    },
    /// The file was damaged. It was set aside and a new store begun; the operation may be repeated.
    #[error("the store was damaged; it was set aside as {set_aside} and a new one begun")]
    Corrupt {
        /// The name of the damaged file, in the data folder.
        set_aside: String,
    },
    /// An operation found the file damaged, and a look through all of it found it sound. Nothing was changed; the
    /// operation may be repeated.
    #[error("the store seemed to be damaged and is not: repeat the call")]
    Doubtful,
    /// A newer version of the program wrote this store. It was not touched.
    #[error(
        "the store was written by a newer quietcontext (format {found}, this one reads {known}): \
         install the newest version; nothing was changed"
    )]
    Newer {
        /// Its format.
        found: i64,
        /// The newest format this version reads.
        known: i64,
    },
    /// No room is left on the disk. What was stored before is intact.
    #[error("the disk is full: not stored; what was stored before is intact")]
    Full,
    /// The data folder or the store cannot be written to.
    #[error("the store is read-only: not stored")]
    ReadOnly,
    /// The caller's reader failed; nothing was stored.
    #[error("reading what was to be stored failed: {0}")]
    Source(#[source] std::io::Error),
    /// The document has more chunks than one document may have.
    #[error("the document is too large: more than {limit} chunks")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// No such document, or none any more.
    #[error("no such document in the store")]
    Missing,
    /// Reading or writing the data folder failed.
    #[error("the store failed: {step}: {reason}")]
    Io {
        /// What was being done.
        step: &'static str,
        /// What the system said.
        reason: String,
    },
    /// The database engine refused an operation.
    #[error("the store failed while {step}")]
    Engine {
        /// What was being done.
        step: &'static str,
        /// What it said; for the log.
        #[source]
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Reading or writing the data folder failed.
    pub(crate) fn io(step: &'static str, error: &std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full,
            ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => StoreError::ReadOnly,
            kind => StoreError::Io { step, reason: kind.to_string() },
        }
    }

    /// The file does not hold together.
    pub(crate) fn damaged() -> Self {
        let code = ffi::SQLITE_CORRUPT;
        StoreError::Engine {
            step: "reading a block",
            source: rusqlite::Error::SqliteFailure(ffi::Error::new(code), None),
        }
    }

    /// The engine found the file to be damaged, or not to be a database.
    pub(crate) fn is_damage(&self) -> bool {
        let StoreError::Engine { source, .. } = self else { return false };
        matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        let extended = source.sqlite_error().map_or(0, |error| error.extended_code);
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full,
            // Growing the shared index or a file fails with these when the disk is full.
            Some(ErrorCode::SystemIoFailure)
                if [ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_IOERR_WRITE].contains(&extended) =>
            {
                StoreError::Full
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly,
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => StoreError::Locked { seconds: BUSY_SECONDS },
            _ => StoreError::Engine { step: "reading or writing", source },
        }
    }
}
