//! The launcher: the product's own binary in its hidden role, started once, which forks a
//! supervisor for each program, ahead of its order.
//!
//! Starting the binary for each program costs milliseconds of every run, and a fork of the server
//! would copy what the server has in memory. The launcher has next to nothing in memory, so that
//! its forks are cheap. It sees neither programs nor orders: it forks a supervisor, hands the
//! server the other end of that one's socket, and forks the next when the server has taken it. What
//! it forks is a child of the server (`CLONE_PARENT`), which collects it. A supervisor that is not
//! needed ends when the server lets go of its socket. One that has done an order without a box, so that
//! there is nothing of it left, takes another: its fork and its end cost more than a small program's.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, Shutdown, SocketFlags, SocketType, shutdown, socketpair,
};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::codec::Wire as _;
use super::parent::{ORDER, ORDER_BYTES, ORDERS, TAKEN, bare, receive, sealed, send};
use super::{Limits, Link, NetworkNamespace, Specification};

/// How long a launcher waits for the next order. Then there is no process of ours but the server.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long a fork may take. Longer, and somebody has halted the launcher.
const FORK_LIMIT: Duration = Duration::from_secs(10);

/// New supervisors that may be found dead before one takes an order.
const TRIES: usize = 3;

/// Supervisors that are kept for the next program when theirs has ended and nothing of it is left.
const KEPT: usize = 8;

/// The place of one launcher.
#[derive(Debug)]
pub(crate) struct Launcher {
    binary: PathBuf,
    /// Bounds of the boxes that are made ahead of their orders; `None`: only their supervisors are.
    boxes: Option<Limits>,
    /// The one that runs, if one does. Held while it forks, so that answers follow orders.
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    socket: OwnedFd,
    keeper: Keeper,
    /// Supervisors that have done an order and wait for another one.
    free: Vec<Ready>,
}

/// Keeps the thread that started a launcher alive. The kernel takes that thread for the parent of
/// all that the launcher forks, and ends what is still building its box when the thread ends.
#[derive(Debug, Clone)]
pub(crate) struct Keeper {
    ended: Sender<Pid>,
    /// Whether the launcher was used since that thread last looked; there is one for each.
    used: Arc<AtomicBool>,
}

impl Keeper {
    /// Has a supervisor collected that has told the end and is ending: it need not be waited for.
    pub(crate) fn collect(self, process: Pid) {
        // The other end is there for as long as this one.
        let _heard = self.ended.send(process);
    }

    fn is_of(&self, used: &Arc<AtomicBool>) -> bool {
        Arc::ptr_eq(&self.used, used)
    }
}

