//! The server's end of a box: what to spawn, and the socket that tells and ends it.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use super::codec::{Wire, wire_struct};
use super::report::{Event, Message, Started};
use super::{HIDDEN_ARGUMENT, Profile, Rung};

/// Largest message of a box: a failure with a path, the lines of a probe.
const MESSAGE_BYTES: usize = 16 * 1024;

/// Most descriptors beside a message: an order with its specification, streams and network.
const DESCRIPTORS: usize = 6;

/// How a box is started, beside what it allows.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The product's own binary (`/proc/self/exe` but for tests).
    pub binary: &'a Path,
    /// Which layers hold it ([`super::assess`]).
    pub rung: Rung,
    /// The program's standard input. A file in the workspace is opened anew through the view; one
    /// that the box does not show must be the server's own, since its mode and times can be changed
    /// by way of the descriptor.
    pub stdin: OwnedFd,
    /// The network of an earlier box of the same workspace, to reach its ports.
    pub join: Option<&'a NetworkNamespace>,
    /// Whether [`Started::network`] is wanted (a background job).
    pub share_network: bool,
}

/// The network of a box, held open.
#[derive(Debug)]
pub struct NetworkNamespace {
    pub(super) user: OwnedFd,
    pub(super) net: OwnedFd,
}

/// What the supervisor is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Run the program in a box.
    Run,
    /// Report which layers this kernel gives; nothing runs.
    Probe,
    /// Run the built-in escape attempts in the program's place.
    Canary,
    /// Run the built-in reader of PDFs in the program's place.
    Read,
    /// The same without a box, behind the reader's own filter.
    ReadBare,
    /// Run the program without a box.
    RunBare,
}

/// The specification as it travels, in a sealed memory file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Specification {
    pub(super) action: Action,
    pub(super) rung: Rung,
    /// Process id of the server, to notice that it died before the death signal was set.
    pub(super) server: u32,
    /// Whether standard output and error come with the order; else they are the supervisor's own.
    pub(super) streams: bool,
    pub(super) join: bool,
    /// Whether the box's network is to be shared.
    pub(crate) share_network: bool,
    pub(super) profile: Profile,
    pub(super) program: PathBuf,
    /// The zeroth included.
    pub(super) arguments: Vec<OsString>,
    /// Canary: files outside to write, and the port to connect to.
    pub(super) outside: Vec<PathBuf>,
    pub(super) port: u16,
}

impl Specification {
    /// A program in a box.
    pub(crate) fn boxed(
        rung: Rung,
        profile: Profile,
        program: &Path,
        arguments: &[OsString],
    ) -> io::Result<Self> {
        profile.validate().map_err(io::Error::other)?;
        let (program, arguments) = (program.to_path_buf(), arguments.to_vec());
        Ok(Self { program, arguments, ..Self::built_in(Action::Run, rung, profile) })
    }

    /// Whether nothing has to be handed on to a box: one supervisor can do several of these.
    pub(super) fn is_bare(&self) -> bool {
        self.action == Action::RunBare
    }

    /// A program without one: of the profile its directory, environment and grace count.
    pub(crate) fn bare(profile: Profile, program: &Path, arguments: &[OsString]) -> Self {
        let (program, arguments) = (program.to_path_buf(), arguments.to_vec());
        Self { program, arguments, ..Self::built_in(Action::RunBare, Rung::Landlock, profile) }
    }

    /// What the binary itself does in a program's place, with a network of its own.
    pub(super) fn built_in(action: Action, rung: Rung, profile: Profile) -> Self {
        Self {
            action,
            rung,
            server: std::process::id(),
            streams: false,
            join: false,
            share_network: false,
            profile,
            program: PathBuf::new(),
            arguments: Vec::new(),
            outside: Vec::new(),
            port: 0,
        }
    }
}

wire_struct!(Specification {
    action,
    rung,
    server,
    streams,
    join,
    share_network,
    profile,
    program,
    arguments,
    outside,
    port
});

impl Wire for Action {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.clone() as u8);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        [Self::Run, Self::Probe, Self::Canary, Self::Read, Self::ReadBare, Self::RunBare]
            .get(usize::from(u8::take(input)?))
            .cloned()
    }
}

/// The box's socket. Dropping it ends the box: the supervisor kills everything in it.
#[derive(Debug)]
pub struct Link {
    /// Shared for as long as it takes to give a supervisor back.
    socket: Arc<OwnedFd>,
}

/// Prepares one program in a box: `program` with `arguments`, the zeroth included. Spawn the command
/// from a thread that waits for its first [`Event`], drop it, then read the link. Standard output and
/// error are the caller's to set; standard input is taken.
pub fn command(
    profile: &Profile,
    program: &Path,
    arguments: &[OsString],
    launch: Launch<'_>,
) -> io::Result<(Command, Link)> {
    let specification = Specification {
        join: launch.join.is_some(),
        share_network: launch.share_network,
        ..Specification::boxed(launch.rung, profile.clone(), program, arguments)?
    };
    launch_with(&specification, launch)
}

