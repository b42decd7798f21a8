//! A box that nothing runs in yet: its control group, and init in its namespaces.
//!
//! A launcher's supervisor makes one before it has its order, because that takes longer than all
//! the rest. Nothing of the order, of the workspace or of the host's mounts is in it.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::super::codec::{Wire as _, wire_struct};
use super::super::parent::{ORDER, receive, sealed, send};
use super::super::profile::Limits;
use super::super::report::{Ended, Failure, InStep as _, Step};
use super::caches::Caches;
use super::cgroup::Group;
use super::mounts::Access;
use super::namespaces::Gate;
use super::seccomp::Filter;
use super::{Channel, Joined, Order, admit, init, reap_all};

/// See the module's head.
#[derive(Debug)]
pub(super) struct Enclosure {
    limits: Limits,
    group: Option<Group>,
    init: OwnedFd,
    /// Leads to init.
    orders: OwnedFd,
    /// Gives init's account of the program's end.
    account: OwnedFd,
}

/// What the supervisor found and prepared outside for one order.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// Covered in the view by themselves, parents before children.
    pub(super) guards: Vec<(PathBuf, Access)>,
    /// The repository of a linked worktree or of a submodule, writable as well.
    pub(super) writable: Vec<PathBuf>,
    /// Sockets of the host that the view would show.
    pub(super) sockets: Vec<PathBuf>,
    /// Path of standard input, where it is a file with a name.
    pub(super) stdin: Option<PathBuf>,
    /// The workspace's caches.
    pub(super) caches: Option<Caches>,
}

wire_struct!(Surroundings { guards, writable, sockets, stdin, caches });

impl Enclosure {
    /// Makes the group and starts init, in the network of another box where there is one to join.
    pub(super) fn make(
        channel: &Channel,
        limits: &Limits,
        filter: &Filter,
        join: Option<&Joined>,
    ) -> Result<Self, Failure> {
        let group = Group::create(limits);
        match start(channel, group.as_ref(), filter, join) {
            Ok([init, orders, account]) => {
                Ok(Self { limits: limits.clone(), group, init, orders, account })
            }
            Err(failure) => {
                if let Some(group) = group {
                    group.remove();
                }
                Err(failure)
            }
        }
    }

    /// Whether it can hold what is ordered: the network of another box has to be joined at the start.
    pub(super) fn fits(&self, order: &Order<'_>) -> bool {
        order.join.is_none() && self.limits == order.specification.profile.limits
    }

    /// Gives init the order, with this process's standard streams. It begins to build the view.
    pub(super) fn hand_over(&self, order: &Order<'_>) -> Result<(), Failure> {
        let (stdin, stdout, stderr) =
            (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
        let memory = order.memory.as_ref();
        let memory = memory.ok_or_else(|| Failure::plain(Step::Specification, "memory file"))?;
        send(self.orders.as_fd(), ORDER, &[memory.as_fd(), stdin, stdout, stderr])
            .step(Step::Init, "order")
    }

    /// Gives init what it has to know beside its order.
    pub(super) fn surround(&self, surroundings: &Surroundings) -> Result<(), Failure> {
        let memory = sealed(&surroundings.to_bytes()).step(Step::Init, "surroundings")?;
        send(self.orders.as_fd(), ORDER, &[memory.as_fd()]).step(Step::Init, "surroundings")
    }

    /// Readable when init has ended.
    pub(super) fn process(&self) -> &OwnedFd {
        &self.init
    }

    /// Readable when the program has ended.
    pub(super) fn told(&self) -> &OwnedFd {
        &self.account
    }

    /// What init has told of the end, if it has.
    pub(super) fn account(&self) -> Option<Ended> {
        rustix::io::ioctl_fionbio(&self.account, true).ok()?;
        let mut bytes = [0; 64];
        let length =
            rustix::io::retry_on_intr(|| rustix::io::read(&self.account, &mut bytes)).ok()?;
        Ended::from_bytes(bytes.get(..length)?)
    }

    /// Ends everything in it.
    pub(super) fn kill(&self) {
        // One that has ended needs no killing.
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
    }
}

impl Drop for Enclosure {
    /// Ends everything in it and takes it down, which takes the kernel a while.
    fn drop(&mut self) {
        self.kill();
        reap_all();
        if let Some(group) = self.group.take() {
            group.remove();
        }
    }
}

/// Init's descriptor, its socket and its account.
fn start(
    channel: &Channel,
    group: Option<&Group>,
    filter: &Filter,
    join: Option<&Joined>,
) -> Result<[OwnedFd; 3], Failure> {
    let gate = Gate::new().step(Step::Limits, "gate")?;
    let (told, account) = pipe_with(PipeFlags::CLOEXEC).step(Step::Supervise, "account")?;
    let (orders, ours) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .step(Step::Supervise, "orders")?;
    let inside = init::Inside {
        channel,
        group,
        filter,
        gate: &gate,
        account: &account,
        orders: &orders,
        joined: join.is_some(),
    };
    let (number, ours): (Pid, OwnedFd) = init::start(&inside, join, ours)?;
    let process = pidfd_open(number, PidfdFlags::empty()).step(Step::Supervise, "")?;
    admit(group, &gate, number)?;
    Ok([process, ours, told])
}

/// Waits for the next thing that the supervisor hands over; `None` when it has nothing more.
pub(super) fn wait_for_more(orders: &OwnedFd) -> Option<Vec<OwnedFd>> {
    let mut word = [0; 32];
    let (length, received) = receive(orders.as_fd(), &mut word, RecvFlags::empty()).ok()?;
    (length > 0).then_some(received)
}