/// The descriptors of an order.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// As [`super::Launch::stdin`].
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    /// The network of an earlier box of the same workspace, to reach its ports.
    pub(crate) join: Option<&'a NetworkNamespace>,
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
    pub(crate) fn new(binary: PathBuf, boxes: Option<Limits>) -> Self {
        Self { binary, boxes, running: Mutex::default() }
    }

    /// The binary that it starts.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Bounds of the boxes that it makes ahead.
    pub(crate) fn limits(&self) -> Option<&Limits> {
        self.boxes.as_ref()
    }

    /// Has a program run by a supervisor.
    pub(crate) fn order(
        self: &Arc<Self>,
        mut specification: Specification,
        given: &Given<'_>,
    ) -> io::Result<Supervised> {
        specification.streams = true;
        specification.join = given.join.is_some();
        let bytes = specification.to_bytes();
        let mut word = ORDER.to_vec();
        let memory = if specification.is_bare() && word.len() + bytes.len() <= ORDER_BYTES {
            word.extend(bytes);
            None
        } else {
            Some(sealed(&bytes)?)
        };
        let mut descriptors: Vec<_> = memory.iter().map(OwnedFd::as_fd).collect();
        descriptors.extend([given.stdin, given.stdout, given.stderr]);
        descriptors.extend(given.join.iter().flat_map(|net| [net.user.as_fd(), net.net.as_fd()]));
        let mut tries = 0;
        while tries < TRIES {
            let free = if specification.is_bare() { self.take_free() } else { None };
            tries += usize::from(free.is_none());
            let Ready { process, socket, keeper } = free.map_or_else(|| self.take(), Ok)?;
            match send(socket.as_fd(), &word, &descriptors) {
                Ok(()) => return Ok(Supervised { process, link: Link::new(socket), keeper }),
                // It ended while it waited, and so nobody has the order.
                Err(Errno::PIPE | Errno::CONNRESET) => keeper.collect(process),
                Err(error) => {
                    drop(socket);
                    keeper.collect(process);
                    return Err(error.into());
                }
            }
        }
        Err(io::Error::other("no supervisor lives to take an order"))
    }

    /// A supervisor that waits for its order.
    fn take(self: &Arc<Self>) -> io::Result<Ready> {
        let mut running = self.lock();
        let taken = match running.as_ref().map(Running::take) {
            // One that ended while nobody looked: another one is started.
            None | Some(Err(Untaken::Gone)) => {
                // The old one first, which lets go of its own.
                *running = None;
                running.insert(self.start()?).take()
            }
            Some(taken) => taken,
        };
        // One that ended is collected now, and the next program starts another.
        if taken.is_ok() && !running.as_ref().is_some_and(Running::ask_for_more) {
            *running = None;
        }
        taken.map_err(|untaken| {
            // It may be that nothing more comes from this one.
            *running = None;
            match untaken {
                Untaken::Gone => io::Error::other("the launcher ended"),
                Untaken::Failed(error) => error,
            }
        })
    }

    /// A supervisor that has done an order and waits for another one.
    fn take_free(&self) -> Option<Ready> {
        let mut running = self.lock();
        let running = running.as_mut()?;
        let free = running.free.pop()?;
        running.keeper.used.store(true, Ordering::Relaxed);
        Some(free)
    }

    /// Takes a supervisor back that waits for another order ([`super::Ended::free`]).
    pub(crate) fn give_back(&self, process: Pid, socket: Arc<OwnedFd>, keeper: Keeper) {
        let mut running = self.lock();
        match running.as_mut() {
            Some(own) if own.free.len() < KEPT && own.keeper.is_of(&keeper.used) => {
                own.free.push(Ready { process, socket, keeper });
            }
            _ => {
                drop(socket);
                keeper.collect(process);
            }
        }
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
        set_socket_timeout(&socket, Timeout::Recv, Some(FORK_LIMIT))?;
        send(socket.as_fd(), &[ORDERS, &self.boxes.to_bytes()].concat(), &[])?;
        let used = Arc::new(AtomicBool::new(false));
        let (hold, held) = mpsc::channel();
        let (tell, told) = mpsc::sync_channel(1);
        let (launcher, used_by_keeper) = (Arc::clone(self), Arc::clone(&used));
        std::thread::Builder::new()
            .name("launcher".into())
            .spawn(move || launcher.keep(theirs, &tell, &used_by_keeper, &held))?;
        told.recv().map_err(io::Error::other)??;
        Ok(Running { socket, keeper: Keeper { ended: hold, used }, free: Vec::new() })
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
        if running.as_ref().is_some_and(|one| one.keeper.is_of(used)) {
            *running = None;
        }
    }
}

/// A supervisor that waits for its order at the other end of its socket.
#[derive(Debug)]
struct Ready {
    process: Pid,
    socket: Arc<OwnedFd>,
    keeper: Keeper,
}

/// Why there is no supervisor.
enum Untaken {
    /// The launcher has ended.
    Gone,
    /// It could not fork, or does not answer.
    Failed(io::Error),
}

impl Running {
    /// Takes the next supervisor.
    fn take(&self) -> Result<Ready, Untaken> {
        self.keeper.used.store(true, Ordering::Relaxed);
        self.receive()
    }

    /// Has another one made. False when the launcher is gone.
    fn ask_for_more(&self) -> bool {
        send(self.socket.as_fd(), TAKEN, &[]).is_ok()
    }

    fn receive(&self) -> Result<Ready, Untaken> {
        let mut number = [0; 4];
        let received = receive(self.socket.as_fd(), &mut number, RecvFlags::empty());
        let (length, descriptors) = match received {
            Ok(received) => received,
            Err(Errno::CONNRESET) => return Err(Untaken::Gone),
            Err(error) => return Err(Untaken::Failed(error.into())),
        };
        let number = i32::from_ne_bytes(number);
        match (length, Pid::from_raw(number.max(0)), descriptors.into_iter().next()) {
            (0, ..) => Err(Untaken::Gone),
            (4, Some(process), Some(socket)) => {
                Ok(Ready { process, socket: Arc::new(socket), keeper: self.keeper.clone() })
            }
            _ if number < 0 => Err(Untaken::Failed(io::Error::from_raw_os_error(-number))),
            _ => Err(Untaken::Failed(io::ErrorKind::InvalidData.into())),
        }
    }
}

impl Drop for Running {
    /// Ends the launcher, and the supervisors that wait.
    fn drop(&mut self) {
        let _ = shutdown(&self.socket, Shutdown::Write);
        let free = std::mem::take(&mut self.free);
        let waiting = std::iter::from_fn(|| self.receive().ok());
        for Ready { process, socket, keeper } in free.into_iter().chain(waiting) {
            drop(socket);
            keeper.collect(process);
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
