//! Pid 1 of the box: builds it from the inside, starts the program, reaps, tells how it ended.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process_group, pidfd_open,
    set_dumpable_behavior, set_parent_process_death_signal, umask, wait,
};
use rustix::thread::set_name;

use super::super::codec::Wire as _;
use super::super::parent::{Action, Specification};
use super::super::profile::{Mode as Writing, Network};
use super::super::report::{Ended, Failure, InStep as _, Message, Step};
use super::super::table::{CACHE_DIRECTORY, EMPTIED, ROOT_SECRETS, SHOWN, STAGE};
use super::cgroup::Group;
use super::enclosure::{Surroundings, wait_for_more};
use super::mounts::Access;
use super::namespaces::{self, Gate, Identity, Side};
use super::view::{Change, View, in_order, system_directory};
use super::{Channel, Joined, SETUP_FAILED, caches, descriptors, devices, home, landlock, limits};
use super::{privileges, program, reap_for, seccomp};

/// How long killed processes may take to end before they are killed again.
const KILL_AGAIN: Duration = Duration::from_millis(20);

/// What init has from its start on.
pub(super) struct Inside<'a> {
    pub(super) channel: &'a Channel,
    /// The control group, if one could be made.
    pub(super) group: Option<&'a Group>,
    /// What programs may ask of the kernel.
    pub(super) filter: &'a seccomp::Filter,
    /// Opened when the control group has taken init in.
    pub(super) gate: &'a Gate,
    /// Takes init's account of the program's end.
    pub(super) account: &'a OwnedFd,
    /// Brings the order, then the surroundings.
    pub(super) orders: &'a OwnedFd,
    /// Whether it is in the network of another box.
    pub(super) joined: bool,
}

/// Starts init in new namespaces. Gives its process id outside, and back the other end of its
/// orders.
pub(super) fn start(
    inside: &Inside<'_>,
    join: Option<&Joined>,
    ours: OwnedFd,
) -> Result<(Pid, OwnedFd), Failure> {
    let identity = Identity::current();
    let supervisor = pidfd_open(getpid(), PidfdFlags::empty()).step(Step::ParentDeathSignal, "")?;
    let Some((user, net)) = join else {
        return fork_init(inside, identity, &supervisor, namespaces::WITH_NETWORK, ours);
    };
    // Entering another box's user namespace gives up our own rights, so a process in between does
    // it; init becomes our child and not its.
    let (tell, told) = std::os::unix::net::UnixStream::pair().step(Step::Namespaces, "pair")?;
    match namespaces::fork(0).step(Step::Namespaces, "joining")? {
        Side::Parent(between) => {
            drop(tell);
            let mut number = [0; 4];
            let read = std::io::Read::read_exact(&mut &told, &mut number);
            rustix::io::retry_on_intr(|| {
                rustix::process::waitpid(Some(between), WaitOptions::empty())
            })
            .step(Step::Namespaces, "joining")?;
            // It has told the server itself what failed.
            read.step(Step::Namespaces, "joining")?;
            Pid::from_raw(i32::from_ne_bytes(number))
                .map(|init| (init, ours))
                .ok_or_else(|| Failure::plain(Step::Namespaces, "joining"))
        }
        Side::Child => {
            let joined = namespaces::join(user, net).and_then(|()| {
                let flags = namespaces::WITHOUT_NETWORK | libc::CLONE_PARENT;
                fork_init(inside, identity, &supervisor, flags, ours)
            });
            let status = match joined {
                Ok((init, _ours)) => {
                    let number = init.as_raw_nonzero().get().to_ne_bytes();
                    i32::from(std::io::Write::write_all(&mut &tell, &number).is_err())
                }
                Err(failure) => {
                    inside.channel.tell(&Message::Failed(failure), &[]);
                    SETUP_FAILED
                }
            };
            leave(status)
        }
    }
}

fn fork_init(
    inside: &Inside<'_>,
    identity: Identity,
    supervisor: &OwnedFd,
    flags: i32,
    ours: OwnedFd,
) -> Result<(Pid, OwnedFd), Failure> {
    match namespaces::fork(flags).step(Step::Namespaces, "")? {
        Side::Parent(pid) => Ok((pid, ours)),
        Side::Child => {
            drop(ours);
            let _shown_to_people = set_name(c"qc-init");
            let settled = settle(inside, identity, supervisor);
            // Without an order there is nobody to tell anything.
            let Some(order) = wait_for_more(inside.orders) else { leave(0) };
            let status = match settled.and_then(|()| run(inside, identity, order)) {
                Ok(()) => 0,
                Err(failure) => {
                    inside.channel.tell(&Message::Failed(failure), &[]);
                    SETUP_FAILED
                }
            };
            leave(status)
        }
    }
}

/// Ends a forked process.
#[expect(clippy::exit, reason = "a forked process must never return into its parent's code")]
pub(super) fn leave(status: i32) -> ! {
    std::process::exit(status)
}

