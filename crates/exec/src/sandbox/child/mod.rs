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
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getppid, kill_process, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, setsid, wait, waitpid,
};

pub(super) use canary::{CONTROL, PROCESS_SEEN, RAN, TRACE, WORKSPACE_WRITTEN};

use super::Rung;
use super::codec::Wire as _;
use super::parent::{Action, Specification, WITH_STREAMS, receive, send};
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
    /// User and network namespace of an earlier box.
    join: Option<(OwnedFd, OwnedFd)>,
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

/// Takes over the socket, reads the specification, ties this process to the server.
fn read_order() -> Result<Order, Option<(Channel, Failure)>> {
    // Whatever the server failed to mark close-on-exec ends here.
    descriptors::close_from(3).map_err(|_| None)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(|_| None)?;
    let channel = Channel(socket);
    let parts = (|| {
        let mut greeting = [0; 32];
        let (length, received) = receive(channel.0.as_fd(), &mut greeting, RecvFlags::empty())
            .step(Step::Specification, "socket")?;
        let with_streams = greeting.get(..length) == Some(WITH_STREAMS);
        let mut received = received.into_iter();
        let (memory, stdin) = received
            .next()
            .zip(received.next())
            .ok_or_else(|| Failure::plain(Step::Specification, "descriptors"))?;
        if with_streams {
            let (stdout, stderr) = received
                .next()
                .zip(received.next())
                .ok_or_else(|| Failure::plain(Step::Specification, "streams"))?;
            rustix::stdio::dup2_stdout(&stdout).step(Step::Specification, "standard output")?;
            rustix::stdio::dup2_stderr(&stderr).step(Step::Specification, "standard error")?;
        }
        let bytes = descriptors::read_all(&memory).step(Step::Specification, "memory file")?;
        let specification = Specification::from_bytes(&bytes)
            .ok_or_else(|| Failure::plain(Step::Specification, "malformed"))?;
        let join = received.next().zip(received.next());
        if specification.join != join.is_some() {
            return Err(Failure::plain(Step::Specification, "network to join"));
        }
        set_parent_process_death_signal(Some(Signal::KILL)).step(Step::ParentDeathSignal, "")?;
        let parent = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
        if parent != Some(specification.server) {
            return Err(Failure::plain(Step::ParentDeathSignal, "the server is gone"));
        }
        rustix::stdio::dup2_stdin(&stdin).step(Step::Specification, "standard input")?;
        // Its own session: nothing typed at a terminal reaches it, and it leads no job.
        let _session = setsid();
        Ok((specification, join))
    })();
    match parts {
        Ok((specification, join)) => Ok(Order { channel, specification, join }),
        Err(failure) => Err(Some((channel, failure))),
    }
}

/// The full box: prepares outside, starts init in new namespaces, waits, cleans up outside.
fn supervise(order: &Order) -> Result<(), Failure> {
    let specification = &order.specification;
    let gate = Gate::new().step(Step::Limits, "gate")?;
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
    };
    let watched = init::start(&outside).and_then(|init| {
        admit(group.as_ref(), &gate, init)?;
        watch(order, init)
    });
    if let Some(group) = group {
        group.remove();
    }
    plan.finish();
    watched
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

/// Waits until init has ended, which is when everything in the box has; ends it when the server
/// lets go of the socket.
fn watch(order: &Order, init: Pid) -> Result<(), Failure> {
    let process = pidfd_open(init, PidfdFlags::empty()).step(Step::Supervise, "")?;
    // The program's pipes must close with the program, and from here on the socket tells that the
    // server is gone: what has to be removed outside is then still removed.
    descriptors::let_go_of_standard_streams();
    let _ = set_parent_process_death_signal(None);
    let stopped = ended_or_let_go(&process, &order.channel)?;
    if stopped {
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
    rustix::io::retry_on_intr(|| waitpid(Some(init), WaitOptions::empty()))
        .step(Step::Supervise, "")?;
    if stopped {
        order.channel.tell(&Message::Ended(Ended::STOPPED), &[]);
    }
    Ok(())
}

/// Waits for whichever comes first: the process ends (false), or the server stops listening or is
/// gone (true).
fn ended_or_let_go(process: &OwnedFd, channel: &Channel) -> Result<bool, Failure> {
    let mut wanted =
        [PollFd::new(process, PollFlags::IN), PollFd::new(&channel.0, PollFlags::RDHUP)];
    rustix::io::retry_on_intr(|| poll(&mut wanted, None)).step(Step::Supervise, "")?;
    Ok(wanted.first().is_some_and(|entry| entry.revents().is_empty()))
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
