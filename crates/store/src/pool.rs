//! The connections of one process to one store: one that writes, some that read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::Result;
use crate::check;
use crate::error::StoreError;
use crate::gate::{self, Gate, Seat};
use crate::open::{self, Link};
use crate::queue::Queue;

/// Idle reading connections that are kept.
const READERS: usize = 4;

/// Opens connections when they are needed and hands them out.
#[derive(Debug)]
pub(crate) struct Pool {
    path: PathBuf,
    root: PathBuf,
    writer: Mutex<Option<Link>>,
    queue: Queue,
    readers: Mutex<Vec<Link>>,
    /// Threads of this process that wait for the writer.
    waiting: AtomicUsize,
    notice: Mutex<Option<String>>,
    /// The file the newest connection was opened on, and how many there were before it.
    seat: Mutex<Option<Seat>>,
    generation: AtomicU64,
    /// The file, when its log was not empty as this process first opened it.
    unclean: Mutex<Option<Seat>>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these guard is replaced whole: a panic cannot leave it half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    pub(crate) fn new(path: PathBuf, root: PathBuf) -> Self {
        Pool {
            queue: Queue::new(&path),
            path,
            root,
            writer: Mutex::new(None),
            readers: Mutex::new(Vec::new()),
            waiting: AtomicUsize::new(0),
            notice: Mutex::new(None),
            seat: Mutex::new(None),
            generation: AtomicU64::new(0),
            unclean: Mutex::new(None),
        }
    }

    /// The store's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Something the user should be told once.
    pub(crate) fn notice(&self) -> Option<String> {
        lock(&self.notice).take()
    }

    /// The file, if its last user may not have ended cleanly. Told once.
    pub(crate) fn unclean(&self) -> Option<Seat> {
        lock(&self.unclean).take()
    }

    /// Changes when the file was replaced: what was cached belongs to another one.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Closes the connections that nobody uses; the next use opens others.
    pub(crate) fn rest(&self) {
        let idle = std::mem::take(&mut *lock(&self.readers));
        drop(idle);
        if let Ok(mut writer) = self.writer.try_lock() {
            *writer = None;
        }
    }

    /// Gives back what connections that nobody uses have cached; one to read with stays open.
    pub(crate) fn slim(&self) {
        let mut readers = lock(&self.readers);
        readers.truncate(1);
        let writer = self.writer.try_lock();
        let writer = writer.as_ref().ok().and_then(|slot| slot.as_ref());
        for link in readers.iter().chain(writer) {
            if let Err(error) = link.connection.execute_batch("PRAGMA shrink_memory") {
                tracing::debug!(%error, "a connection keeps its cache");
            }
        }
    }

