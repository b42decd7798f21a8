//! Following one command line from its start to its end: output, report, deadline, cancel.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cancel::Cancel;
use crate::capture::{Capture, Room};
use crate::launch::{Received, STOP_LIMIT, Supervisor};
use crate::request::Exit;
use crate::sandbox::Failure;
use crate::signal;

/// How often a cancel flag without a descriptor is looked at.
const TICK: Duration = Duration::from_millis(100);

/// What may end a run from outside.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a Cancel,
    pub(crate) shutdown: &'a Cancel,
}

impl Limits<'_> {
    /// Why the run must not go on now, if it must not.
    pub(crate) fn reached(&self) -> Option<Exit> {
        if self.cancel.is_cancelled() || self.shutdown.is_cancelled() {
            return Some(Exit::Cancelled);
        }
        self.deadline.filter(|deadline| Instant::now() >= *deadline).map(|_| Exit::TimedOut)
    }
}

/// How one command line ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It ran.
    Ran { exit: Exit, left_behind: u32 },
    /// Its box could not be built, or it could not be started.
    Refused(Failure),
}

/// Follows the launched program until nothing of it is left but its supervisor, which is ending
/// and remains to be reaped.
pub(crate) fn watch(
    launched: &mut Supervisor,
    capture: &mut Capture,
    limits: Limits<'_>,
) -> io::Result<Ended> {
    // Set once the tree is being stopped: why, and until when that may take.
    let mut stopping: Option<(Exit, Instant)> = None;
    let ended = loop {
        if stopping.is_none()
            && let Some(exit) = limits.reached()
        {
            launched.stop();
            stopping = Some((exit, Instant::now() + STOP_LIMIT));
        }
        if let Some((_, until)) = stopping
            && Instant::now() >= until
        {
            launched.kill();
            break None;
        }
        let ready = wait(launched, capture, limits, stopping.map(|(_, until)| until))?;
        for number in ready.pipes.into_iter().flatten() {
            // Over the cap the reading goes on, so that nobody blocks, and nothing is kept.
            if capture.pump(number) == Room::Exceeded
                && !matches!(stopping, Some((Exit::OutputCap, _)))
            {
                launched.stop();
                stopping = Some((Exit::OutputCap, Instant::now() + STOP_LIMIT));
            }
        }
        if ready.report {
            match launched.try_report()? {
                Received::Nothing => {}
                Received::Ended(ended) => break Some(ended),
                Received::Refused(failure) => return Ok(Ended::Refused(failure)),
                Received::End => break None,
            }
        }
    };
    let over = capture.finish() == Room::Exceeded;
    let (exit, left_behind) = if let Some(ended) = ended {
        let own = signal::exit_of(ended.wait_status);
        // A program that ended by itself just before it was told to has its own exit.
        (stopping.filter(|_| ended.stopped).map_or(own, |(exit, _)| exit), ended.left_behind)
    } else {
        let own = launched.reap().map_or(Exit::Code(-1), signal::exit_of);
        (stopping.map_or(own, |(exit, _)| exit), 0)
    };
    let capped = over || matches!(stopping, Some((Exit::OutputCap, _)));
    Ok(Ended::Ran { exit: if capped { Exit::OutputCap } else { exit }, left_behind })
}

struct Ready {
    pipes: [Option<usize>; 2],
    report: bool,
}

/// Waits until something can be read, a limit is reached, or `until`.
fn wait(
    launched: &Supervisor,
    capture: &Capture,
    limits: Limits<'_>,
    until: Option<Instant>,
) -> io::Result<Ready> {
    let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(5);
    let mut numbers = [None; 2];
    let mut n_pipes = 0;
    for (number, end) in capture.open_ends() {
        numbers[n_pipes] = Some(number);
        n_pipes += 1;
        fds.push(PollFd::from_borrowed_fd(end, PollFlags::IN));
    }
    fds.push(PollFd::from_borrowed_fd(launched.report_fd(), PollFlags::IN));
    let mut time_limit = until;
    if until.is_none() {
        time_limit = limits.deadline;
        for flag in [limits.cancel, limits.shutdown] {
            if let Some(wake) = flag.wake() {
                fds.push(readable(wake));
            } else {
                let tick = Instant::now() + TICK;
                time_limit = Some(time_limit.map_or(tick, |limit| limit.min(tick)));
            }
        }
    }
    let timeout = time_limit.map(|limit| {
        let left = limit.saturating_duration_since(Instant::now());
        Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
    });
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Ready { pipes: [None; 2], report: false }),
        Err(error) => return Err(error.into()),
    }
    for (at, number) in numbers.iter_mut().enumerate().take(n_pipes) {
        if fds[at].revents().is_empty() {
            *number = None;
        }
    }
    Ok(Ready { pipes: numbers, report: !fds[n_pipes].revents().is_empty() })
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}
