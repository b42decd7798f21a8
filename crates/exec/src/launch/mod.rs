//! Starting one command line under a supervisor, and stopping it: the crate's only way to a process.
//!
//! A [`Launch`] is a plain description. The unconfined way to carry it out is [`Launch::start`];
//! confinement is a rewriting of the description before that ([`crate::executor`] has the seam).
//!
//! # Who watches whom
//!
//! ```text
//! server thread ── supervisor (own session, subreaper) ── main process (own group) ── whatever
//! ```
//!
//! The supervisor is a fork of the server that never executes anything else. It waits for the main
//! process, stops what is left below it, writes one [`Report`] and ends. The kernel tells it when
//! the server's thread is gone (parent-death signal), so that `kill -9` of the server ends the tree
//! as well. The signal follows the *thread* that forked: callers stay in that thread until the end.

mod child;
mod prepare;
mod process;
mod report;
mod sweep;

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

pub(crate) use process::{Launched, Received, STOP_LIMIT};
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
}