    /// Reads one consistent state of the store. Never waits for writers.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.aside(|connection| {
            let transaction = connection.transaction()?;
            work(&transaction)
        })
    }

    /// Reads one state by a connection that has read nothing before: to look the file through. FTS5 does
    /// that with the list of its parts that the connection remembers, also when others have merged
    /// these since, and then takes a sound file for damaged.
    pub(crate) fn read_afresh<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut link = self.connect()?;
        let result = self.passing(&mut link, |connection| {
            let transaction = connection.transaction()?;
            work(&transaction)
        });
        let seat = link.seat;
        drop(link);
        self.judge(result, seat)
    }

    /// Uses a connection of its own outside of a transaction.
    pub(crate) fn aside<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let idle = lock(&self.readers).pop();
        let mut link = self.link(idle)?;
        let result = self.passing(&mut link, work);
        let seat = link.seat;
        if result.is_ok() {
            let mut readers = lock(&self.readers);
            if readers.len() < READERS {
                readers.push(link);
            }
        } else {
            drop(link);
        }
        self.judge(result, seat)
    }

    /// Writes in one transaction, which is undone when `work` fails.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.with_writer(|connection| {
            let standing = self.queue.stand();
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            drop(standing);
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
    }

    /// Lets those who wait to write go first, in this process and in others: before each transaction
    /// of bulk work.
    pub(crate) fn let_pass(&self) {
        self.queue.let_pass(|| self.waiting.load(Ordering::Relaxed) > 0);
    }

    /// Uses the writing connection outside of a transaction.
    pub(crate) fn with_writer<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut slot = lock(&self.writer);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let mut link = self.link(slot.take())?;
        let result = if link.gate.is_some() {
            self.passing(&mut link, work)
        } else {
            Err(StoreError::ReadOnly)
        };
        let seat = link.seat;
        match &result {
            // A connection to a damaged or unwritable file is of no further use.
            Err(error) if error.is_damage() || matches!(error, StoreError::ReadOnly) => drop(link),
            _ => *slot = Some(link),
        }
        drop(slot);
        self.judge(result, seat)
    }

    fn link(&self, idle: Option<Link>) -> Result<Link> {
        match idle {
            Some(link) => Ok(link),
            None => self.connect(),
        }
    }

    fn connect(&self) -> Result<Link> {
        let before = gate::seat(&self.path).unwrap_or_default();
        let log = format!("{}-wal", self.path.display());
        let log_left = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
        let link = self.judge(open::connect(&self.path, &self.root), before)?;
        let mut seat = lock(&self.seat);
        if *seat != Some(link.seat) {
            if seat.is_none() && log_left {
                *lock(&self.unclean) = Some(link.seat);
            }
            *seat = Some(link.seat);
            self.generation.fetch_add(1, Ordering::Relaxed);
        }
        Ok(link)
    }

    /// Works on the file of that name, whichever it is by now, while nobody replaces it.
    fn passing<T>(
        &self,
        link: &mut Link,
        work: impl FnOnce(&mut Connection) -> Result<T>,
    ) -> Result<T> {
        loop {
            let passage = match &link.gate {
                Some(gate) => Some(gate.pass().map_err(|error| StoreError::io("waiting", &error))?),
                None => None,
            };
            if passage.is_none() || gate::seat(&self.path).ok() == Some(link.seat) {
                return work(&mut link.connection);
            }
            drop(passage);
            *link = self.connect()?;
        }
    }

    /// Sets a damaged file aside; other results pass. One operation may have seen what is not so: the file
    /// gets a second look before.
    fn judge<T>(&self, result: Result<T>, seat: Seat) -> Result<T> {
        match result {
            Err(error) if error.is_damage() => {
                tracing::error!(?error, "the store seems to be damaged");
                if self.is_sound()? {
                    return Err(StoreError::Doubtful);
                }
                let set_aside = self.set_aside(seat)?;
                Err(StoreError::Corrupt { set_aside })
            }
            other => other,
        }
    }

    /// Looks the whole file through by a connection that has read nothing before.
    fn is_sound(&self) -> Result<bool> {
        let look = || {
            let mut link = open::connect(&self.path, &self.root)?;
            check::is_sound(&*link.connection.transaction()?)
        };
        match look() {
            Err(error) if error.is_damage() => {
                tracing::error!(?error, "the store is damaged");
                Ok(false)
            }
            other => other,
        }
    }

    /// Sets the file aside, unless it is another one than the one found damaged.
    pub(crate) fn set_aside(&self, seat: Seat) -> Result<String> {
        let failed =
            |error: std::io::Error| StoreError::io("setting a damaged store aside", &error);
        let gate = Gate::open(&self.path).map_err(failed)?;
        let _alone = gate.pass_alone().map_err(failed)?;
        if gate::seat(&self.path).ok() != Some(seat) {
            return Ok(String::from("another name by another process"));
        }
        let name = open::set_aside(&self.path).map_err(failed)?;
        lock(&self.readers).clear();
        *lock(&self.notice) =
            Some(format!("the store was damaged; it was set aside as {name} and a new one begun"));
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_file_is_not_set_aside_for_what_one_operation_saw() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let pool = Pool::new(path.clone(), folder.path().to_owned());
        let count = |connection: &Connection| -> Result<i64> {
            Ok(connection.query_row("SELECT count(*) FROM meta", (), |row| row.get(0))?)
        };
        let rows = pool.read(count).unwrap();
        let before = gate::seat(&path).unwrap();
        let read = pool.read(|_| Err::<(), _>(StoreError::damaged()));
        assert!(matches!(read, Err(StoreError::Doubtful)), "{read:?}");
        let written = pool.write(|transaction| {
            transaction.execute("INSERT INTO meta (key, value) VALUES ('x', 'y')", ())?;
            Err::<(), _>(StoreError::damaged())
        });
        assert!(matches!(written, Err(StoreError::Doubtful)), "{written:?}");
        // The same file, nothing of what failed in it, and nothing to tell.
        assert_eq!(gate::seat(&path).unwrap(), before);
        assert_eq!(pool.read(count).unwrap(), rows);
        assert!(pool.notice().is_none());
        // Not so when a block is not what was written.
        pool.write(|transaction| {
            transaction.execute(
                "INSERT INTO blocks (first, document, count, start, line, open, heads, text)
                 VALUES (1, 1, 1, 0, 1, 0, x'', x'00')",
                (),
            )?;
            Ok(())
        })
        .unwrap();
        let read = pool.read(|_| Err::<(), _>(StoreError::damaged()));
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
        assert_ne!(gate::seat(&path).ok(), Some(before));
        assert!(pool.notice().is_some());
        assert_eq!(pool.read(count).unwrap(), rows);
    }
}
