//! Reads small files of the user, whatever lies in their place.

use std::{
    fs::{self, OpenOptions},
    io::Read as _,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

/// Bytes of a file that are read; longer ones are no configuration.
const MOST_BYTES: u64 = 1 << 20;

/// The text of a regular file; `None` when there is none that can be read.
pub(super) fn read(path: &Path) -> Option<String> {
    let mut options = OpenOptions::new();
    // A pipe in the place of a file must not hold us.
    let file =
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path).ok()?;
    let kind = file.metadata().ok()?;
    if !kind.is_file() || kind.len() > MOST_BYTES {
        return None;
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What changes when a file changes; the same for each that is not there.
pub(super) fn stamp(path: &Path) -> (u64, i64, i64, u64) {
    fs::metadata(path)
        .map_or((0, 0, 0, 0), |found| (found.ino(), found.mtime(), found.mtime_nsec(), found.len()))
}
