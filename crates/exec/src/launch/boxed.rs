//! A program in a box: its supervisor is the box's own, reached over the box's socket.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::report::Report;
use super::{Launch, Received, Supervisor};
use crate::confinement::{Boxes, Outbound, Outlet};
use crate::sandbox::{self, Event, Keeper, Link, NetworkNamespace, Rung, Supervised};

/// A supervisor at the other end of a box's socket.
#[derive(Debug)]
pub(crate) struct Boxed {
    link: Link,
    process: Pid,
    /// Goes with the collected status.
    keeper: Option<Keeper>,
    reaped: bool,
    outbound: Option<Arc<dyn Outbound>>,
    outlet: Option<Box<dyn Outlet>>,
    boxes: Arc<Boxes>,
    root: Option<PathBuf>,
    /// Held by background programs, so that later ones can join.
    network: Option<Arc<NetworkNamespace>>,
}

impl Launch<'_> {
    /// Starts the program in a box. A box that cannot be built, and a program that cannot be
    /// executed, are not errors here: the box reports them.
    pub(crate) fn start_boxed(
        &self,
        boxes: &Arc<Boxes>,
        rung: Rung,
    ) -> io::Result<Box<dyn Supervisor>> {
        let place = &self.place;
        let joined = place.root.and_then(|root| boxes.network(root));
        let profile = boxes.profile(place, &self.program, &self.cwd, self.environment.clone());
        let launch = sandbox::Launch {
            binary: boxes.binary(),
            rung,
            stdin: self.stdin.try_clone_to_owned()?,
            join: joined.as_deref(),
            share_network: place.shares_ports && joined.is_none(),
        };
        let streams = [self.stdout, self.stderr];
        let Supervised { process, link, keeper } =
            boxes.launcher().order(&profile, &self.program, &self.arguments, &launch, streams)?;
        Ok(Box::new(Boxed {
            link,
            process,
            keeper: Some(keeper),
            reaped: false,
            outbound: place.outbound.cloned(),
            outlet: None,
            boxes: Arc::clone(boxes),
            root: place.root.map(PathBuf::from),
            network: joined.filter(|_| place.shares_ports),
        }))
    }
}

impl Supervisor for Boxed {
    fn report_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    fn try_report(&mut self) -> io::Result<Received> {
        loop {
            match self.link.receive()? {
                None => return Ok(Received::Nothing),
                Some(Event::Started(started)) => self.started(started)?,
                Some(Event::Layers(_)) => {}
                Some(Event::Failed(failure)) => return Ok(Received::Refused(failure)),
                Some(Event::Ended(ended)) => {
                    return Ok(Received::Report(Report::Ended {
                        status: ended.wait_status,
                        stopped: ended.stopped,
                        left_behind: ended.left_behind,
                    }));
                }
                Some(Event::Closed) => return Ok(Received::End),
            }
        }
    }

    fn stop(&self) {
        self.link.stop();
    }

    /// Everything in the box dies with its supervisor.
    fn kill(&mut self) {
        // Not collected, so the number is still this process's own.
        if !self.reaped
            && let Err(error) = kill_process(self.process, Signal::KILL)
        {
            tracing::debug!(%error, "a box could not be killed");
        }
    }

    fn reap(&mut self) -> Option<i32> {
        if std::mem::replace(&mut self.reaped, true) {
            return None;
        }
        let wait = || waitpid(Some(self.process), WaitOptions::empty());
        // An error where somebody ignores SIGCHLD: there is no status to have.
        let status = rustix::io::retry_on_intr(wait).ok().flatten();
        self.keeper = None;
        status.map(|(_, status)| status.as_raw())
    }

    fn release(mut self: Box<Self>) {
        if let Some(keeper) = self.keeper.take()
            && !std::mem::replace(&mut self.reaped, true)
        {
            keeper.collect(self.process);
        }
    }

    fn blocked(&self) -> Option<String> {
        self.outlet.as_ref().and_then(|outlet| outlet.blocked())
    }
}

impl Boxed {
    fn started(&mut self, started: sandbox::Started) -> io::Result<()> {
        if let Some((listener, outbound)) = started.proxy.zip(self.outbound.as_ref()) {
            self.outlet = Some(outbound.open(listener)?);
        }
        if let Some((network, root)) = started.network.zip(self.root.as_ref()) {
            self.network = Some(self.boxes.share(root, network));
        }
        Ok(())
    }
}

impl Drop for Boxed {
    /// Only reached un-reaped when the run failed half way: nothing may be left running.
    fn drop(&mut self) {
        if !self.reaped {
            self.stop();
            self.reap();
        }
    }
}
