//! The log of a daemon in the background: two files of bounded size.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// Bytes after which the file is set aside, in the place of the one that was set aside before.
const LIMIT: u64 = 1 << 20;

/// The file that is being written.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
}

/// Where the older lines are.
pub(super) fn older(path: &Path) -> PathBuf {
    path.with_extension("1")
}

/// Opens a log to write at its end; nobody else may read it.
pub(super) fn append(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

impl LogFile {
    /// Continues the log at `path`.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = append(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), open: Mutex::new(Open { file, bytes }) })
    }
}

impl Write for &LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.bytes > 0 && open.bytes + line.len() as u64 > LIMIT {
            fs::rename(&self.path, older(&self.path))?;
            let file = append(&self.path)?;
            // What is written past the log, such as a panic, follows.
            rustix::stdio::dup2_stderr(&file)?;
            *open = Open { file, bytes: 0 };
        }
        let written = open.file.write(line)?;
        open.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
