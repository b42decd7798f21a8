//! Emptying and removing run directories, also against what a program did to them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::TEMPORARY;

/// Removes everything in a run's directory but its temporary directory, and everything in that.
/// Fails when the two are not what they were: then they are not used again.
pub(super) fn empty(path: &Path, temporary: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() != TEMPORARY {
            remove(&entry)?;
        }
    }
    for entry in fs::read_dir(temporary)? {
        remove(&entry?)?;
    }
    for directory in [path, temporary] {
        let data = fs::symlink_metadata(directory)?;
        if !data.is_dir() || data.permissions().mode() & 0o7777 != 0o700 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    Ok(())
}

fn remove(entry: &fs::DirEntry) -> io::Result<()> {
    if entry.file_type()?.is_dir() {
        fs::remove_dir_all(entry.path())
    } else {
        fs::remove_file(entry.path())
    }
}

/// Removes a directory with all it holds, also where a program took away its own permissions.
pub(super) fn remove_tree(path: &Path) {
    match fs::remove_dir_all(path) {
        Ok(()) => return,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(_) => open_permissions(path),
    }
    if let Err(error) = fs::remove_dir_all(path) {
        tracing::warn!(%error, "a private directory could not be removed");
    }
}

fn open_permissions(directory: &Path) {
    drop(fs::set_permissions(directory, fs::Permissions::from_mode(0o700)));
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_permissions(&entry.path());
        }
    }
}
