//! Starting one command line under a supervisor, and stopping it: the crate's only way to a process.
//!
//! ```text
//! server ── supervisor (own session) ── the program in its box, or without one ── whatever
//! ```
//!
//! Every program has a supervisor of its own, which the launcher has forked ([`crate::sandbox`]). It
//! waits for the main process, stops what is left below it, reports and ends; one whose program ran
//! without a box takes the next one, when nothing is left below it. Its socket tells it
//! when the server has had enough, or is gone, so that `kill -9` of the server ends the tree as well.

mod supervisor;
mod sweep;

use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::confinement::{Boxes, Place};
use crate::sandbox::{Given, Launcher, Limits, Profile, Rung, Specification};

use supervisor::Ways;
pub(crate) use supervisor::{Received, STOP_LIMIT, Supervisor};

/// How long what a program without a box has left may still end by itself: enough for the consumers
/// of a process substitution to finish, short for a person.
const GRACE: Duration = Duration::from_millis(200);

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

impl Launch<'_> {
    /// Starts the program in a box. A box that cannot be built, and a program that cannot be
    /// executed, are not errors here: the supervisor reports them.
    pub(crate) fn start_boxed(
        &self,
        launcher: &Arc<Launcher>,
        boxes: &Arc<Boxes>,
        rung: Rung,
    ) -> io::Result<Supervisor> {
        let place = &self.place;
        let joined = place.root.and_then(|root| boxes.network(root));
        let profile = boxes.profile(place, &self.program, &self.cwd, self.environment.clone());
        let mut specification =
            Specification::boxed(rung, profile, &self.program, &self.arguments)?;
        specification.share_network = place.shares_ports && joined.is_none();
        let given = Given { join: joined.as_deref(), ..self.given() };
        let supervised = launcher.order(specification, &given)?;
        let ways = Ways {
            boxes: Arc::clone(boxes),
            root: place.root.map(PathBuf::from),
            outbound: place.outbound.cloned(),
            outlet: None,
            network: joined.filter(|_| place.shares_ports),
        };
        Ok(Supervisor::new(launcher, supervised, Some(ways)))
    }

    /// Starts the program without a box, where the user chose so. One that cannot be executed is not
    /// an error here either.
    pub(crate) fn start_unconfined(&self, launcher: &Arc<Launcher>) -> io::Result<Supervisor> {
        let profile = Profile {
            environment: self.environment.clone(),
            limits: Limits { grace: GRACE, ..Limits::default() },
            ..Profile::new(self.cwd.clone(), self.cwd.clone())
        };
        let specification = Specification::bare(profile, &self.program, &self.arguments);
        let supervised = launcher.order(specification, &self.given())?;
        Ok(Supervisor::new(launcher, supervised, None))
    }

    fn given(&self) -> Given<'_> {
        Given { stdin: self.stdin, stdout: self.stdout, stderr: self.stderr, join: None }
    }
}
