//! Captured output: small in memory, larger in an unlinked file.

mod writer;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

pub(crate) use writer::SpoolWriter;

/// Output up to this many bytes stays in memory.
pub const MEMORY_LIMIT_BYTES: usize = 64 * 1024;

/// The captured bytes of one stream. Cheap to clone; its file disappears with the last clone.
#[derive(Clone)]
pub struct Spool {
    kept: Kept,
}

#[derive(Clone)]
enum Kept {
    Memory(Arc<[u8]>),
    File { file: Arc<File>, len: u64 },
}

impl Spool {
    /// A spool that holds `bytes`.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { kept: Kept::Memory(bytes.into()) }
    }

    /// A spool over the first `len` bytes of `file`.
    pub(crate) fn from_file(file: Arc<File>, len: u64) -> Self {
        Self { kept: Kept::File { file, len } }
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match &self.kept {
            Kept::Memory(bytes) => bytes.len() as u64,
            Kept::File { len, .. } => *len,
        }
    }

    /// Whether nothing was captured.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, when they are few enough to be in memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.kept {
            Kept::Memory(bytes) => Some(bytes),
            Kept::File { .. } => None,
        }
    }

    /// Reads the bytes from the start. Readers are independent of each other.
    pub fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Reader { kept: self.kept.clone(), at: 0 }))
    }

    /// Reads from `offset` on; 0 at the end.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read_at(&self.kept, offset, buffer)
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").field("len", &self.len()).finish_non_exhaustive()
    }
}

struct Reader {
    kept: Kept,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = read_at(&self.kept, self.at, buffer)?;
        self.at += n as u64;
        Ok(n)
    }
}

fn read_at(kept: &Kept, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    match kept {
        Kept::Memory(bytes) => Ok(read_memory(bytes, offset, buffer)),
        Kept::File { file, len } => {
            let rest = len.saturating_sub(offset).min(buffer.len() as u64) as usize;
            file.read_at(&mut buffer[..rest], offset)
        }
    }
}

fn read_memory(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let n = rest.len().min(buffer.len());
    buffer[..n].copy_from_slice(&rest[..n]);
    n
}
