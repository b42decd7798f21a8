//! Who waits to write, in any process: bulk work lets them go first.
//!
//! SQLite's lock is taken by whoever tries at the right moment, and a bulk writer that takes it again at
//! once is always the first to try. So each writer stands in a queue until it has the lock (the file is
//! locked shared), and bulk work begins a transaction when nobody stands there.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::gate;

/// How long bulk work lets others go first before it only takes its chance.
const PATIENCE: Duration = Duration::from_millis(50);
/// How often it looks.
const STEP: Duration = Duration::from_micros(300);

/// The queue of one store. Without its file (nothing can be written there) it is always empty.
#[derive(Debug)]
pub(crate) struct Queue {
    path: PathBuf,
}

/// A place in the queue, until dropped.
#[derive(Debug)]
pub(crate) struct Standing {
    _file: Option<File>,
}

impl Queue {
    /// The queue beside the store's file.
    pub(crate) fn new(store: &Path) -> Self {
        Queue { path: store.with_extension("queue") }
    }

    /// Stands in the queue.
    pub(crate) fn stand(&self) -> Standing {
        // A handle of its own: a lock belongs to the handle.
        let file = gate::private_file(&self.path).ok();
        Standing { _file: file.filter(|file| file.lock_shared().is_ok()) }
    }

    /// Waits until nobody stands there, as `wanted` may tell of this process, and not for long.
    pub(crate) fn let_pass(&self, wanted: impl Fn() -> bool) {
        let until = Instant::now() + PATIENCE;
        let Ok(file) = gate::private_file(&self.path) else { return };
        while wanted() || !is_empty(&file) {
            if Instant::now() >= until {
                return;
            }
            thread::sleep(STEP);
        }
    }
}

/// Whether nobody has the file locked.
fn is_empty(file: &File) -> bool {
    match file.try_lock() {
        Ok(()) => {
            drop(file.unlock());
            true
        }
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_work_begins_when_nobody_stands_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let queue = Queue::new(&folder.path().join("a.db"));
        let file = gate::private_file(&queue.path).unwrap();
        assert!(is_empty(&file));
        let (first, second) = (queue.stand(), queue.stand());
        assert!(!is_empty(&file));
        drop(first);
        assert!(!is_empty(&file));
        drop(second);
        assert!(is_empty(&file));
        queue.let_pass(|| false);
    }

    #[test]
    fn where_nothing_can_be_written_nobody_waits() {
        let queue = Queue::new(Path::new("/nowhere/at/all/a.db"));
        let _standing = queue.stand();
        queue.let_pass(|| false);
    }
}
