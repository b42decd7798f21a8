//! The private directories of one executor: made on first use, swept of dead servers' leftovers.
//!
//! Layout of a scratch directory (0700):
//!
//! ```text
//! <id>.lock     held (flock) by a live server for as long as it lives
//! <id>/<n>/     one run: its program, loaders and temporary directory; used again when empty
//! built/        compiled programs, by hash
//! ```
//!
//! A server that is killed leaves its lock file without a lock. The next server that needs the
//! directory takes the lock and removes what belongs to it: never anything of a live server.

mod files;
mod tidy;

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use self::files::{create_new, random_name, unnamed_file};
use self::tidy::{empty, remove_tree};
use crate::error::ExecError;

const LOCK_SUFFIX: &str = ".lock";

/// Tries for a free name; names are random, so that a second try is rare.
const NAME_TRIES: usize = 16;

/// Directories that are kept for the next run instead of being removed and made again, which on a
/// disk costs a tenth of a small run. The lowest free number is taken first, so that the paths in
/// a program's messages stay the same from run to run.
const KEPT_DIRECTORIES: usize = 8;

/// Name of the temporary directory in a run's directory.
const TEMPORARY: &str = "tmp";

/// The scratch candidates of one executor.
#[derive(Debug)]
pub(crate) struct Scratch {
    candidates: Vec<PathBuf>,
    /// How many of them are passed over, because their disk is full.
    passed: AtomicUsize,
    home: Mutex<Option<Arc<Home>>>,
}

/// This server's own directory and the lock that says it lives.
#[derive(Debug)]
struct Home {
    directory: PathBuf,
    lock_path: PathBuf,
    _lock: File,
    numbers: Mutex<Numbers>,
}

#[derive(Debug, Default)]
struct Numbers {
    /// Directories that exist, are empty and belong to no run.
    free: BTreeSet<u64>,
    last: u64,
}

impl Drop for Home {
    fn drop(&mut self) {
        // The name goes while the lock is held: nobody can lock a file that is about to vanish.
        remove_tree(&self.directory);
        drop(fs::remove_file(&self.lock_path));
    }
}

/// The directory of one run; emptied or removed when this is dropped.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: PathBuf,
    temporary: PathBuf,
    number: u64,
    home: Arc<Home>,
}

impl RunDirectory {
    fn take(home: Arc<Home>) -> io::Result<Self> {
        let mut numbers = home.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = numbers.free.pop_first();
        let number = kept.unwrap_or_else(|| {
            numbers.last += 1;
            numbers.last
        });
        drop(numbers);
        let path = home.directory.join(number.to_string());
        let temporary = path.join(TEMPORARY);
        if kept.is_some() {
            // Somebody may have cleaned it away meanwhile.
            fs::symlink_metadata(&temporary)?;
        } else {
            DirBuilder::new().mode(0o700).create(&path)?;
            DirBuilder::new().mode(0o700).create(&temporary)?;
        }
        Ok(Self { path, temporary, number, home })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The program's temporary directory, private to the run.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if empty(&self.path, &self.temporary).is_ok() {
            let mut numbers = self.home.numbers.lock().unwrap_or_else(PoisonError::into_inner);
            if numbers.free.len() < KEPT_DIRECTORIES {
                numbers.free.insert(self.number);
                return;
            }
        }
        remove_tree(&self.path);
    }
}

impl Scratch {
    /// Touches nothing.
    pub(crate) fn new(candidates: Vec<PathBuf>) -> Self {
        Self { candidates, passed: AtomicUsize::new(0), home: Mutex::new(None) }
    }

    /// An empty directory (0700) for one run, in the first candidate that can be used.
    pub(crate) fn run_directory(&self) -> Result<RunDirectory, ExecError> {
        let failed = |source| ExecError::Staging { step: "make a private directory", source };
        let home = self.home().map_err(failed)?;
        if let Ok(directory) = RunDirectory::take(home) {
            return Ok(directory);
        }
        // Somebody has cleaned the home away: once more with a new one.
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = None;
        RunDirectory::take(self.home().map_err(failed)?).map_err(failed)
    }

    /// Passes the first candidate over from now on; `false` where there is no other.
    pub(crate) fn move_on(&self) -> bool {
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        let another = self.passed.load(Ordering::Relaxed) + 1 < self.candidates.len();
        if another {
            self.passed.fetch_add(1, Ordering::Relaxed);
            *home = None;
        }
        another
    }

    fn usable(&self) -> impl Iterator<Item = &PathBuf> {
        self.candidates.iter().skip(self.passed.load(Ordering::Relaxed))
    }

    /// An open file without a name: it is gone with its last descriptor, however that happens.
    pub(crate) fn spool_file(&self) -> io::Result<File> {
        let mut last =
            io::Error::new(io::ErrorKind::NotFound, "no scratch directory is configured");
        for candidate in self.usable() {
            match make_private(candidate).and_then(|()| unnamed_file(candidate)) {
                Ok(file) => return Ok(file),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Where compiled programs are kept, made when missing.
    pub(crate) fn built_directory(&self) -> io::Result<PathBuf> {
        let home = self.home()?;
        let parent = home.directory.parent().ok_or(io::ErrorKind::NotFound)?;
        let directory = parent.join("built");
        make_private(&directory)?;
        Ok(directory)
    }

    fn home(&self) -> io::Result<Arc<Home>> {
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = home.as_ref() {
            return Ok(Arc::clone(home));
        }
        let mut last =
            io::Error::new(io::ErrorKind::NotFound, "no scratch directory is configured");
        for candidate in self.usable() {
            match make_private(candidate).and_then(|()| make_home(candidate)) {
                Ok(made) => {
                    let made = Arc::new(made);
                    *home = Some(Arc::clone(&made));
                    sweep(candidate, &made.lock_path);
                    return Ok(made);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Makes the directory and what is missing above it. Directories that exist keep their mode.
fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(directory)
}

fn make_home(candidate: &Path) -> io::Result<Home> {
    // Boxes are shown what they may see by its real name.
    let candidate = &candidate.canonicalize()?;
    for _ in 0..NAME_TRIES {
        let id = random_name()?;
        let lock_path = candidate.join(format!("{id}{LOCK_SUFFIX}"));
        let lock = match create_new(&lock_path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        // Between creation and lock a sweeping server may have taken it for a dead one's.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err()
            || lock.metadata()?.nlink() == 0
        {
            continue;
        }
        let directory = candidate.join(&id);
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => {
                let numbers = Mutex::default();
                return Ok(Home { directory, lock_path, _lock: lock, numbers });
            }
            Err(error) => {
                drop(fs::remove_file(&lock_path));
                return Err(error);
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name"))
}

/// Removes what dead servers left. Best effort: whatever fails is left for the next server.
fn sweep(candidate: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(candidate) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_suffix(LOCK_SUFFIX)) else {
            continue;
        };
        if path == own {
            continue;
        }
        let Ok(lock) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        remove_tree(&candidate.join(id));
        // Last: as long as the name is there, the next server would finish an interrupted sweep.
        drop(fs::remove_file(&path));
    }
}
