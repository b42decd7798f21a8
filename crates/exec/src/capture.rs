//! Draining the pipes of one run into its spools, together, up to the cap.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use crate::request::Streams;
use crate::spool::SpoolWriter;

/// One read of a program that prints much; also the size from which on a pipe is worth enlarging.
const BUFFER_BYTES: usize = 64 * 1024;

/// One read until a program has filled one: most print less, and a large buffer costs each of them.
const FIRST_BYTES: usize = 4 * 1024;

/// A larger pipe halves the switches between a chatty program and this thread. Users have a
/// kernel limit on it; a refusal costs nothing.
const LARGE_PIPE_BYTES: usize = 1024 * 1024;

/// Reads from one pipe per turn, so that the other one, the deadline and the cancel get theirs.
const READS_PER_TURN: usize = 16;

/// The reading ends, where their bytes go, and how many there were.
pub(crate) struct Capture {
    pipes: [Pipe; 2],
    buffer: Vec<u8>,
    seen_bytes: u64,
    cap_bytes: u64,
}

struct Pipe {
    end: Option<OwnedFd>,
    spool: SpoolWriter,
    enlarged: bool,
}

/// The writing ends for the program. The server drops its copies right after the start.
pub(crate) struct ProgramEnds {
    stdout: OwnedFd,
    /// `None` when both streams go into one pipe.
    stderr: Option<OwnedFd>,
}

impl ProgramEnds {
    pub(crate) fn stdout(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }

    pub(crate) fn stderr(&self) -> BorrowedFd<'_> {
        self.stderr.as_ref().unwrap_or(&self.stdout).as_fd()
    }
}

/// Whether the program may go on printing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    /// More than the cap came; what is over it was dropped.
    Exceeded,
}

impl Capture {
    /// No pipe is open yet; [`Self::connect`] opens them, once per command line.
    pub(crate) fn new(stdout: SpoolWriter, stderr: SpoolWriter, cap_bytes: u64) -> Self {
        let pipe = |spool| Pipe { end: None, spool, enlarged: false };
        Self { pipes: [pipe(stdout), pipe(stderr)], buffer: Vec::new(), seen_bytes: 0, cap_bytes }
    }

    /// Fresh pipes for one command line.
    pub(crate) fn connect(&mut self, streams: Streams) -> io::Result<ProgramEnds> {
        let stdout = self.pipes[0].open()?;
        let stderr = match streams {
            Streams::Separate => Some(self.pipes[1].open()?),
            Streams::Merged => None,
        };
        Ok(ProgramEnds { stdout, stderr })
    }

    /// The open reading ends with their numbers.
    pub(crate) fn open_ends(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let ends = self.pipes.iter().enumerate();
        ends.filter_map(|(number, pipe)| pipe.end.as_ref().map(|end| (number, end.as_fd())))
    }

    /// Takes what is in the pipe now, a bounded amount of it, without waiting.
    pub(crate) fn pump(&mut self, number: usize) -> Room {
        self.pump_reads(number, READS_PER_TURN)
    }

    /// The last drain: every writer is gone, or none of this run's business any more. Takes what
    /// the pipes hold, without waiting, and closes them.
    pub(crate) fn finish(&mut self) -> Room {
        let mut room = Room::Left;
        for number in 0..self.pipes.len() {
            // Bounded by what a pipe can hold: a stranger that still writes does not hold us up.
            let reads = 2 * LARGE_PIPE_BYTES / BUFFER_BYTES;
            if self.pump_reads(number, reads) == Room::Exceeded {
                room = Room::Exceeded;
            }
            self.pipes[number].end = None;
        }
        room
    }

    fn pump_reads(&mut self, number: usize, reads: usize) -> Room {
        if self.buffer.is_empty() {
            self.buffer = vec![0; FIRST_BYTES];
        }
        for _ in 0..reads {
            let pipe = &mut self.pipes[number];
            let Some(end) = &pipe.end else { break };
            match rustix::io::read(end, &mut self.buffer[..]) {
                Ok(0) => pipe.end = None,
                Ok(n) => {
                    let room = self.cap_bytes.saturating_sub(self.seen_bytes);
                    let kept = room.min(n as u64) as usize;
                    pipe.spool.append(&self.buffer[..kept]);
                    self.seen_bytes = self.seen_bytes.saturating_add(n as u64);
                    if kept < n {
                        return Room::Exceeded;
                    }
                    if n == BUFFER_BYTES && !pipe.enlarged {
                        pipe.enlarged = true;
                        let _ = fcntl_setpipe_size(end, LARGE_PIPE_BYTES);
                    }
                    if n == self.buffer.len() && n < BUFFER_BYTES {
                        self.buffer = vec![0; BUFFER_BYTES];
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::warn!(%error, "a program's pipe could not be read");
                    pipe.end = None;
                }
            }
        }
        Room::Left
    }
}

impl Pipe {
    fn open(&mut self) -> io::Result<OwnedFd> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        // Only the reading end: a program that finds its output non-blocking may lose some of it.
        rustix::fs::fcntl_setfl(&reading, OFlags::NONBLOCK)?;
        self.end = Some(reading);
        self.enlarged = false;
        Ok(writing)
    }
}
