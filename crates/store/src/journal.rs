//! The journal of a root: one line per call, appended by any number of processes, kept for a bounded time.
//!
//! It lies beside the store and not in it: a call that stores nothing must not open a database to be
//! noted. A line is one write at the end of the file, so that a kill takes nothing that was noted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::gate;

/// Bytes after which a journal is set aside and a new one begun; two are kept.
const MOST_BYTES: u64 = 1 << 20;
/// How the first line of a journal begins; behind it stands when the journal was begun, in
/// milliseconds since 1970.
const HEADER: &str = "{\"journal\":1,\"since\":";

/// The journal of one root. Touches nothing before the first line.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    max_age: Duration,
    open: Mutex<Option<Open>>,
}

/// A journal that is being written.
#[derive(Debug)]
struct Open {
    file: File,
    since: SystemTime,
}

impl Journal {
    pub(crate) fn new(store: &Path, max_age: Duration) -> Self {
        Self { path: store.with_extension("calls"), max_age, open: Mutex::new(None) }
    }

    /// Adds a line, which has no line end of its own.
    ///
    /// # Errors
    ///
    /// When the data folder cannot be written to.
    pub fn append(&self, line: &str) -> io::Result<()> {
        let mut line = line.to_owned();
        line.push('\n');
        let mut held = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Another process may have set the file aside, or purged it, since it was opened.
        for _ in 0..8 {
            let open = match held.take() {
                Some(open) => open,
                None => self.begin()?,
            };
            let data = open.file.metadata()?;
            if data.nlink() == 0 {
                continue;
            }
            if data.len() >= MOST_BYTES || self.is_old(open.since) {
                self.set_aside(&open)?;
                continue;
            }
            let written = (&open.file).write(line.as_bytes());
            *held = Some(open);
            // A line that was cut short by a full disk is passed over by readers.
            return written.map(|_| ());
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Every line, oldest first. A journal that is not there has none.
    ///
    /// # Errors
    ///
    /// When a journal is there and cannot be read.
    pub fn lines(&self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        for path in [self.aside(), self.path.clone()] {
            match fs::read(&path) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    let own = |line: &&str| !line.is_empty() && !line.starts_with(HEADER);
                    lines.extend(text.lines().filter(own).map(str::to_owned));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(lines)
    }

    /// Closes the file until the next line.
    pub(crate) fn rest(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Removes all of it.
    pub(crate) fn remove(&self) -> io::Result<()> {
        for path in [self.path.clone(), self.aside()] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Opens the file, and makes it with its header if it is not there.
    fn begin(&self) -> io::Result<Open> {
        gate::make_folder(self.path.parent().unwrap_or(Path::new(".")))?;
        let aside = self.aside();
        if fs::metadata(&aside).and_then(|data| data.modified()).is_ok_and(|last| self.is_old(last))
        {
            fs::remove_file(&aside)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).mode(0o600);
        match options.clone().create_new(true).open(&self.path) {
            Ok(file) => {
                let since = SystemTime::now();
                let millis = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
                let _whole = (&file).write(format!("{HEADER}{millis}}}\n").as_bytes())?;
                Ok(Open { file, since })
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = options.create(true).open(&self.path)?;
                let since = since(&file).unwrap_or_else(SystemTime::now);
                Ok(Open { file, since })
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the file its second name, unless another process has done so.
    fn set_aside(&self, open: &Open) -> io::Result<()> {
        open.file.lock()?;
        let (there, own) = (fs::metadata(&self.path), open.file.metadata()?);
        let outcome = match there {
            Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => {
                fs::rename(&self.path, self.aside())
            }
            _ => Ok(()),
        };
        open.file.unlock()?;
        outcome
    }

    fn aside(&self) -> PathBuf {
        self.path.with_extension("calls.old")
    }

    fn is_old(&self, when: SystemTime) -> bool {
        SystemTime::now().duration_since(when).is_ok_and(|age| age > self.max_age)
    }
}

/// When a journal was begun, by its header.
fn since(mut file: &File) -> Option<SystemTime> {
    let mut head = [0; 64];
    let read = file.read(&mut head).ok()?;
    let text = std::str::from_utf8(head.get(..read)?).ok()?;
    let digits = text.strip_prefix(HEADER)?.split('}').next()?;
    Some(UNIX_EPOCH + Duration::from_millis(digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn journal(folder: &Path, max_age: Duration) -> Journal {
        Journal::new(&folder.join("0123.db"), max_age)
    }

    #[test]
    fn lines_come_back_in_order_from_a_file_of_the_owner() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path(), DAY);
        assert_eq!(journal.lines().unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "reading makes nothing");
        journal.append("one").unwrap();
        journal.rest();
        journal.append("two").unwrap();
        assert_eq!(journal.lines().unwrap(), ["one", "two"]);
        let mode = fs::metadata(&journal.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        journal.remove().unwrap();
        journal.append("three").unwrap();
        assert_eq!(journal.lines().unwrap(), ["three"], "what was removed is begun anew");
    }

    #[test]
    fn many_writers_lose_nothing_and_the_size_stays_bounded() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let journal = journal(folder.path(), DAY);
                scope.spawn(move || {
                    for line in 0..250 {
                        journal.append(&format!("{writer} {line} {}", "x".repeat(700))).unwrap();
                    }
                });
            }
        });
        // 2,000 lines of 707 bytes: one journal was set aside, nothing was lost.
        let journal = journal(folder.path(), DAY);
        let lines = journal.lines().unwrap();
        assert_eq!(lines.len(), 2_000);
        for _ in 0..4_000 {
            journal.append(&"y".repeat(700)).unwrap();
        }
        let bytes: u64 = fs::read_dir(folder.path())
            .unwrap()
            .map(|e| e.unwrap().metadata().unwrap().len())
            .sum();
        assert!(bytes < 2 * MOST_BYTES + 8_000, "{bytes}");
    }

    #[test]
    fn what_is_too_old_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0123.calls");
        fs::write(&path, format!("{HEADER}1000}}\nold\n")).unwrap();
        let journal = journal(folder.path(), DAY);
        journal.append("new").unwrap();
        assert_eq!(journal.lines().unwrap(), ["old", "new"]);
        let aside = File::options().write(true).open(journal.aside()).unwrap();
        aside.set_modified(UNIX_EPOCH).unwrap();
        let again = self::journal(folder.path(), DAY);
        again.append("newer").unwrap();
        assert_eq!(again.lines().unwrap(), ["new", "newer"]);
    }
}
