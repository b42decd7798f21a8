//! Tries each layer in a process of its own and tells what worked.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::process::{WaitOptions, waitpid};

use super::super::codec::Wire as _;
use super::super::probe::{
    LANDLOCK, Layer, LayerState, MEMORY, MOUNTS, NETWORK, PROCESSES, SECCOMP, TASKS, USERS,
};
use super::super::profile::Profile;
use super::super::report::{Failure, InStep as _, Message, Step};
use super::cgroup::Group;
use super::namespaces::{self, Identity, Side};
use super::view::View;
use super::{Order, devices, init, landlock, limits, privileges, seccomp};

/// A trial: what it is called, in which namespaces it runs, what it does. The number it gives is
/// the layer's version.
type Trial = (&'static str, i32, fn(&Profile) -> Result<u32, Failure>);

const TRIALS: &[Trial] = &[
    (USERS, libc::CLONE_NEWUSER, |_| Ok(0)),
    (NETWORK, libc::CLONE_NEWUSER | libc::CLONE_NEWNET, |_| namespaces::loopback_up().map(|()| 0)),
    (MOUNTS, libc::CLONE_NEWUSER | libc::CLONE_NEWNS, |profile| {
        let view = View::new(profile)?;
        view.empty(Path::new("/tmp"), "empty", Mode::RWXU)?;
        view.enter().map(|()| 0)
    }),
    (PROCESSES, namespaces::WITHOUT_NETWORK, |profile| {
        namespaces::own_mounts()?;
        let view = View::new(profile)?;
        devices::dev(&view)?;
        devices::proc(&view, profile.limits.tasks)?;
        view.enter().map(|()| 0)
    }),
    (LANDLOCK, 0, |_| {
        privileges::drop_all()?;
        let rules =
            landlock::Rules { readable: vec![PathBuf::from("/")], ..landlock::Rules::default() };
        match landlock::restrict(&rules)? {
            0 => Err(Failure::plain(Step::Landlock, "not in this kernel")),
            version => Ok(version),
        }
    }),
    (SECCOMP, 0, |_| {
        privileges::drop_all()?;
        seccomp::Filter::new(seccomp::Sockets::None)?.apply()?;
        // It has to answer, not only to be accepted.
        match std::net::UdpSocket::bind("127.0.0.1:0") {
            Ok(_) => Err(Failure::plain(Step::Seccomp, "accepted, but without effect")),
            Err(_) => Ok(0),
        }
    }),
];

/// Runs all trials and sends the layers.
pub(super) fn run(order: &Order<'_>) -> Result<(), Failure> {
    let profile = &order.specification.profile;
    let mut layers = Vec::new();
    for (name, flags, trial) in TRIALS {
        let (version, state) = match attempt(*flags, *trial, profile)? {
            Ok(version) => (version, LayerState::Present(String::new())),
            Err(failure) => (0, LayerState::Missing(failure.to_string())),
        };
        layers.push(Layer { name: (*name).into(), version, state });
    }
    layers.extend(bounds(profile));
    order.channel.tell(&Message::Layers(layers.to_bytes()), &[]);
    Ok(())
}

/// One trial in a process and namespaces of its own.
fn attempt(
    flags: i32,
    trial: fn(&Profile) -> Result<u32, Failure>,
    profile: &Profile,
) -> Result<Result<u32, Failure>, Failure> {
    let identity = Identity::current();
    let (mut tell, mut told) = UnixStream::pair().step(Step::Supervise, "pair")?;
    match namespaces::fork(flags) {
        Ok(Side::Child) => {
            let mapped = if flags & libc::CLONE_NEWUSER == 0 {
                Ok(())
            } else {
                namespaces::map_identity(identity)
            };
            let bytes = match mapped.and_then(|()| trial(profile)) {
                Ok(version) => [vec![0], version.to_bytes()].concat(),
                Err(failure) => [vec![1], failure.to_bytes()].concat(),
            };
            init::leave(i32::from(tell.write_all(&bytes).is_err()))
        }
        Ok(Side::Parent(child)) => {
            drop(tell);
            let mut bytes = Vec::new();
            let read = told.read_to_end(&mut bytes);
            rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()))
                .step(Step::Supervise, "trial")?;
            read.step(Step::Supervise, "trial")?;
            Ok(match bytes.split_first() {
                Some((0, rest)) => Ok(u32::from_bytes(rest).unwrap_or(0)),
                Some((_, rest)) => Err(Failure::from_bytes(rest)
                    .unwrap_or_else(|| Failure::plain(Step::Supervise, "malformed"))),
                None => Err(Failure::plain(Step::Supervise, "the trial died")),
            })
        }
        Err(error) => Ok(Err(Failure::new(Step::Namespaces, "", error))),
    }
}

/// Which bounds hold: not needed for a rung, but to be known.
fn bounds(profile: &Profile) -> [Layer; 2] {
    let group = Group::create(&profile.limits);
    let grouped = group.is_some();
    if let Some(group) = group {
        group.remove();
    }
    let tasks = if limits::pid_max_is_per_namespace() {
        LayerState::Present("pid_max of the namespace".into())
    } else if grouped {
        LayerState::Present("control group".into())
    } else if Identity::current().is_root() {
        LayerState::Missing("root on a kernel before 6.14 without a pids control group".into())
    } else {
        LayerState::Present("RLIMIT_NPROC".into())
    };
    let memory = if grouped {
        LayerState::Present("control group for the box, RLIMIT_DATA for a process".into())
    } else {
        LayerState::Missing("no control group: RLIMIT_DATA bounds each process only".into())
    };
    [
        Layer { name: TASKS.into(), version: 0, state: tasks },
        Layer { name: MEMORY.into(), version: 0, state: memory },
    ]
}
