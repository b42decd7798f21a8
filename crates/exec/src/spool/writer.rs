//! The growing side of a spool: memory first, then an unlinked file; never an error, always a count.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

use super::{MEMORY_LIMIT_BYTES, Spool};
use crate::scratch::Scratch;

/// Collects one stream. Clones share it: a background job is read while it grows.
#[derive(Debug, Clone)]
pub(crate) struct SpoolWriter {
    state: Arc<Mutex<State>>,
    scratch: Arc<Scratch>,
}

#[derive(Debug)]
enum Kept {
    Memory(Vec<u8>),
    File { file: Arc<File>, len: u64, limit: u64 },
}

struct State {
    kept: Kept,
    /// Why nothing is kept any more.
    lost: Option<io::Error>,
    /// Bytes that were kept and are held by somebody else now.
    released: u64,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("len", &self.len())
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}

impl State {
    fn len(&self) -> u64 {
        self.released + self.kept.len()
    }
}

impl Kept {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { len, .. } => *len,
        }
    }
}

impl SpoolWriter {
    pub(crate) fn new(scratch: Arc<Scratch>) -> Self {
        let state = State { kept: Kept::Memory(Vec::new()), lost: None, released: 0 };
        Self { state: Arc::new(Mutex::new(state)), scratch }
    }

    /// Keeps the bytes. When the disk refuses, what is there stays and the rest is dropped, which
    /// [`Self::lost`] tells.
    pub(crate) fn append(&self, bytes: &[u8]) {
        let mut state = self.lock();
        if state.lost.is_some() {
            return;
        }
        if let Err(error) = append(&mut state.kept, bytes, &self.scratch) {
            tracing::warn!(%error, kept = state.kept.len(), "output is lost from here on");
            state.lost = Some(error);
        }
    }

    /// Bytes kept so far.
    pub(crate) fn len(&self) -> u64 {
        self.lock().len()
    }

