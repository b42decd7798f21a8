//! The supervisor: the product's binary in its hidden role, outside the box it builds.

mod bare;
mod caches;
mod canary;
mod cgroup;
mod clean;
mod descriptors;
mod devices;
mod enclosure;
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
mod reaper;
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
    Pid, Signal, WaitOptions, getppid, kill_process, set_parent_process_death_signal, setsid, wait,
    waitpid,
};

pub(super) use canary::{
    CALL_MADE, CONTROL, LANDLOCKED, PROCESS_SEEN, RAN, TRACE, WORKSPACE_WRITTEN,
};

use super::Rung;
use super::codec::Wire as _;
use super::parent::{Action, ORDER, ORDER_BYTES, ORDERS, Specification, receive, send};
use super::profile::Limits;
use super::report::{Ended, Failure, InStep as _, Message, Step};
use caches::Caches;
use enclosure::{Enclosure, Surroundings};
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
struct Order<'a> {
    channel: &'a Channel,
    specification: Specification,
    /// The specification as it came, where it came in a file.
    memory: Option<OwnedFd>,
    join: Option<Joined>,
}

/// How a supervisor begins.
struct Beginning {
    channel: Channel,
    order: Received,
    ahead: Ahead,
}

/// An order as it comes.
struct Received {
    /// The specification; empty where it is in a file, which is the first descriptor then.
    specification: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Received {
    /// Waits for the next order; `None` when the server has let go of the socket.
    fn next(channel: &Channel) -> Option<Self> {
        let mut word = [0; ORDER_BYTES];
        let received = receive(channel.0.as_fd(), &mut word, RecvFlags::empty());
        let (length, descriptors) = received.ok()?;
        let specification = word.get(..length)?.strip_prefix(ORDER)?.to_vec();
        Some(Self { specification, descriptors })
    }
}

/// What becomes of a supervisor when its program has ended.
enum Next {
    /// It waits for another order.
    Order,
    /// It ends.
    End,
}

/// What a launcher's supervisor has before its order.
#[derive(Default)]
struct Ahead {
    filter: Option<seccomp::Filter>,
    enclosure: Option<Enclosure>,
}

/// Builds the box that the socket on standard input describes, runs the program and ends. To be
/// called first thing in `main`, before any thread exists, and for nothing else.
#[expect(clippy::exit, reason = "this process has one job and its status is the answer")]
pub fn child_main() -> ! {
    // A panic must neither unwind into code of another process after a fork nor print.
    std::panic::set_hook(Box::new(|_| std::process::exit(SETUP_FAILED)));
    let Some(Beginning { channel, mut order, mut ahead }) = begin() else {
        std::process::exit(SETUP_FAILED)
    };
    loop {
        let ahead = std::mem::take(&mut ahead);
        match accept(&channel, order).and_then(|order| carry_out(&order, ahead)) {
            Ok(Next::Order) => match Received::next(&channel) {
                Some(another) => order = another,
                None => std::process::exit(0),
            },
            Ok(Next::End) => std::process::exit(0),
            Err(failure) => {
                channel.tell(&Message::Failed(failure), &[]);
                std::process::exit(SETUP_FAILED)
            }
        }
    }
}

fn carry_out(order: &Order<'_>, ahead: Ahead) -> Result<Next, Failure> {
    let in_full = order.specification.rung == Rung::Namespaces;
    let action = &order.specification.action;
    if in_full && matches!(action, Action::Run | Action::Canary | Action::Read) {
        return supervise(order, ahead).map(|()| Next::End);
    }
    // What was made ahead is not for this one.
    drop(ahead);
    match action {
        Action::Run | Action::Canary | Action::Read => reduced::supervise(order)?,
        Action::Probe => probe::run(order)?,
        Action::ReadBare => reader::bare(order)?,
        Action::RunBare => return bare::supervise(order),
    }
    Ok(Next::End)
}

/// Takes over the socket. An order comes with its first word, or this process becomes a launcher
/// and goes on as one of its forks, when that has its order.
fn begin() -> Option<Beginning> {
    // Whatever the server failed to mark close-on-exec ends here.
    descriptors::close_from(3).ok()?;
    default_signals();
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).ok()?;
    let mut word = [0; 256];
    let (length, descriptors) = receive(socket.as_fd(), &mut word, RecvFlags::empty()).ok()?;
    let Some(limits) = word.get(..length)?.strip_prefix(ORDERS) else {
        let order = Received { specification: Vec::new(), descriptors };
        return Some(Beginning { channel: Channel(socket), order, ahead: Ahead::default() });
    };
    let limits = Option::<Limits>::from_bytes(limits)?;
    // Each fork gets its standard streams with its order.
    descriptors::let_go_of_standard_streams();
    let filter = seccomp::Filter::new(seccomp::Sockets::Namespaced).ok();
    let channel = Channel(launcher::serve(socket));
    // Where it fails, it fails again with an order, and says so then.
    let made = limits.as_ref().zip(filter.as_ref());
    let enclosure =
        made.and_then(|(limits, filter)| Enclosure::make(&channel, limits, filter, None).ok());
    let ahead = Ahead { filter, enclosure };
    let order = Received::next(&channel)?;
    Some(Beginning { channel, order, ahead })
}

