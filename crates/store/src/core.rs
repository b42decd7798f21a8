//! What the operations of one store share.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rusqlite::Transaction;

use crate::Result;
use crate::background::Background;
use crate::cache::BlockCache;
use crate::courtesy::Courtesy;
use crate::document::Origin;
use crate::error::StoreError;
use crate::lease::{self, Lease};
use crate::open;
use crate::pending::Pace;
use crate::pool::{Pool, lock};
use crate::row;
use crate::search::Memory;
use crate::sketches::Sketches;
use crate::store::{Retention, StoreOptions};
use crate::turn::Turn;
use crate::write::INLINE_BYTES;

/// Documents after which there may be something to merge.
const MERGED_DOCUMENTS: u64 = 8;

/// Bytes of run output and pages after which retention looks at the size again.
const RETENTION_BYTES: u64 = 1 << 20;

/// The shared inside of a store.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) pool: Pool,
    pub(crate) cache: BlockCache,
    pub(crate) sketches: Sketches,
    pub(crate) background: Background,
    /// What searches keep between calls.
    pub(crate) memory: Memory,
    pub(crate) retention: Retention,
    pub(crate) pace: Pace,
    /// Lets searches go before bulk work.
    pub(crate) courtesy: Courtesy,
    /// Whose turn it is to write missing full-text rows: two threads would do the same work.
    pub(crate) indexing: Turn,
    lease: OnceLock<Lease>,
    /// Documents that were read, and when: their age is renewed with the next transaction.
    read: Mutex<HashMap<u64, i64>>,
    worked: AtomicBool,
    /// Bytes stored since retention last looked.
    grown: AtomicU64,
    /// Documents stored.
    stored: AtomicU64,
    /// How long the log was when it was last moved into the file.
    pub(crate) carried: AtomicU64,
}

impl Core {
    pub(crate) fn new(options: &StoreOptions) -> Arc<Self> {
        let path = open::path_of(&options.directory, &options.root);
        Arc::new(Core {
            pool: Pool::new(path, options.root.clone()),
            cache: BlockCache::default(),
            sketches: Sketches::default(),
            background: Background::default(),
            memory: Memory::default(),
            retention: options.retention,
            pace: Pace::default(),
            courtesy: Courtesy::default(),
            indexing: Turn::default(),
            lease: OnceLock::new(),
            read: Mutex::new(HashMap::new()),
            worked: AtomicBool::new(false),
            grown: AtomicU64::new(0),
            stored: AtomicU64::new(0),
            carried: AtomicU64::new(0),
        })
    }

    /// The store's file.
    pub(crate) fn path(&self) -> &Path {
        self.pool.path()
    }

    /// Writes in one transaction, which also renews the age of what was read.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut read = HashMap::new();
        let written = self.pool.write(|transaction| {
            read = std::mem::take(&mut *lock(&self.read));
            for (document, when) in &read {
                transaction
                    .prepare_cached("UPDATE labels SET used = max(used, ?2) WHERE document = ?1")?
                    .execute((*document as i64, when))?;
            }
            work(transaction)
        });
        if written.is_err() {
            // Undone with the rest. What was read again meanwhile is newer.
            let mut noted = lock(&self.read);
            read.extend(noted.drain());
            *noted = read;
        }
        written
    }

    /// Whether background work may be waiting after a document was stored: it is large, it is the
    /// first one of this process or the eighth since, or there is much more that retention may have to
    /// remove.
    pub(crate) fn is_due(&self, origin: Origin, bytes: u64) -> bool {
        let first = !self.worked.swap(true, Ordering::Relaxed);
        let grown = matches!(origin, Origin::Run | Origin::Page)
            && self.grown.fetch_add(bytes, Ordering::Relaxed) + bytes > RETENTION_BYTES;
        if grown {
            self.grown.store(0, Ordering::Relaxed);
        }
        let stored = self.stored.fetch_add(1, Ordering::Relaxed);
        let many = stored.is_multiple_of(MERGED_DOCUMENTS);
        first || many || grown || bytes > INLINE_BYTES as u64
    }

    /// Notes that a document was read.
    pub(crate) fn was_read(&self, document: u64) {
        lock(&self.read).insert(document, row::now());
    }

    /// The lease of this store; marks what it is busy with until its process ends.
    pub(crate) fn lease(&self) -> Result<&str> {
        if self.lease.get().is_none() {
            let lease = Lease::take(self.path())
                .map_err(|error| StoreError::io("taking a lease", &error))?;
            // Two threads may get here; the lease that loses ends at once.
            drop(self.lease.set(lease));
        }
        Ok(self.lease.get().map(Lease::token).unwrap_or_default())
    }

    /// Whether what carries this lease is being worked on, here or by another process.
    pub(crate) fn is_alive(&self, token: &str) -> bool {
        self.lease.get().is_some_and(|own| own.token() == token)
            || lease::is_alive(self.path(), token)
    }
}

#[cfg(test)]
impl Core {
    /// The store of a test, in a folder of its own.
    pub(crate) fn beneath(folder: &Path) -> Arc<Self> {
        Core::new(&StoreOptions {
            directory: folder.join("data"),
            root: folder.to_owned(),
            retention: Retention::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Label, NewDocument};

    /// Where it was lost, what had just been read could be the first to go.
    #[test]
    fn that_a_document_was_read_is_kept_through_a_transaction_that_fails() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        let new = NewDocument::new(Label::Fixed("one"), Origin::Content);
        core.add(&new, &mut "text".as_bytes(), None).unwrap();
        let first = |connection: &rusqlite::Connection, sql: &str| {
            Ok(connection.query_row(sql, (), |row| row.get::<_, i64>(0))?)
        };
        let ask = |sql: &str| core.pool.read(|connection| first(connection, sql)).unwrap();
        core.write(|transaction| Ok(transaction.execute("UPDATE labels SET used = 1", ())?))
            .unwrap();
        core.was_read(ask("SELECT document FROM labels") as u64);
        assert!(core.write::<()>(|_| Err(StoreError::Missing)).is_err());
        assert_eq!(ask("SELECT used FROM labels"), 1);
        core.write(|_| Ok(())).unwrap();
        assert!(ask("SELECT used FROM labels") > 1);
    }
}
