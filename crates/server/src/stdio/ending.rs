//! The reasons for which a stdio server ends, and how they are noticed.

use std::{fmt, future::pending, io, os::fd::OwnedFd, time::Duration};

use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};
use tokio::{
    io::{Interest, unix::AsyncFd},
    signal::unix::{Signal, SignalKind, signal},
};

use super::watched::watch;

/// How often the parent is looked for where the kernel cannot tell of its end.
const PARENT_CHECK: Duration = Duration::from_secs(1);

/// Why the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The client closed our standard input.
    EndOfInput,
    /// The client closed our standard output.
    OutputClosed,
    /// A signal asked for it.
    Signal(&'static str),
    /// The process that started us is gone.
    ParentDied,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfInput => formatter.write_str("end of input"),
            Self::OutputClosed => formatter.write_str("output closed"),
            Self::Signal(name) => formatter.write_str(name),
            Self::ParentDied => formatter.write_str("parent process ended"),
        }
    }
}

/// Everything outside the streams that ends the server.
#[derive(Debug)]
pub(super) struct Watch {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    parent: Parent,
}

#[derive(Debug)]
enum Parent {
    /// Becomes readable when the process ends. The parent-death signal would not do: it fires
    /// when the *thread* that started us ends, and clients start servers from short-lived ones.
    Watched(AsyncFd<OwnedFd>),
    /// A kernel or a filter without pidfds.
    Asked(Option<Pid>),
    /// It was gone before it could be watched.
    Gone,
}

impl Watch {
    /// Begins to watch; signals that arrive from now on are noticed.
    pub(super) fn start() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            parent: Parent::find(),
        })
    }

    /// Waits for the first reason to end.
    pub(super) async fn ending(&mut self) -> Ending {
        tokio::select! {
            _ = self.terminate.recv() => Ending::Signal("SIGTERM"),
            _ = self.interrupt.recv() => Ending::Signal("SIGINT"),
            _ = self.hangup.recv() => Ending::Signal("SIGHUP"),
            () = self.parent.gone() => Ending::ParentDied,
        }
    }
}

impl Parent {
    fn find() -> Self {
        // No parent within our PID namespace: its end cannot be seen from here.
        let Some(parent) = getppid() else { return Self::Asked(None) };
        let watched = pidfd_open(parent, PidfdFlags::empty())
            .map_err(io::Error::from)
            .and_then(|fd| watch(fd, Interest::READABLE).map_err(|(_, error)| error));
        match watched {
            // It may have ended, and another process got its number, before we looked.
            _ if getppid() != Some(parent) => Self::Gone,
            Ok(fd) => Self::Watched(fd),
            Err(error) => {
                tracing::debug!(%error, "the parent process cannot be watched, asking instead");
                Self::Asked(Some(parent))
            }
        }
    }

    async fn gone(&self) {
        match self {
            Self::Gone => {}
            Self::Watched(fd) => {
                if fd.readable().await.is_err() {
                    pending::<()>().await;
                }
            }
            Self::Asked(None) => pending().await,
            Self::Asked(parent) => {
                while getppid() == *parent {
                    tokio::time::sleep(PARENT_CHECK).await;
                }
            }
        }
    }
}
