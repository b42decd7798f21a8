//! What runs in one process and others may ask about: a file that is locked as long as it holds.
//!
//! As with a lease, the kernel gives the lock back however the process ends; whoever finds a file
//! that nobody holds removes it. To ask for an end, another process writes behind the text.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::gate;

/// Longest text of an announcement that is read, in bytes.
const MOST_BYTES: u64 = 4_096;

/// Something that runs here; ends when dropped, or with the process.
#[derive(Debug)]
pub struct Announcement {
    file: File,
    path: PathBuf,
    len: u64,
}

impl Announcement {
    pub(crate) fn make(store: &Path, text: &str) -> io::Result<Self> {
        gate::make_folder(store.parent().unwrap_or(Path::new(".")))?;
        let token = RandomState::new().build_hasher().finish();
        let path = store.with_extension(format!("{token:016x}.job"));
        let hidden = store.with_extension(format!("{token:016x}.new"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&hidden)?;
        let line = format!("{}\n", text.replace('\n', " "));
        file.write_all(line.as_bytes())?;
        file.lock()?;
        // It appears locked: nobody takes it for one that was left behind.
        fs::rename(&hidden, &path)?;
        Ok(Self { file, path, len: line.len() as u64 })
    }

    /// Whether somebody has asked for the end.
    pub fn stop_asked(&self) -> bool {
        self.file.metadata().is_ok_and(|data| data.len() > self.len)
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // A file that stays behind is removed by whoever looks next.
        drop(fs::remove_file(&self.path));
    }
}

/// Something that runs in a process that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// What it says of itself, one line.
    pub text: String,
    path: PathBuf,
}

impl Announced {
    /// Asks for the end; who runs it looks now and then.
    ///
    /// # Errors
    ///
    /// When it has ended meanwhile, or the data folder cannot be written to.
    pub fn ask_to_stop(&self) -> io::Result<()> {
        OpenOptions::new().append(true).open(&self.path)?.write_all(b"stop\n")
    }

    /// Whether it still holds.
    pub fn holds(&self) -> bool {
        read(&self.path).is_some()
    }
}

/// Everything that is announced beside this store, in no order.
pub(crate) fn all(store: &Path) -> io::Result<Vec<Announced>> {
    let stem = store.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = store.parent().unwrap_or(Path::new("."));
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let ours = name.strip_prefix(&stem).is_some_and(|rest| rest.starts_with('.'));
        if ours
            && path.extension().is_some_and(|end| end == "job")
            && let Some(text) = read(&path)
        {
            found.push(Announced { text, path });
        }
    }
    Ok(found)
}

/// The text, if somebody holds the file; else it is removed.
fn read(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => {
            drop(fs::remove_file(path));
            return None;
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
    }
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_announced_is_seen_until_it_ends_and_can_be_asked_to_stop() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("0123.db");
        let announcement = Announcement::make(&store, "a\njob").unwrap();
        let seen = all(&store).unwrap();
        assert_eq!(seen.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["a job"]);
        assert_eq!(all(&folder.path().join("9999.db")).unwrap(), [], "another root's");
        assert!(!announcement.stop_asked() && seen[0].holds());
        seen[0].ask_to_stop().unwrap();
        assert!(announcement.stop_asked());
        assert_eq!(all(&store).unwrap(), seen);
        drop(announcement);
        assert!(!seen[0].holds() && seen[0].ask_to_stop().is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_nobody_holds_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("0123.db");
        let left = folder.path().join("0123.feed.job");
        fs::write(&left, "{}\n").unwrap();
        assert_eq!(all(&store).unwrap(), []);
        assert!(!left.exists());
    }
}
