//! The launcher: the product's own binary in its hidden role, started once, which forks a
//! supervisor for each program.
//!
//! Starting the binary for each program costs milliseconds of every run, and a fork of the server
//! would copy what the server has in memory. The launcher has next to nothing in memory, so that
//! its forks are cheap. It never sees a program: it takes an order from its socket, forks and
//! forgets. What it forks is a child of the server (`CLONE_PARENT`), which collects it.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, socketpair};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::codec::Wire as _;
use super::parent::{ORDER, ORDERS, bare, sealed, send, specification};
use super::{Launch, Link, Profile};

/// How long a launcher waits for the next order. Then there is no process of ours but the server.
const PATIENCE: Duration = Duration::from_mins(1);

/// The place of one launcher.
#[derive(Debug)]
pub(crate) struct Launcher {
    binary: PathBuf,
    /// The one that runs, if one does. Held while it forks, so that answers follow orders.
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    socket: OwnedFd,
    /// Whether it was used since its keeper last looked.
    used: Arc<AtomicBool>,
    keeper: Keeper,
}

/// Keeps the thread that started a launcher alive. The kernel takes that thread for the parent of
/// all that the launcher forks, and ends what is still building its box when the thread ends.
#[derive(Debug, Clone)]
pub(crate) struct Keeper(Sender<Pid>);

impl Keeper {
    /// Has a supervisor collected that has told the end and is ending: it need not be waited for.
    pub(crate) fn collect(self, process: Pid) {
        // The other end is there for as long as this one.
        let _heard = self.0.send(process);
    }
}

/// A supervisor that has its order. The server collects it.
#[derive(Debug)]
pub(crate) struct Supervised {
    pub(crate) process: Pid,
    pub(crate) link: Link,
    /// Collects it; to be dropped if somebody else has.
    pub(crate) keeper: Keeper,
}

impl Launcher {
    /// Starts nothing yet.
    pub(crate) fn new(binary: PathBuf) -> Self {
        Self { binary, running: Mutex::default() }
    }

    /// Starts the launcher if none runs, so that the first program need not wait for it. Failing
    /// to is told to the first program.
    pub(crate) fn prepare(self: &Arc<Self>) {
        let mut running = self.lock();
        if running.is_none() {
            *running = self.start().ok();
        }
    }