/// Gives every signal its default effect, for all programs: what is ignored stays so through `exec`,
/// and whoever started the server may have ignored some. But for SIGPIPE, which would end this
/// process where the other end of a pipe is gone; each program gets it back.
fn default_signals() {
    // All zeroes mean the default action. The raw call, because the C library refuses the numbers
    // that it keeps for itself.
    let default = [0_u64; 4];
    for signal in (1..=64).filter(|signal| *signal != libc::SIGPIPE) {
        #[expect(unsafe_code, reason = "a structure of this frame, of the kernel's size")]
        // SAFETY: no handler of this process is needed; two signals cannot be set, which is said.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), 0_usize, 8_usize);
        }
    }
}

/// User and network namespace of an earlier box.
type Joined = (OwnedFd, OwnedFd);

/// Reads a specification and the descriptors it came with, puts the standard streams in place and
/// ties this process to the server.
fn accept(channel: &Channel, received: Received) -> Result<Order<'_>, Failure> {
    let mut bytes = received.specification;
    let mut descriptors = received.descriptors.into_iter();
    let mut next = |name: &str| {
        descriptors.next().ok_or_else(|| Failure::plain(Step::Specification, name.to_owned()))
    };
    let memory = if bytes.is_empty() { Some(next("memory file")?) } else { None };
    if let Some(memory) = &memory {
        bytes = descriptors::read_all(memory).step(Step::Specification, "memory file")?;
    }
    let stdin = next("standard input")?;
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
    Ok(Order { channel, specification, memory, join })
}

/// The full box: hands the order to init, prepares outside meanwhile, waits, cleans up outside.
fn supervise(order: &Order<'_>, ahead: Ahead) -> Result<(), Failure> {
    let enclosure = match ahead.enclosure {
        Some(made) if made.fits(order) => made,
        other => {
            drop(other);
            let filter = match ahead.filter {
                Some(filter) => filter,
                None => seccomp::Filter::new(seccomp::Sockets::Namespaced)?,
            };
            let limits = &order.specification.profile.limits;
            Enclosure::make(order.channel, limits, &filter, order.join.as_ref())?
        }
    };
    // The layers are this box's own until the kernel has taken it down.
    let (caches, _hold) = caches::prepare(&order.specification.profile).unzip();
    let watched = run_in(order, &enclosure, caches).map(|ended| {
        if let Some(ended) = ended {
            order.channel.tell(&Message::Ended(ended), &[]);
        }
    });
    // The server has its answer while the kernel takes the empty box down.
    drop(enclosure);
    watched
}

/// Has the program run in a box, and gives init's account of it; `None` when init has failed, which
/// it has told itself. What the workspace needed is removed.
fn run_in(
    order: &Order<'_>,
    enclosure: &Enclosure,
    caches: Option<Caches>,
) -> Result<Option<Ended>, Failure> {
    let profile = &order.specification.profile;
    enclosure.hand_over(order)?;
    let mut plan = protect::prepare(profile)?;
    let surroundings = Surroundings {
        guards: std::mem::take(&mut plan.guards),
        writable: std::mem::take(&mut plan.writable),
        sockets: sockets::visible(profile),
        stdin: descriptors::path_of_standard_input(),
        caches,
    };
    let watched = enclosure.surround(&surroundings).and_then(|()| watch(order, enclosure));
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

/// Waits until nothing of the box runs any more, and gives init's account of it; ends it when the
/// server lets go of the socket.
fn watch(order: &Order<'_>, enclosure: &Enclosure) -> Result<Option<Ended>, Failure> {
    // The program's pipes must close with the program, and from here on the socket tells that the
    // server is gone: what has to be removed outside is then still removed.
    descriptors::let_go_of_standard_streams();
    let _ = set_parent_process_death_signal(None);
    let ends = [enclosure.told().as_fd(), enclosure.process().as_fd()];
    match first_of(&ends, order.channel)? {
        First::Ready => Ok(enclosure.account()),
        First::LetGo => {
            enclosure.kill();
            reap_all();
            Ok(Some(Ended::STOPPED))
        }
    }
}

/// What came first.
enum First {
    /// One of the descriptors is readable.
    Ready,
    /// The server stopped listening, or is gone.
    LetGo,
}

/// Waits until one of these is readable or the server lets go of the socket.
fn first_of(descriptors: &[BorrowedFd<'_>], channel: &Channel) -> Result<First, Failure> {
    let readable = descriptors.iter().map(|one| PollFd::from_borrowed_fd(*one, PollFlags::IN));
    let mut wanted: Vec<_> = readable.chain([PollFd::new(&channel.0, PollFlags::RDHUP)]).collect();
    rustix::io::retry_on_intr(|| poll(&mut wanted, None)).step(Step::Supervise, "")?;
    let ready = wanted.iter().take(descriptors.len()).any(|entry| !entry.revents().is_empty());
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
