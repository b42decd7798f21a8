//! The launcher's own code: a supervisor is forked ahead of each order.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair};
use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use rustix::thread::set_name;

use super::super::parent::{receive, send};
use super::namespaces::{self, Side};

/// Forks one supervisor at once and another each time one was taken, until the server lets go of
/// the socket, which ends this process. Returns in each fork, with its end of the fork's own socket.
#[expect(clippy::exit, reason = "this process has one job")]
pub(super) fn serve(socket: OwnedFd) -> OwnedFd {
    // Whoever leads the session's terminal or group is no concern of programs.
    let _session = setsid();
    // The socket says so too, but for a moment in which a fork still holds its other end.
    let _ends_with_server = set_parent_process_death_signal(Some(Signal::KILL));
    let _shown_to_people = set_name(c"qc-launcher");
    let mut word = [0; 32];
    loop {
        let told = match fork() {
            Ok(Forked::Here(own)) => return own,
            Ok(Forked::There { number, theirs }) => {
                send(socket.as_fd(), &number.to_ne_bytes(), &[theirs.as_fd()])
            }
            // The number of an error, negated.
            Err(error) => {
                let number = -error.raw_os_error().unwrap_or(libc::EAGAIN);
                send(socket.as_fd(), &number.to_ne_bytes(), &[])
            }
        };
        let taken = told.and_then(|()| receive(socket.as_fd(), &mut word, RecvFlags::empty()));
        if !matches!(taken, Ok((1.., _))) {
            std::process::exit(0);
        }
    }
}

/// Which side of the fork this is.
enum Forked {
    /// The supervisor, with its end of its socket.
    Here(OwnedFd),
    /// The launcher, with the supervisor's number and the server's end.
    There { number: i32, theirs: OwnedFd },
}

fn fork() -> io::Result<Forked> {
    let (own, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // The server's child, so that the server collects it.
    Ok(match namespaces::fork(libc::CLONE_PARENT)? {
        Side::Child => {
            let _shown_to_people = set_name(c"qc-supervisor");
            Forked::Here(own)
        }
        Side::Parent(process) => Forked::There { number: process.as_raw_nonzero().get(), theirs },
    })
}
