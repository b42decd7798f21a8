//! The new namespaces: one `clone`, own identity mapped, loopback up.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socket_with};
use rustix::process::{Gid, Pid, Uid, getgid, getuid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::super::report::{Failure, InStep as _, Step};
use super::SETUP_FAILED;

/// Which side of a fork this is.
pub(super) enum Side {
    /// The new process.
    Child,
    /// The old one, with the id of the new.
    Parent(Pid),
}

/// The identity outside, taken before the namespaces exist.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity {
    uid: Uid,
    gid: Gid,
}

impl Identity {
    /// The caller's own.
    pub(super) fn current() -> Self {
        Self { uid: getuid(), gid: getgid() }
    }

    /// Whether this is root, which can read more than a user.
    pub(super) fn is_root(self) -> bool {
        self.uid.is_root()
    }
}

/// Flags of a box that brings its own network. Its mounts come later ([`own_mounts`]).
pub(super) const WITH_NETWORK: i32 = WITHOUT_NETWORK | libc::CLONE_NEWNET;
/// Flags of a box that joins another's network.
pub(super) const WITHOUT_NETWORK: i32 =
    libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// Forks into new namespaces (`flags` of `clone`; 0 is a plain fork). As one `clone` and not an
/// `unshare`, so that the supervisor stays outside with its own rights and can clean up.
pub(super) fn fork(flags: i32) -> io::Result<Side> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    #[expect(unsafe_code, reason = "there is no safe fork")]
    // SAFETY: without CLONE_VM and with a null stack `clone` is a fork; the process has one
    // thread, so no lock can be held in the child. All other arguments are unused.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        None => Side::Child,
        Some(pid) => Side::Parent(pid),
    })
}

/// Stack of a process until it becomes another program: it builds the argument list and reports.
const START_STACK_BYTES: usize = 64 * 1024;

/// Starts a process that becomes another program, in the way of `vfork`: it shares this one's memory,
/// so that nothing is copied, and this one stands still until it has become the program or ended.
pub(super) fn spawn(mut body: impl FnMut()) -> io::Result<Pid> {
    extern "C" fn enter<F: FnMut()>(body: *mut libc::c_void) -> libc::c_int {
        #[expect(unsafe_code, reason = "the caller's closure; the caller stands still")]
        // SAFETY: the pointer is to the closure of `spawn`, which nobody else uses meanwhile.
        unsafe {
            (*body.cast::<F>())();
        }
        SETUP_FAILED
    }
    fn entry<F: FnMut()>(_: &F) -> extern "C" fn(*mut libc::c_void) -> libc::c_int {
        enter::<F>
    }
    let mut stack = vec![0_u128; START_STACK_BYTES / size_of::<u128>()];
    let entry = entry(&body);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    #[expect(unsafe_code, reason = "there is no safe vfork")]
    // SAFETY: the process has one thread, which stands still until the new one has let go of the
    // memory; the stack is aligned and outlives the call.
    let pid = unsafe {
        let top = stack.as_mut_ptr_range().end;
        libc::clone(entry, top.cast(), flags, (&raw mut body).cast())
    };
    drop(stack);
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Enters the user and network namespace of an earlier box.
pub(super) fn join(user: &OwnedFd, net: &OwnedFd) -> Result<(), Failure> {
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))
        .step(Step::Namespaces, "joining a user namespace")?;
    move_into_link_name_space(net.as_fd(), Some(LinkNameSpaceType::Network))
        .step(Step::Namespaces, "joining a network")
}

/// A mount namespace of this process's own, with the host's mounts of this moment.
pub(super) fn own_mounts() -> Result<(), Failure> {
    #[expect(unsafe_code, reason = "the descriptor table, which the call could unshare, stays")]
    // SAFETY: only the mount namespace is asked for; the process has one thread.
    let done = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error()).step(Step::Namespaces, "mounts")
    }
}

/// Maps the caller's own user and group, and nothing else, into the new user namespace.
pub(super) fn map_identity(identity: Identity) -> Result<(), Failure> {
    let (uid, gid) = (identity.uid.as_raw(), identity.gid.as_raw());
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{uid} {uid} 1")),
        ("gid_map", format!("{gid} {gid} 1")),
    ] {
        std::fs::write(format!("/proc/self/{file}"), text).step(Step::IdentityMap, file)?;
    }
    Ok(())
}

/// Sets the loopback interface up: one netlink request and its acknowledgement.
pub(super) fn loopback_up() -> Result<(), Failure> {
    const NEW_LINK: u16 = 16;
    const REQUEST_WITH_ACK: u16 = 1 | 4;
    const LOOPBACK_INDEX: u32 = 1;
    const UP: u32 = 1;
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // the routing family is number 0
    )
    .step(Step::Loopback, "socket")?;
    let mut request = Vec::with_capacity(32);
    // Header: length, type, flags, sequence, port. Message: family and kind, index, flags, mask.
    request.extend_from_slice(&32_u32.to_ne_bytes());
    request.extend_from_slice(&NEW_LINK.to_ne_bytes());
    request.extend_from_slice(&REQUEST_WITH_ACK.to_ne_bytes());
    for word in [1, 0, 0, LOOPBACK_INDEX, UP, UP] {
        request.extend_from_slice(&word.to_ne_bytes());
    }
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))
        .step(Step::Loopback, "request")?;
    let mut answer = [0_u8; 256];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())
        .step(Step::Loopback, "answer")?;
    // The acknowledgement is an error message whose number, after the header, is 0.
    let number = answer
        .get(..length)
        .and_then(|answer| answer.get(16..20))
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(libc::EIO, i32::from_ne_bytes);
    if number == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(-number)).step(Step::Loopback, "request")
    }
}

/// A listener inside the box that the server serves as proxy.
pub(super) fn proxy_listener() -> Result<(TcpListener, u16), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).step(Step::Loopback, "proxy")?;
    let port = listener.local_addr().step(Step::Loopback, "proxy")?.port();
    Ok((listener, port))
}

/// Lets a forked process wait until its parent has done something to it.
#[derive(Debug)]
pub(super) struct Gate {
    inside: OwnedFd,
    outside: OwnedFd,
}

impl Gate {
    /// A closed gate; made before the fork, both sides have it then.
    pub(super) fn new() -> io::Result<Self> {
        let flags = rustix::pipe::PipeFlags::CLOEXEC;
        let (inside, outside) = rustix::pipe::pipe_with(flags)?;
        Ok(Self { inside, outside })
    }

    /// The parent lets the child pass.
    pub(super) fn open(&self) {
        // A child that has ended meanwhile reads nothing.
        let _ = rustix::io::write(&self.outside, &[0]);
    }

    /// The child waits; an error when the parent gave up or is gone.
    pub(super) fn pass(&self) -> io::Result<()> {
        let mut byte = [0; 1];
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.inside, &mut byte))? {
            1 => Ok(()),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}