/// The steps that need no order.
fn settle(inside: &Inside<'_>, identity: Identity, supervisor: &OwnedFd) -> Result<(), Failure> {
    end_with(supervisor)?;
    if let Some(group) = inside.group {
        group.enter()?;
    }
    limits::offer_to_out_of_memory_killer();
    namespaces::map_identity(identity)?;
    if inside.joined { Ok(()) } else { namespaces::loopback_up() }
}

/// Puts the standard streams of an order in place and reads what is to be done.
fn accept(order: Vec<OwnedFd>) -> Result<Specification, Failure> {
    let step = Step::Specification;
    let [memory, stdin, stdout, stderr] =
        <[OwnedFd; 4]>::try_from(order).map_err(|_| Failure::plain(step, "order"))?;
    rustix::stdio::dup2_stdin(&stdin).step(step, "standard input")?;
    rustix::stdio::dup2_stdout(&stdout).step(step, "standard output")?;
    rustix::stdio::dup2_stderr(&stderr).step(step, "standard error")?;
    let bytes = descriptors::read_all(&memory).step(step, "memory file")?;
    Specification::from_bytes(&bytes).ok_or_else(|| Failure::plain(step, "malformed"))
}

/// What the supervisor has found outside meanwhile.
fn surroundings(inside: &Inside<'_>) -> Result<Surroundings, Failure> {
    let missing = || Failure::plain(Step::Specification, "surroundings");
    let received = wait_for_more(inside.orders).ok_or_else(missing)?;
    let memory = received.into_iter().next().ok_or_else(missing)?;
    let bytes = descriptors::read_all(&memory).step(Step::Specification, "surroundings")?;
    Surroundings::from_bytes(&bytes).ok_or_else(missing)
}

/// Everything else inside: the steps in their order, then waiting.
fn run(inside: &Inside<'_>, identity: Identity, order: Vec<OwnedFd>) -> Result<(), Failure> {
    let specification = &accept(order)?;
    let profile = &specification.profile;
    let proxy = match profile.network {
        Network::Proxied => Some(namespaces::proxy_listener()?),
        Network::Off => None,
    };
    let shared = if specification.share_network { Some(own_network()?) } else { None };

    // Not before: no mount of the host is held while a box waits for its order.
    namespaces::own_mounts()?;
    let mask = umask(Mode::empty());
    let view = View::new(profile)?;
    devices::dev(&view)?;
    devices::proc(&view, profile.limits.tasks)?;
    let outside = &surroundings(inside)?;
    let emptied = furnish(&view, specification, outside, identity)?;
    view.enter()?;
    umask(mask);
    if let Some(path) = &outside.stdin
        && !descriptors::reopen_standard_input(path).step(Step::Descriptors, "standard input")?
        && is_shown(path, specification, outside)
    {
        return Err(Failure::plain(Step::Descriptors, "standard input is not what it was"));
    }

    rustix::process::chdir(&profile.cwd)
        .step(Step::WorkingDirectory, &profile.cwd.display().to_string())?;
    limits::apply(&profile.limits)?;
    privileges::drop_all()?;
    // Not to be looked into or traced by the program, which has the same user.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step(Step::Capabilities, "dumpable")?;
    let port = proxy.as_ref().map(|(_, port)| *port);
    let started = Message::Started { proxy: proxy.is_some(), network: shared.is_some() };
    let listener = proxy.as_ref().map(|(listener, _)| listener.as_fd());
    let namespaces = shared.iter().flat_map(|(user, net)| [user.as_fd(), net.as_fd()]);
    let handed: Vec<_> = listener.into_iter().chain(namespaces).collect();
    inside.channel.tell(&started, &handed);
    drop(handed);
    drop((proxy, shared));

    let mut writable = emptied;
    writable.extend(profile.homes().cloned().chain([PathBuf::from("/dev")]));
    if profile.mode == Writing::WorkspaceWrite {
        writable.push(profile.root.clone());
        writable.extend(profile.writable.iter().chain(&outside.writable).cloned());
    }
    let rules = landlock::Rules { readable: vec![PathBuf::from("/")], writable };
    landlock::restrict(&rules)?;
    inside.filter.apply()?;

    let mut variables = program::additions(specification, OsString::from("/tmp"), port);
    if outside.caches.is_some() {
        let directory = profile.home.join(CACHE_DIRECTORY);
        variables.extend(caches::variables(profile, &directory));
    }
    inside.gate.pass().step(Step::Limits, "control group")?;
    let become_it = || {
        let failure = program::become_program(specification, &variables);
        inside.channel.tell(&Message::Failed(failure), &[]);
    };
    let main = match specification.action {
        Action::Run => namespaces::spawn(become_it).step(Step::Init, "")?,
        // What is built in runs in this memory: it gets its own.
        _ => match namespaces::fork(0).step(Step::Init, "")? {
            Side::Parent(main) => main,
            Side::Child => {
                become_it();
                leave(SETUP_FAILED)
            }
        },
    };
    descriptors::let_go_of_standard_streams();
    let wait_status = wait_for(main)?;
    // What finishes by itself within the grace was not left behind.
    let left_behind = if reap_for(profile.limits.grace) { 0 } else { end_all() };
    let ended = Ended { wait_status, left_behind, stopped: false, free: false };
    rustix::io::write(inside.account, &ended.to_bytes()).step(Step::Init, "account")?;
    Ok(())
}

