//! Everything the forked child needs, laid out before the fork, because it must not allocate after.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr;

use super::Launch;

/// C strings and descriptor numbers of one launch. The pointers point into the strings beside
/// them, whose heap buffers do not move with the structure.
pub(super) struct Prepared {
    pub(super) program: CString,
    pub(super) argv: Vec<*const libc::c_char>,
    pub(super) envp: Vec<*const libc::c_char>,
    pub(super) cwd: CString,
    pub(super) stdin: RawFd,
    pub(super) stdout: RawFd,
    pub(super) stderr: RawFd,
    pub(super) report: RawFd,
    pub(super) server: libc::pid_t,
    _strings: Vec<CString>,
    _moved: Vec<OwnedFd>,
}

impl Prepared {
    pub(super) fn new(launch: &Launch<'_>, report: BorrowedFd<'_>) -> io::Result<Self> {
        let mut strings = Vec::with_capacity(launch.arguments.len() + launch.environment.len());
        let mut argv = Vec::with_capacity(launch.arguments.len() + 1);
        for argument in &launch.arguments {
            let string = c_string(argument)?;
            argv.push(string.as_ptr());
            strings.push(string);
        }
        argv.push(ptr::null());
        let mut envp = Vec::with_capacity(launch.environment.len() + 1);
        for (name, value) in &launch.environment {
            let mut line = Vec::with_capacity(name.len() + value.len() + 2);
            line.extend_from_slice(name.as_bytes());
            line.push(b'=');
            line.extend_from_slice(value.as_bytes());
            let string = CString::new(line).map_err(invalid)?;
            envp.push(string.as_ptr());
            strings.push(string);
        }
        envp.push(ptr::null());
        let mut moved = Vec::new();
        Ok(Self {
            program: c_string(launch.program.as_os_str())?,
            argv,
            envp,
            cwd: c_string(launch.cwd.as_os_str())?,
            stdin: above_standard(launch.stdin, &mut moved)?,
            stdout: above_standard(launch.stdout, &mut moved)?,
            stderr: above_standard(launch.stderr, &mut moved)?,
            report: above_standard(report, &mut moved)?,
            server: rustix::process::getpid().as_raw_nonzero().get(),
            _strings: strings,
            _moved: moved,
        })
    }
}

/// The descriptor's number, of a copy when it is 0, 1 or 2: a server started with a closed standard
/// stream gets such numbers for its pipes, and putting one stream in place would destroy another.
fn above_standard(fd: BorrowedFd<'_>, moved: &mut Vec<OwnedFd>) -> io::Result<RawFd> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd.as_raw_fd());
    }
    let copy = rustix::io::fcntl_dupfd_cloexec(fd, 3)?;
    let number = copy.as_raw_fd();
    moved.push(copy);
    Ok(number)
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(invalid)
}

fn invalid(source: std::ffi::NulError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, source)
}
