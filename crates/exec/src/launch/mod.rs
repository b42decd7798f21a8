//! Starting one command line under a supervisor, and stopping it: the crate's only way to a process.
//!
//! A [`Launch`] is a plain description, and a [`Supervisor`] is what watches over the program once
//! it was started. [`Launch::start_boxed`] and [`Launch::start_unconfined`] lead from the first to
//! the second, and [`crate::executor::Shared::start`] is the one place that chooses the way.
//!
//! # Who watches whom
//!
//! In a box the supervisor is the box's own ([`crate::sandbox`]). Without confinement:
//!
//! ```text
//! server thread ── supervisor (own session, subreaper) ── main process (own group) ── whatever
//! ```
//!
//! The supervisor is a fork of the server that never executes anything else. It waits for the main
//! process, stops what is left below it, writes one [`Report`] and ends. The kernel tells it when
//! the server's thread is gone (parent-death signal), so that `kill -9` of the server ends the tree
//! as well. The signal follows the *thread* that forked: callers stay in that thread until the end.

mod boxed;
mod child;
mod prepare;
mod process;
mod report;
mod sweep;
mod tree;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use crate::confinement::Place;
use crate::sandbox::Failure;

pub(crate) use process::STOP_LIMIT;
pub(crate) use report::{Report, Step};

/// How long the supervisor waits for leftovers to end by themselves once the main process has
/// ended: enough for the consumers of a process substitution to finish, short for a person.
pub(crate) const GRACE_MILLISECONDS: u32 = 200;

/// One command line with everything it is started with.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    /// Absolute path of the program.
    pub(crate) program: PathBuf,
    /// Arguments, the zeroth included.
    pub(crate) arguments: Vec<OsString>,
    /// The whole environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Working directory.
    pub(crate) cwd: PathBuf,
    /// Standard input.
    pub(crate) stdin: BorrowedFd<'a>,
    /// Standard output.
    pub(crate) stdout: BorrowedFd<'a>,
    /// Standard error.
    pub(crate) stderr: BorrowedFd<'a>,
    /// Where it works, for its box.
    pub(crate) place: Place<'a>,
}

/// What watches over a started program and ends with it. Dropping one that was not reaped stops
/// the program with everything below it.
pub(crate) trait Supervisor: fmt::Debug {
    /// Readable once the report is there, or will never come.
    fn report_fd(&self) -> BorrowedFd<'_>;

    /// The report, when it has arrived.
    fn try_report(&mut self) -> io::Result<Received>;

    /// Tells it to stop everything and to report; returns at once.
    fn stop(&self);

    /// Ends it by force, with what can be found of the program, because it took too long to stop.
    fn kill(&mut self);

    /// Collects it when it has reported or was killed. Returns its wait status.
    fn reap(&mut self) -> Option<i32>;

    /// Lets go of it once it has reported: it ends by itself.
    fn release(self: Box<Self>);

    /// What the program asked of the network and did not get ([`crate::Outlet::blocked`]).
    fn blocked(&self) -> Option<String> {
        None
    }
}

/// What has come from a supervisor.
#[derive(Debug)]
pub(crate) enum Received {
    /// Nothing yet.
    Nothing,
    /// The report.
    Report(Report),
    /// The box could not be built, or the program not be started in it; nothing ran.
    Refused(Failure),
    /// It ended without a report, which takes somebody else's SIGKILL; what it could not stop any
    /// more has been stopped as far as it can be found.
    End,
}