/// The first word on a supervisor's socket: its own specification comes with it.
pub(super) const SPECIFICATION: &[u8] = b"specification";
/// The first word on a launcher's socket: supervisors are wanted. What to make ahead follows.
pub(super) const ORDERS: &[u8] = b"orders";
/// The word to a launcher when a supervisor was taken.
pub(super) const TAKEN: &[u8] = b"taken";
/// The word that goes with each order. The specification of a small one follows it; else it comes in
/// a memory file, before the other descriptors.
pub(super) const ORDER: &[u8] = b"order";
/// Most bytes of the two together.
pub(super) const ORDER_BYTES: usize = 8 * 1024;

/// The binary in its hidden role, with its end of the socket as standard input. Descriptors cross in
/// the socket, never by inheritance: no other child of the server can get hold of them, and the
/// spawn needs no code between fork and exec.
pub(super) fn bare(binary: &Path, socket: OwnedFd) -> Command {
    let mut command = Command::new(binary);
    command.arg0("quietcontext").arg(HIDDEN_ARGUMENT).env_clear().stdin(Stdio::from(socket));
    command
}

/// The same for a specification that is already made.
pub(super) fn launch_with(
    specification: &Specification,
    launch: Launch<'_>,
) -> io::Result<(Command, Link)> {
    let memory = sealed(&specification.to_bytes())?;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let mut descriptors = vec![memory.as_fd(), launch.stdin.as_fd()];
    if let Some(network) = launch.join {
        descriptors.extend([network.user.as_fd(), network.net.as_fd()]);
    }
    send(ours.as_fd(), SPECIFICATION, &descriptors)?;
    Ok((bare(launch.binary, theirs), Link::new(Arc::new(ours))))
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Link {
    /// The server's end of a box's socket.
    pub(super) fn new(socket: Arc<OwnedFd>) -> Self {
        Self { socket }
    }

    /// The socket, for another order.
    pub(crate) fn socket(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.socket)
    }

    /// Tells the supervisor to kill everything in the box; returns at once. [`Event::Ended`] and
    /// [`Event::Closed`] follow when all is gone.
    pub fn stop(&self) {
        // A supervisor that is gone already needs no telling.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
    }

    /// The next event without waiting; `None` when there is none yet. Poll the descriptor for
    /// readability to wait.
    pub fn receive(&mut self) -> io::Result<Option<Event>> {
        let mut bytes = vec![0; MESSAGE_BYTES];
        let (length, descriptors) =
            match receive(self.socket.as_fd(), &mut bytes, RecvFlags::DONTWAIT) {
                Ok(received) => received,
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Err(rustix::io::Errno::CONNRESET) => return Ok(Some(Event::Closed)),
                Err(error) => return Err(error.into()),
            };
        if length == 0 {
            return Ok(Some(Event::Closed));
        }
        let message = bytes.get(..length).and_then(Message::from_bytes);
        let mut descriptors = descriptors.into_iter();
        let event = match message {
            Some(Message::Failed(failure)) => Event::Failed(failure),
            Some(Message::Ended(ended)) => Event::Ended(ended),
            Some(Message::Layers(lines)) => Event::Layers(lines),
            Some(Message::Started { proxy, network }) => {
                let proxy = if proxy { descriptors.next().map(TcpListener::from) } else { None };
                let network = if network {
                    descriptors
                        .next()
                        .zip(descriptors.next())
                        .map(|(user, net)| NetworkNamespace { user, net })
                } else {
                    None
                };
                Event::Started(Started { proxy, network })
            }
            None => return Err(io::Error::other("the box sent a message that is none")),
        };
        Ok(Some(event))
    }

    /// The next event, waited for. [`Event::Closed`] when the supervisor is gone.
    pub fn wait(&mut self) -> io::Result<Event> {
        loop {
            if let Some(event) = self.receive()? {
                return Ok(event);
            }
            let mut wanted =
                [rustix::event::PollFd::new(&self.socket, rustix::event::PollFlags::IN)];
            rustix::io::retry_on_intr(|| rustix::event::poll(&mut wanted, None))?;
        }
    }
}

/// A memory file with these bytes that nobody can change any more.
pub(super) fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let memory = memfd_create("specification", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&memory, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    fcntl_add_seals(
        &memory,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(memory)
}

/// Sends one message with descriptors beside it.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(rustix::io::Errno::MSGSIZE);
    }
    rustix::io::retry_on_intr(|| {
        sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)
    })?;
    Ok(())
}

/// Receives one message and the descriptors beside it, close-on-exec.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    flags: RecvFlags,
) -> rustix::io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)
    })?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok((received.bytes, descriptors))
}