/// Whether a path lies where the box shows the host's own files for writing. Elsewhere a file that
/// the view does not show is one of the server's, given to be read.
fn is_shown(path: &Path, specification: &Specification, outside: &Surroundings) -> bool {
    let profile = &specification.profile;
    let writable = profile.writable.iter().chain(&outside.writable);
    writable.chain([&profile.root]).any(|place| path.starts_with(place))
}

/// Kills everything else in the box and waits until it is gone; how many there were.
fn end_all() -> u32 {
    let count = other_processes();
    // The group of number 1 stands for "everybody I may signal" in the kernel's numbering, which
    // for pid 1 is the box.
    while kill_process_group(Pid::INIT, Signal::KILL).is_ok() && !reap_for(KILL_AGAIN) {}
    count
}

/// Ends this process when the supervisor ends, also if that has already happened.
pub(super) fn end_with(supervisor: &OwnedFd) -> Result<(), Failure> {
    let step = Step::ParentDeathSignal;
    set_parent_process_death_signal(Some(Signal::KILL)).step(step, "")?;
    let mut wanted = [PollFd::new(supervisor, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut wanted, Some(&at_once)).step(step, "")? {
        0 => Ok(()),
        _ => Err(Failure::plain(step, "the supervisor is gone")),
    }
}

/// The own user and network namespace, held open.
fn own_network() -> Result<(OwnedFd, OwnedFd), Failure> {
    let open = |name: &str| {
        std::fs::File::open(format!("/proc/self/ns/{name}"))
            .map(OwnedFd::from)
            .step(Step::Namespaces, name)
    };
    Ok((open("user")?, open("net")?))
}

/// Puts what the order asks for into the view. Gives the emptied system directories.
fn furnish(
    view: &View,
    specification: &Specification,
    outside: &Surroundings,
    identity: Identity,
) -> Result<Vec<PathBuf>, Failure> {
    let profile = &specification.profile;
    let mut emptied = Vec::new();
    for name in EMPTIED {
        if let Some(path) = system_directory(name).step(Step::View, name)? {
            emptied.push(path);
        }
    }
    let writing = profile.mode == Writing::WorkspaceWrite;
    let root = if writing { Change::Writable } else { Change::ReadOnly };
    let mut changes = vec![(profile.root.clone(), root)];
    let own = profile.emptied.iter().filter(|path| path.is_dir());
    let empty = profile.homes().chain(&emptied).chain(own);
    changes.extend(empty.map(|path| (path.clone(), Change::Empty)));
    let shown = SHOWN.iter().map(PathBuf::from).filter(|path| path.exists());
    changes.extend(shown.map(|path| (path, Change::ReadOnly)));
    let given = profile.readable.iter().filter(|path| path.exists());
    changes.extend(given.map(|path| (path.clone(), Change::ReadOnly)));
    // In mode read-only nothing of the host is writable, and a repository outside only readable.
    for path in profile.writable.iter().chain(&outside.writable) {
        if path.exists() {
            let change = if writing { Change::Writable } else { Change::ReadOnly };
            changes.push((path.clone(), change));
        }
    }

    for (number, (path, change)) in in_order(changes).into_iter().enumerate() {
        let step = if path == profile.root { Step::Workspace } else { Step::View };
        match change {
            Change::Empty => {
                let shared = emptied.contains(&path);
                let mode = if shared { Mode::from_raw_mode(0o1777) } else { Mode::RWXU };
                let there = view.empty(&path, &format!("empty{number}"), mode)?;
                if there && profile.homes().any(|home| *home == path) {
                    home::furnish(view, profile, outside.caches.as_ref(), &path)?;
                }
            }
            Change::ReadOnly => view.bind(step, &path, &path, Access::ReadOnly)?,
            Change::Writable => view.bind(step, &path, &path, Access::Writable)?,
        }
    }
    if let Some(scratch) = &profile.scratch {
        view.bind(Step::View, scratch, Path::new(STAGE), Access::Writable)?;
    }
    for (path, access) in &outside.guards {
        view.cover_by_itself(path, *access)?;
    }
    let secrets = ROOT_SECRETS.iter().map(Path::new).filter(|path| {
        // A home or workspace there is shown on purpose.
        let mut shown = profile.homes().chain([&profile.root]);
        identity.is_root() && !shown.any(|place| place.starts_with(path))
    });
    let hidden = profile.hidden.iter().chain(&outside.sockets).map(PathBuf::as_path);
    for path in secrets.chain(hidden) {
        view.remove(path)?;
    }
    Ok(emptied)
}

/// Reaps until the main process has ended; its raw wait status.
fn wait_for(main: Pid) -> Result<i32, Failure> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == main => return Ok(status.as_raw()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Failure::new(Step::Init, "waiting", error)),
        }
    }
}

/// Processes of this pid namespace but ourselves.
fn other_processes() -> u32 {
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let numbers = entries.flatten().filter(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok_and(|n| n != 1))
    });
    u32::try_from(numbers.count()).unwrap_or(u32::MAX)
}
