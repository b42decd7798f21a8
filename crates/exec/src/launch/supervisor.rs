//! The server's end of a started program: its supervisor's socket and process.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::sweep;
use crate::confinement::{Boxes, Outbound, Outlet};
use crate::sandbox::{
    Ended, Event, Failure, Keeper, Launcher, Link, NetworkNamespace, Started, Supervised,
};

/// How long a supervisor may take to stop its program before it is killed itself. Cancelling
/// promises two seconds in all.
pub(crate) const STOP_LIMIT: Duration = Duration::from_millis(1500);

/// What watches over a started program and ends with it. Dropping one that was not reaped stops
/// the program with everything below it.
#[derive(Debug)]
pub(crate) struct Supervisor {
    link: Link,
    process: Pid,
    /// `None` once it was collected: until then its number is its own.
    keeper: Option<Keeper>,
    launcher: Arc<Launcher>,
    /// Whether it was told to stop.
    told: bool,
    /// Whether it waits for another order.
    free: bool,
    /// `None`: the program is not confined.
    ways: Option<Ways>,
}

/// The ways between a box and the rest.
#[derive(Debug)]
pub(super) struct Ways {
    pub(super) boxes: Arc<Boxes>,
    pub(super) root: Option<PathBuf>,
    pub(super) outbound: Option<Arc<dyn Outbound>>,
    pub(super) outlet: Option<Box<dyn Outlet>>,
    /// Held by background programs, so that later ones can join.
    pub(super) network: Option<Arc<NetworkNamespace>>,
}

/// What has come from a supervisor.
#[derive(Debug)]
pub(crate) enum Received {
    /// Nothing yet.
    Nothing,
    /// The program has ended, and nothing of it runs any more.
    Ended(Ended),
    /// The box could not be built, or the program not be started; nothing ran.
    Refused(Failure),
    /// It ended without a word, which takes somebody else's SIGKILL; what it could not stop any
    /// more has been stopped as far as it can be found.
    End,
}

impl Supervisor {
    pub(super) fn new(
        launcher: &Arc<Launcher>,
        supervised: Supervised,
        ways: Option<Ways>,
    ) -> Self {
        let Supervised { process, link, keeper } = supervised;
        let launcher = Arc::clone(launcher);
        Self { link, process, keeper: Some(keeper), launcher, told: false, free: false, ways }
    }

    /// Readable once there is something to receive.
    pub(crate) fn report_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    /// What has arrived.
    pub(crate) fn try_report(&mut self) -> io::Result<Received> {
        loop {
            match self.link.receive()? {
                None => return Ok(Received::Nothing),
                Some(Event::Started(started)) => {
                    if let Some(ways) = &mut self.ways {
                        ways.open(started)?;
                    }
                }
                Some(Event::Layers(_)) => {}
                Some(Event::Failed(failure)) => return Ok(Received::Refused(failure)),
                Some(Event::Ended(ended)) => {
                    self.free = ended.free && !self.told;
                    return Ok(Received::Ended(ended));
                }
                Some(Event::Closed) => {
                    self.sweep();
                    return Ok(Received::End);
                }
            }
        }
    }

    /// Tells it to stop everything and to report; returns at once.
    pub(crate) fn stop(&mut self) {
        self.told = true;
        self.link.stop();
        // A program that is not confined may have halted it.
        if self.ways.is_none() {
            self.signal(Signal::CONT);
        }
    }

    /// Ends it by force, with what can be found of the program, because it took too long to stop.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.sweep();
    }

    /// What is in a box dies with it.
    fn sweep(&self) {
        if self.ways.is_none() && self.keeper.is_some() {
            sweep::kill_session(self.process);
        }
    }

    fn signal(&self, signal: Signal) {
        if self.keeper.is_some()
            && let Err(error) = kill_process(self.process, signal)
        {
            tracing::debug!(%error, "a supervisor could not be signalled");
        }
    }

    /// Collects it when it has reported or was killed. Returns its wait status.
    pub(crate) fn reap(&mut self) -> Option<i32> {
        // It outlives the wait, which the thread that it keeps alive must as well.
        let _keeper = self.keeper.take()?;
        let wait = || waitpid(Some(self.process), WaitOptions::empty());
        // An error where somebody ignores SIGCHLD: there is no status to have.
        let status = rustix::io::retry_on_intr(wait).ok().flatten();
        status.map(|(_, status)| status.as_raw())
    }

    /// Lets go of it once it has reported: it takes another order, or ends by itself.
    pub(crate) fn release(mut self) {
        match self.keeper.take() {
            Some(keeper) if self.free => {
                self.launcher.give_back(self.process, self.link.socket(), keeper);
            }
            Some(keeper) => keeper.collect(self.process),
            None => {}
        }
    }

    /// What the program asked of the network and did not get ([`crate::Outlet::blocked`]).
    pub(crate) fn blocked(&self) -> Option<String> {
        self.ways.as_ref()?.outlet.as_ref()?.blocked()
    }
}

impl Ways {
    fn open(&mut self, started: Started) -> io::Result<()> {
        if let Some((listener, outbound)) = started.proxy.zip(self.outbound.as_ref()) {
            self.outlet = Some(outbound.open(listener)?);
        }
        if let Some((network, root)) = started.network.zip(self.root.as_ref()) {
            self.network = Some(self.boxes.share(root, network));
        }
        Ok(())
    }
}

impl Drop for Supervisor {
    /// Only reached un-reaped when the run failed half way: nothing may be left running.
    fn drop(&mut self) {
        if self.keeper.is_some() {
            self.stop();
            self.reap();
        }
    }
}