    /// Has a program run by a new supervisor, with these as standard output and error.
    pub(crate) fn order(
        self: &Arc<Self>,
        profile: &Profile,
        program: &Path,
        arguments: &[std::ffi::OsString],
        launch: &Launch<'_>,
        streams: [BorrowedFd<'_>; 2],
    ) -> io::Result<Supervised> {
        let mut specification = specification(profile, program, arguments, launch)?;
        specification.streams = true;
        let memory = sealed(&specification.to_bytes())?;
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let [stdout, stderr] = streams;
        let mut descriptors =
            vec![theirs.as_fd(), memory.as_fd(), launch.stdin.as_fd(), stdout, stderr];
        descriptors.extend(launch.join.iter().flat_map(|net| [net.user.as_fd(), net.net.as_fd()]));

        let mut running = self.lock();
        let (process, keeper) = match running.as_ref().map(|one| one.fork(&descriptors)) {
            // It was gone before it could take the order: another one gets it.
            None | Some(Err(Unforked::Gone)) => {
                let started = self.start()?;
                let forked = started.fork(&descriptors);
                *running = Some(started);
                forked
            }
            Some(forked) => forked,
        }
        .map_err(|unforked| match unforked {
            Unforked::Gone => io::ErrorKind::BrokenPipe.into(),
            Unforked::Failed(error) => {
                // What became of the order is not known, so nobody else gets it.
                *running = None;
                error
            }
            Unforked::Refused(error) => error,
        })?;
        Ok(Supervised { process, link: Link::new(ours), keeper })
    }

    /// Sends the launcher home.
    pub(crate) fn dismiss(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts one in a thread of its own and waits until the process is there.
    fn start(self: &Arc<Self>) -> io::Result<Running> {
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        send(socket.as_fd(), ORDERS, &[])?;
        let used = Arc::new(AtomicBool::new(false));
        let (hold, held) = mpsc::channel();
        let (tell, told) = mpsc::sync_channel(1);
        let (launcher, used_by_keeper) = (Arc::clone(self), Arc::clone(&used));
        std::thread::Builder::new()
            .name("launcher".into())
            .spawn(move || launcher.keep(theirs, &tell, &used_by_keeper, &held))?;
        told.recv().map_err(io::Error::other)??;
        Ok(Running { socket, used, keeper: Keeper(hold) })
    }

    /// Starts the process, sends it home when it has had nothing to do for a while, and stays until
    /// all that it has forked was collected.
    fn keep(
        &self,
        theirs: OwnedFd,
        tell: &SyncSender<io::Result<()>>,
        used: &Arc<AtomicBool>,
        held: &Receiver<Pid>,
    ) {
        let mut command = bare(&self.binary, theirs);
        let spawned = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        drop(command);
        let (child, answer) = match spawned {
            Ok(child) => (Some(child), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let _unheard = tell.send(answer);
        let Some(child) = child else { return };
        loop {
            match held.recv_timeout(PATIENCE) {
                Ok(process) => reap(process),
                Err(RecvTimeoutError::Timeout) if used.swap(false, Ordering::Relaxed) => {}
                Err(RecvTimeoutError::Timeout) => {
                    self.forget(used);
                    break;
                }
                // It was dismissed, and nothing that it forked is left.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        collect(child);
        held.iter().for_each(reap);
    }

    /// Lets go of the launcher with this mark, if it is still the one that runs.
    fn forget(&self, used: &Arc<AtomicBool>) {
        let mut running = self.lock();
        if running.as_ref().is_some_and(|one| Arc::ptr_eq(&one.used, used)) {
            *running = None;
        }
    }
}

/// Why there is no supervisor.
enum Unforked {
    /// The launcher is gone and has not taken the order.
    Gone,
    /// It took the order and did not answer.
    Failed(io::Error),
    /// It could not fork.
    Refused(io::Error),
}

impl Running {
    /// Hands over an order and waits for the number of the process that has it.
    fn fork(&self, descriptors: &[BorrowedFd<'_>]) -> Result<(Pid, Keeper), Unforked> {
        self.used.store(true, Ordering::Relaxed);
        send(self.socket.as_fd(), ORDER, descriptors).map_err(|_| Unforked::Gone)?;
        let mut answer = [0; 4];
        let read = rustix::io::retry_on_intr(|| {
            recv(&self.socket, &mut answer, RecvFlags::empty()).map(|(length, _)| length)
        });
        match read {
            Ok(4) => match i32::from_ne_bytes(answer) {
                number @ 1.. => Pid::from_raw(number)
                    .map(|process| (process, self.keeper.clone()))
                    .ok_or_else(|| Unforked::Failed(io::ErrorKind::InvalidData.into())),
                number => Err(Unforked::Refused(io::Error::from_raw_os_error(-number))),
            },
            Ok(_) => Err(Unforked::Failed(io::Error::other("the launcher ended"))),
            Err(error) => Err(Unforked::Failed(error.into())),
        }
    }
}

/// Waits for the end of a supervisor that is ending.
fn reap(process: Pid) {
    let wait = || waitpid(Some(process), WaitOptions::empty());
    if let Err(error) = rustix::io::retry_on_intr(wait) {
        tracing::debug!(%error, "a supervisor was not collected");
    }
}

/// Waits for the end of a launcher whose socket is closed.
fn collect(mut child: Child) {
    if let Err(error) = child.wait() {
        tracing::debug!(%error, "a launcher was not collected");
    }
}

/// Tells the server the number of a forked process, or, negated, the number of an error.
pub(super) fn answer(socket: &OwnedFd, number: i32) -> bool {
    rustix::net::send(socket, &number.to_ne_bytes(), SendFlags::NOSIGNAL).is_ok()
}
