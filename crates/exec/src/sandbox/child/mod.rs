//! The supervisor: the product's binary in its hidden role, outside the box it builds.

mod caches;
mod canary;
mod cgroup;
mod clean;
mod descriptors;
mod devices;
mod home;
mod init;
mod landlock;
mod launcher;
mod limits;
mod mounts;
mod namespaces;
mod placeholder;
mod privileges;
mod probe;
mod program;
mod protect;
mod reader;
mod reduced;
mod repository;
mod seccomp;
mod sockets;
mod view;

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::RecvFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getppid, kill_process, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, setsid, wait, waitpid,
};

pub(super) use canary::{CONTROL, PROCESS_SEEN, RAN, TRACE, WORKSPACE_WRITTEN};

use super::Rung;
use super::codec::Wire as _;
use super::parent::{Action, ORDERS, Specification, receive, send};
use super::report::{Ended, Failure, InStep as _, Message, Step};
use namespaces::Gate;

/// Exit status of a supervisor that could not do its work; the report says why.
const SETUP_FAILED: i32 = 125;

/// Our end of the server's socket.
#[derive(Debug)]
struct Channel(OwnedFd);

impl Channel {
    /// Sends a message. A server that is gone is noticed elsewhere, so errors are nothing.
    fn tell(&self, message: &Message, descriptors: &[BorrowedFd<'_>]) {
        let _sent = send(self.0.as_fd(), &message.to_bytes(), descriptors);
    }
}

/// Everything the supervisor was given.
#[derive(Debug)]
struct Order {
    channel: Channel,
    specification: Specification,
    join: Option<Joined>,
    /// What programs may ask of the kernel, where a launcher has compiled it.
    filter: Option<seccomp::Filter>,
}

/// Builds the box that the socket on standard input describes, runs the program and ends. To be
/// called first thing in `main`, before any thread exists, and for nothing else.
#[expect(clippy::exit, reason = "this process has one job and its status is the answer")]
pub fn child_main() -> ! {
    let order = match read_order() {
        Ok(order) => order,
        Err(None) => std::process::exit(SETUP_FAILED),
        Err(Some((channel, failure))) => {
            channel.tell(&Message::Failed(failure), &[]);
            std::process::exit(SETUP_FAILED);
        }
    };
    // A panic must neither unwind into code of another process after a fork nor print.
    std::panic::set_hook(Box::new(|_| std::process::exit(SETUP_FAILED)));
    let done = match (&order.specification.action, order.specification.rung) {
        (Action::Probe, _) => probe::run(&order),
        (Action::ReadBare, _) => reader::bare(&order),
        (_, Rung::Namespaces) => supervise(&order),
        (_, Rung::Landlock) => reduced::supervise(&order),
    };
    match done {
        Ok(()) => std::process::exit(0),
        Err(failure) => {
            order.channel.tell(&Message::Failed(failure), &[]);
            std::process::exit(SETUP_FAILED)
        }
    }
}

/// Takes over the socket and reads the specification that comes with its first word, or becomes a
/// launcher and reads those of its orders, each in a process of its own.
fn read_order() -> Result<Order, Option<(Channel, Failure)>> {
    // Whatever the server failed to mark close-on-exec ends here.
    descriptors::close_from(3).map_err(|_| None)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(|_| None)?;
    let mut word = [0; 32];
    let (length, received) =
        receive(socket.as_fd(), &mut word, RecvFlags::empty()).map_err(|_| None)?;
    let (channel, received, filter) = if word.get(..length) == Some(ORDERS) {
        // Each fork gets its standard streams with its order.
        descriptors::let_go_of_standard_streams();
        let filter = seccomp::Filter::new(seccomp::Sockets::Namespaced).ok();
        let mut received = launcher::serve(socket).into_iter();
        (received.next().ok_or(None)?, received, filter)
    } else {
        (socket, received.into_iter(), None)
    };
    let channel = Channel(channel);
    match accept(received) {
        Ok((specification, join)) => Ok(Order { channel, specification, join, filter }),
        Err(failure) => Err(Some((channel, failure))),
    }
}

/// User and network namespace of an earlier box.
type Joined = (OwnedFd, OwnedFd);

/// Reads a specification from the descriptors it came with, puts the standard streams in place and
/// ties this process to the server.
fn accept(
    mut received: impl Iterator<Item = OwnedFd>,
) -> Result<(Specification, Option<Joined>), Failure> {
    let mut next = |name: &str| {
        received.next().ok_or_else(|| Failure::plain(Step::Specification, name.to_owned()))
    };
    let (memory, stdin) = (next("memory file")?, next("standard input")?);
    let bytes = descriptors::read_all(&memory).step(Step::Specification, "memory file")?;
    let specification = Specification::from_bytes(&bytes)
        .ok_or_else(|| Failure::plain(Step::Specification, "malformed"))?;
    if specification.streams {
        rustix::stdio::dup2_stdout(&next("standard output")?)
            .step(Step::Specification, "standard output")?;
        rustix::stdio::dup2_stderr(&next("standard error")?)
            .step(Step::Specification, "standard error")?;
    }
    let join = if specification.join { Some((next("user")?, next("network")?)) } else { None };
    set_parent_process_death_signal(Some(Signal::KILL)).step(Step::ParentDeathSignal, "")?;
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if parent != Some(specification.server) {
        return Err(Failure::plain(Step::ParentDeathSignal, "the server is gone"));
    }
    rustix::stdio::dup2_stdin(&stdin).step(Step::Specification, "standard input")?;
    // Its own session: nothing typed at a terminal reaches it, and it leads no job.
    let _session = setsid();
    Ok((specification, join))
}

/// The full box: prepares outside, starts init in new namespaces, waits, cleans up outside.
fn supervise(order: &Order) -> Result<(), Failure> {
    let specification = &order.specification;
    let gate = Gate::new().step(Step::Limits, "gate")?;
    let (told, account) = pipe_with(PipeFlags::CLOEXEC).step(Step::Supervise, "account")?;
    let filter = match &order.filter {
        Some(filter) => filter.clone(),
        None => seccomp::Filter::new(seccomp::Sockets::Namespaced)?,
    };
    let plan = protect::prepare(&specification.profile)?;
    let sockets = sockets::visible(&specification.profile);
    let group = cgroup::Group::create(&specification.profile.limits);
    let stdin = descriptors::path_of_standard_input();
    let caches = caches::prepare(&specification.profile);
    let outside = init::Outside {
        order,
        plan: &plan,
        sockets: &sockets,
        stdin: stdin.as_deref(),
        caches: caches.as_ref(),
        group: group.as_ref(),
        gate: &gate,
        account: &account,
        filter: &filter,
    };
    let watched = init::start(&outside).and_then(|init| {
        admit(group.as_ref(), &gate, init)?;
        watch(order, init, &told)
    });
    plan.finish();
    let failed = watched.map(|ended| {
        if let Some(ended) = ended {
            order.channel.tell(&Message::Ended(ended), &[]);
        }
    });
    // The server has its answer while the kernel takes the empty box down.
    reap_all();
    if let Some(group) = group {
        group.remove();
    }
    failed
}

/// Moves a new process into the control group, if there is one, and lets it pass the gate.
fn admit(group: Option<&cgroup::Group>, gate: &Gate, process: Pid) -> Result<(), Failure> {
    let admitted = group.map_or(Ok(()), |group| group.admit(process));
    if admitted.is_ok() {
        gate.open();
    } else {
        let _ = kill_process(process, Signal::KILL);
        let _ = rustix::io::retry_on_intr(|| waitpid(Some(process), WaitOptions::empty()));
    }
    admitted
}

/// Waits until nothing of the box runs any more, and gives init's account of it; ends it when the
/// server lets go of the socket. `None` when init has failed, which it has told itself.
fn watch(order: &Order, init: Pid, told: &OwnedFd) -> Result<Option<Ended>, Failure> {
    let process = pidfd_open(init, PidfdFlags::empty()).step(Step::Supervise, "")?;
    // The program's pipes must close with the program, and from here on the socket tells that the
    // server is gone: what has to be removed outside is then still removed.
    descriptors::let_go_of_standard_streams();
    let _ = set_parent_process_death_signal(None);
    match first_of([told.as_fd(), process.as_fd()], &order.channel)? {
        First::Ready => Ok(account(told)),
        First::LetGo => {
            let _ = pidfd_send_signal(&process, Signal::KILL);
            reap_all();
            Ok(Some(Ended::STOPPED))
        }
    }
}

/// What init has told, if it has.
fn account(told: &OwnedFd) -> Option<Ended> {
    rustix::io::ioctl_fionbio(told, true).ok()?;
    let mut bytes = [0; 64];
    let length = rustix::io::retry_on_intr(|| rustix::io::read(told, &mut bytes)).ok()?;
    Ended::from_bytes(bytes.get(..length)?)
}

/// What came first.
enum First {
    /// One of the descriptors is readable.
    Ready,
    /// The server stopped listening, or is gone.
    LetGo,
}

/// Waits until one of these is readable or the server lets go of the socket.
fn first_of(descriptors: [BorrowedFd<'_>; 2], channel: &Channel) -> Result<First, Failure> {
    let [one, other] = descriptors;
    let mut wanted = [
        PollFd::from_borrowed_fd(one, PollFlags::IN),
        PollFd::from_borrowed_fd(other, PollFlags::IN),
        PollFd::new(&channel.0, PollFlags::RDHUP),
    ];
    rustix::io::retry_on_intr(|| poll(&mut wanted, None)).step(Step::Supervise, "")?;
    let ready = wanted.iter().take(2).any(|entry| !entry.revents().is_empty());
    Ok(if ready { First::Ready } else { First::LetGo })
}

/// Collects every child.
fn reap_all() {
    while !matches!(wait(WaitOptions::empty()), Err(error) if error != rustix::io::Errno::INTR) {}
}

/// Reaps children until none is left or `grace` is over, at most a millisecond at a time late.
/// True when none is left.
fn reap_for(grace: Duration) -> bool {
    let until = std::time::Instant::now() + grace;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) if std::time::Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}
