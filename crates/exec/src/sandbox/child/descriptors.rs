//! Descriptors: read the specification, close what was inherited, let go of the streams.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, SeekFrom, fstat, openat2};
use rustix::io::Errno;
use rustix::stdio::stdin;

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: u32) -> std::io::Result<()> {
    close_range(first, 0)
}

/// Marks every descriptor from `first` on to be closed by `exec`, so that a failing `exec` can
/// still be reported.
pub(super) fn close_from_on_exec(first: u32) -> std::io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: u32, flags: libc::c_uint) -> std::io::Result<()> {
    #[expect(unsafe_code, reason = "close_range has no safe wrapper")]
    // SAFETY: no memory is passed; the caller owns no descriptor above `first` that Rust still
    // uses (first thing in the process), or only marks them.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The whole of a memory file.
pub(super) fn read_all(file: &OwnedFd) -> rustix::io::Result<Vec<u8>> {
    let length = usize::try_from(fstat(file)?.st_size).unwrap_or(0);
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let read = rustix::io::pread(file, rest, filled as u64)?;
        if read == 0 {
            return Err(Errno::IO);
        }
        filled += read;
    }
    Ok(bytes)
}

/// The path of standard input on the host, where it is a file that has one.
pub(super) fn path_of_standard_input() -> Option<PathBuf> {
    let found = fstat(stdin()).ok()?;
    if !FileType::from_raw_mode(found.st_mode).is_file() || found.st_nlink == 0 {
        return None;
    }
    std::fs::read_link("/proc/self/fd/0").ok()
}

/// Opens standard input anew through the view. The server opened it on a mount of the host, which
/// may be written: by way of the descriptor (`/proc/self/fd/0`, `fchmod`) the program could change
/// what the view makes read-only. False where the view does not show the same file.
pub(super) fn reopen_standard_input(path: &Path) -> rustix::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let opened = match opened {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(false),
        Err(error) => return Err(error),
    };
    let (seen, given) = (fstat(&opened)?, fstat(stdin())?);
    if (seen.st_dev, seen.st_ino) != (given.st_dev, given.st_ino) {
        return Ok(false);
    }
    let offset = rustix::fs::tell(stdin())?;
    rustix::fs::seek(&opened, SeekFrom::Start(offset))?;
    rustix::fs::fcntl_setfl(&opened, OFlags::empty())?;
    rustix::stdio::dup2_stdin(&opened)?;
    Ok(true)
}

/// Replaces the three standard streams by `/dev/null`: a supervisor must not keep the program's
/// pipes open. Best effort; the pipes end with the supervisor anyway.
pub(super) fn let_go_of_standard_streams() {
    if let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
