//! Descriptors: read the specification, close what was inherited, let go of the streams.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

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
    let length = usize::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0);
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let read = rustix::io::pread(file, rest, filled as u64)?;
        if read == 0 {
            return Err(rustix::io::Errno::IO);
        }
        filled += read;
    }
    Ok(bytes)
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
