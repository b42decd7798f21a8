//! Standard input and output as asynchronous byte streams, whatever kind of file they are.
//!
//! Clients hand over pipes, Unix sockets or files. `O_NONBLOCK` would be shared with every other
//! process that holds the same pipe (a shell around us, say) and outlive us, so it is never set:
//! a socket is asked per call not to wait, anything else is asked by `poll` whether it would.

use std::{io, os::fd::OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FileType, Mode, OFlags},
    io::Errno,
    net::{RecvFlags, SendFlags},
};
use tokio::io::{Interest, unix::AsyncFd};

use super::watched::watch;

/// Bytes that are asked for at once.
const READ_SIZE: usize = 64 << 10;

/// A pipe that `poll` calls writable takes this much without waiting.
const PIPE_WRITE: usize = 4096;

/// Where the bytes come from.
#[derive(Debug)]
pub(super) struct Input(Stream);

/// Where the bytes go.
#[derive(Debug)]
pub(super) struct Output(Stream);

#[derive(Debug)]
enum Stream {
    Socket(AsyncFd<OwnedFd>),
    Polled(AsyncFd<OwnedFd>),
    /// A regular file or `/dev/null`: the kernel cannot watch it, because it never waits.
    Ready(OwnedFd),
}

/// Takes the protocol's streams for ourselves.
///
/// What stays behind as descriptors 0 and 1 is `/dev/null` and standard error: no stray print and
/// no child can get between the messages.
pub(super) fn take() -> io::Result<(Input, Output)> {
    let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    streams(input, output)
}

/// The two directions of the protocol over any pair of descriptors.
pub(super) fn streams(input: OwnedFd, output: OwnedFd) -> io::Result<(Input, Output)> {
    Ok((
        Input(Stream::new(input, Interest::READABLE)?),
        Output(Stream::new(output, Interest::WRITABLE)?),
    ))
}

impl Stream {
    fn new(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
        if kind == FileType::RegularFile {
            return Ok(Self::Ready(fd));
        }
        match watch(fd, interest) {
            Ok(fd) if kind == FileType::Socket => Ok(Self::Socket(fd)),
            Ok(fd) => Ok(Self::Polled(fd)),
            Err((fd, _)) => Ok(Self::Ready(fd)),
        }
    }
}

/// Whether `fd` would answer at once; `None` if it would wait.
fn ready(fd: &OwnedFd, flags: PollFlags) -> Result<Option<()>, Errno> {
    let mut fds = [PollFd::new(fd, flags)];
    let count = poll(&mut fds, Some(&Timespec::default()))?;
    Ok((count > 0).then_some(()))
}

/// `None` for "would wait".
fn unless_waiting<T>(result: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Input {
    /// Appends what has arrived, waiting until something has; 0 at the end of the stream.
    ///
    /// Nothing is lost when the future is dropped.
    pub(super) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        buffer.reserve(READ_SIZE);
        loop {
            let (fd, taken) = match &self.0 {
                Stream::Ready(fd) => match rustix::io::read(fd, spare(buffer)) {
                    Err(Errno::INTR) => continue,
                    result => return Ok(result?),
                },
                Stream::Polled(fd) => {
                    let taken = match ready(fd.get_ref(), PollFlags::IN) {
                        Ok(Some(())) => unless_waiting(rustix::io::read(fd, spare(buffer))),
                        other => other.map(|_| None),
                    };
                    (fd, taken)
                }
                Stream::Socket(fd) => {
                    let taken = rustix::net::recv(fd, spare(buffer), RecvFlags::DONTWAIT);
                    (fd, unless_waiting(taken.map(|(count, _)| count)))
                }
            };
            if let Some(count) = taken? {
                return Ok(count);
            }
            let mut guard = fd.readable().await?;
            if let Ok(None) = ready(fd.get_ref(), PollFlags::IN) {
                guard.clear_ready();
            }
        }
    }
}

/// The room that was reserved.
fn spare(buffer: &mut Vec<u8>) -> rustix::buffer::SpareCapacity<'_, u8> {
    rustix::buffer::spare_capacity(buffer)
}

impl Output {
    /// Writes all of `bytes`, waiting for room as often as need be.
    pub(super) async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (fd, taken) = match &self.0 {
                Stream::Ready(fd) => match rustix::io::write(fd, bytes) {
                    Err(Errno::INTR) => continue,
                    result => {
                        bytes = bytes.get(result?..).unwrap_or_default();
                        continue;
                    }
                },
                Stream::Polled(fd) => {
                    let taken = match ready(fd.get_ref(), PollFlags::OUT) {
                        Ok(Some(())) => {
                            let piece = bytes.get(..PIPE_WRITE).unwrap_or(bytes);
                            unless_waiting(rustix::io::write(fd, piece))
                        }
                        other => other.map(|_| None),
                    };
                    (fd, taken)
                }
                Stream::Socket(fd) => {
                    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                    (fd, unless_waiting(rustix::net::send(fd, bytes, flags)))
                }
            };
            if let Some(count) = taken? {
                bytes = bytes.get(count..).unwrap_or_default();
                continue;
            }
            let mut guard = fd.writable().await?;
            if let Ok(None) = ready(fd.get_ref(), PollFlags::OUT) {
                guard.clear_ready();
            }
        }
        Ok(())
    }
}
