//! What can go wrong in the store, each in one clear line.

use thiserror::Error;

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
    /// A newer version of the program wrote this store. It was not touched.
    #[error("the store was written by a newer version (format {found}, this one reads {known})")]
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

impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        StoreError::Engine { step: "reading or writing", source }
    }
}
