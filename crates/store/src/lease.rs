//! A lease that ends with its process: a locked file in the data folder.
//!
//! The kernel gives the lock back however the process ends, and it holds across process namespaces
//! that share the folder, where process numbers mean nothing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::gate;

/// Held by one open store; its token marks what that store is busy with.
#[derive(Debug)]
pub(crate) struct Lease {
    token: String,
    path: PathBuf,
    _file: File,
}

impl Lease {
    /// Takes a new lease beside the store's file.
    pub(crate) fn take(store: &Path) -> io::Result<Lease> {
        gate::make_folder(store.parent().unwrap_or(Path::new(".")))?;
        let token = format!("{:016x}", RandomState::new().build_hasher().finish());
        let path = lease_path(store, &token);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.lock()?;
        Ok(Lease { token, path, _file: file })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A file that stays behind is removed by whoever finds the lease ended.
        drop(fs::remove_file(&self.path));
    }
}

/// Whether the process that took this lease still runs.
pub(crate) fn is_alive(store: &Path, token: &str) -> bool {
    let path = lease_path(store, token);
    let Ok(file) = File::open(&path) else { return false };
    match file.try_lock_shared() {
        Ok(()) => {
            drop(fs::remove_file(&path));
            false
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

fn lease_path(store: &Path, token: &str) -> PathBuf {
    store.with_extension(format!("{token}.live"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_alive_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("a.db");
        let lease = Lease::take(&store).unwrap();
        let token = lease.token().to_owned();
        assert!(is_alive(&store, &token));
        assert!(!is_alive(&store, "0000000000000000"));
        drop(lease);
        assert!(!is_alive(&store, &token));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_left_behind_is_no_lease() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("a.db");
        fs::write(lease_path(&store, "feed"), "").unwrap();
        assert!(!is_alive(&store, "feed"));
        assert!(!lease_path(&store, "feed").exists());
    }
}
