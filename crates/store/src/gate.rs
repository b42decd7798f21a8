//! The gate of a store: every operation passes it shared; replacing the file takes it alone.
//!
//! Without it a process could go on writing into a damaged file that another one has set aside.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a replacement waits for operations under way, and an operation for a replacement.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which file a connection was opened on: device and inode.
pub(crate) type Seat = (u64, u64);

/// The file at `path` now.
pub(crate) fn seat(path: &Path) -> io::Result<Seat> {
    fs::metadata(path).map(|data| (data.dev(), data.ino()))
}

/// Makes the data folder, for its owner only.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let current = fs::metadata(folder);
    match current {
        Ok(data) if data.permissions().mode() & 0o7777 == 0o700 => return Ok(()),
        Ok(_) => {}
        Err(_) => fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?,
    }
    // The mode above went through the umask; a folder that was there may be open to others.
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

/// Opens a file for its owner only, and makes it if it is not there.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    if file.metadata()?.permissions().mode() & 0o7777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// One handle on the gate; each connection has its own, since a lock belongs to the handle.
#[derive(Debug)]
pub(crate) struct Gate {
    file: File,
}

/// A passage through the gate; ends when dropped.
#[derive(Debug)]
pub(crate) struct Passage<'a> {
    file: &'a File,
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        drop(self.file.unlock());
    }
}

impl Gate {
    /// Opens the gate beside the store's file.
    pub(crate) fn open(store: &Path) -> io::Result<Gate> {
        private_file(&store.with_extension("lock")).map(|file| Gate { file })
    }

    /// Passes together with others.
    pub(crate) fn pass(&self) -> io::Result<Passage<'_>> {
        wait(|| self.file.try_lock_shared())?;
        Ok(Passage { file: &self.file })
    }

    /// Passes alone.
    pub(crate) fn pass_alone(&self) -> io::Result<Passage<'_>> {
        wait(|| self.file.try_lock())?;
        Ok(Passage { file: &self.file })
    }
}

fn wait(mut attempt: impl FnMut() -> Result<(), TryLockError>) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < end => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}
