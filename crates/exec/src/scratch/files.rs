//! Fresh files: private, and without a name where nobody needs one.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};

use super::NAME_TRIES;

/// A file without a name: it is gone with its last descriptor, however that happens.
pub(super) fn unnamed_file(directory: &Path) -> io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(fd) = openat(CWD, directory, flags, mode) {
        return Ok(fd.into());
    }
    // Some file systems (overlays, network) have no unnamed files.
    for _ in 0..NAME_TRIES {
        let path = directory.join(format!("{}.spool", random_name()?));
        match create_new(&path) {
            Ok(file) => {
                unlinkat(CWD, &path, AtFlags::empty())?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name"))
}

/// A new private file.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Short, because Unix sockets below it have room for about a hundred bytes of path.
pub(super) fn random_name() -> io::Result<String> {
    let mut bytes = [0u8; 4];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("{:08x}", u32::from_ne_bytes(bytes)))
}