    /// Lets go of the bytes, whose number is still told; the disk has their space back once nobody
    /// reads them any more. Nothing may be appended afterwards.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        state.released = state.len();
        state.kept = Kept::Memory(Vec::new());
    }

    /// From which byte on output is missing, and why; `None` when all of it is there.
    pub(crate) fn lost(&self) -> Option<String> {
        let state = self.lock();
        let error = state.lost.as_ref()?;
        Some(format!("not kept from byte {} on: {error}", state.kept.len()))
    }

    /// Reads kept bytes from `offset` on; 0 at the present end.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // A file is read outside the lock: the writer never waits for a reader's disk.
        let file = match &self.lock().kept {
            Kept::Memory(bytes) => {
                return Ok(super::read_memory(bytes, offset, buffer));
            }
            Kept::File { file, len, .. } => Spool::from_file(Arc::clone(file), *len),
        };
        file.read_at(offset, buffer)
    }

    /// What is kept up to now.
    pub(crate) fn snapshot(&self) -> Spool {
        match &self.lock().kept {
            Kept::Memory(bytes) => Spool::from_bytes(bytes.as_slice()),
            Kept::File { file, len, .. } => Spool::from_file(Arc::clone(file), *len),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn append(kept: &mut Kept, bytes: &[u8], scratch: &Scratch) -> io::Result<()> {
    if let Kept::Memory(memory) = kept {
        let room = MEMORY_LIMIT_BYTES - memory.len();
        if bytes.len() <= room {
            memory.extend_from_slice(bytes);
            return Ok(());
        }
        match open(memory, scratch) {
            Ok(file) => *kept = file,
            Err(error) => {
                memory.extend_from_slice(&bytes[..room]);
                return Err(error);
            }
        }
    }
    let Kept::File { file, len, limit } = kept else { return Ok(()) };
    let fits = limit.saturating_sub(*len).min(bytes.len() as u64) as usize;
    write_counted(file, &bytes[..fits], len)?;
    if fits < bytes.len() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    Ok(())
}

/// Moves what is in memory to a file.
fn open(memory: &[u8], scratch: &Scratch) -> io::Result<Kept> {
    let file = scratch.spool_file()?;
    // Writing beyond this limit would raise SIGXFSZ, whose default is to end the server.
    let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    let mut len = 0;
    if (memory.len() as u64) > limit {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    write_counted(&file, memory, &mut len)?;
    Ok(Kept::File { file: Arc::new(file), len, limit })
}

/// Writes at `len` and moves it by what was written, also when the disk fills up on the way.
fn write_counted(file: &File, mut bytes: &[u8], len: &mut u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, *len) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                *len += n as u64;
                bytes = &bytes[n..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read as _;

    fn scratch() -> (tempfile::TempDir, Arc<Scratch>) {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Arc::new(Scratch::new(vec![directory.path().join("scratch")]));
        (directory, scratch)
    }

    fn read_all(spool: &Spool) -> Vec<u8> {
        let mut bytes = Vec::new();
        spool.reader().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(pieces in prop::collection::vec(
            prop::collection::vec(any::<u8>(), 0..40_000), 0..6)) {
            let (_directory, scratch) = scratch();
            let writer = SpoolWriter::new(scratch);
            for piece in &pieces {
                writer.append(piece);
            }
            let whole = pieces.concat();
            let spool = writer.snapshot();
            prop_assert_eq!(spool.len(), whole.len() as u64);
            prop_assert_eq!(spool.bytes().is_some(), whole.len() <= MEMORY_LIMIT_BYTES);
            prop_assert_eq!(read_all(&spool), whole);
            prop_assert_eq!(writer.lost(), None);
        }
    }

    #[test]
    fn what_is_released_is_counted_and_gone_from_the_disk() {
        let (_directory, scratch) = scratch();
        let writer = SpoolWriter::new(scratch);
        writer.append(&vec![7; MEMORY_LIMIT_BYTES + 1]);
        let open = || {
            let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            targets.filter(|path| path.to_string_lossy().ends_with(" (deleted)")).count()
        };
        let before = open();
        writer.release();
        assert_eq!(writer.len(), MEMORY_LIMIT_BYTES as u64 + 1);
        assert_eq!(writer.read_at(0, &mut [0]).unwrap(), 0);
        assert_eq!(open(), before - 1);
    }

    #[test]
    fn an_older_snapshot_does_not_grow() {
        let (_directory, scratch) = scratch();
        let writer = SpoolWriter::new(scratch);
        writer.append(&vec![b'a'; MEMORY_LIMIT_BYTES + 1]);
        let before = writer.snapshot();
        writer.append(b"more");
        assert_eq!(read_all(&before).len(), MEMORY_LIMIT_BYTES + 1);
        assert_eq!(writer.len(), MEMORY_LIMIT_BYTES as u64 + 5);
        let mut tail = [0; 8];
        assert_eq!(writer.read_at(MEMORY_LIMIT_BYTES as u64 + 1, &mut tail).unwrap(), 4);
        assert_eq!(&tail[..4], b"more");
    }

    #[test]
    fn without_any_directory_memory_is_filled_and_the_loss_is_said() {
        let writer = SpoolWriter::new(Arc::new(Scratch::new(vec!["/proc/none".into()])));
        writer.append(&vec![b'a'; MEMORY_LIMIT_BYTES - 1]);
        assert_eq!(writer.lost(), None);
        writer.append(b"bcd");
        writer.append(b"e");
        assert_eq!(writer.len(), MEMORY_LIMIT_BYTES as u64);
        let lost = writer.lost().unwrap();
        assert!(lost.starts_with("not kept from byte 65536 on: "), "{lost}");
    }

    #[test]
    fn a_spool_survives_the_removal_of_its_directory() {
        let (directory, scratch) = scratch();
        let writer = SpoolWriter::new(scratch);
        writer.append(&vec![b'a'; MEMORY_LIMIT_BYTES + 1]);
        directory.close().unwrap();
        writer.append(&vec![b'b'; MEMORY_LIMIT_BYTES]);
        assert_eq!(writer.lost(), None);
        assert_eq!(read_all(&writer.snapshot()).len(), 2 * MEMORY_LIMIT_BYTES + 1);
    }
}
