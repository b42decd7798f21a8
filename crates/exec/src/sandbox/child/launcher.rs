//! The launcher's own code: an order comes, a supervisor is forked for it.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::RecvFlags;
use rustix::process::{Signal, set_parent_process_death_signal, setsid};

use super::super::launcher::answer;
use super::super::parent::receive;
use super::namespaces::{self, Side};

/// Forks for each order until the server lets go of the socket, which ends this process. Returns in
/// each fork, with the descriptors of its order.
#[expect(clippy::exit, reason = "this process has one job")]
pub(super) fn serve(socket: OwnedFd) -> Vec<OwnedFd> {
    // Whoever leads the session's terminal or group is no concern of programs.
    let _session = setsid();
    // The socket says so too, but for a moment in which a fork still holds its other end.
    let _ends_with_server = set_parent_process_death_signal(Some(Signal::KILL));
    loop {
        let mut word = [0; 32];
        let Ok((1.., order)) = receive(socket.as_fd(), &mut word, RecvFlags::empty()) else {
            std::process::exit(0)
        };
        let number = match namespaces::fork(libc::CLONE_PARENT) {
            Ok(Side::Child) => return order,
            Ok(Side::Parent(process)) => process.as_raw_nonzero().get(),
            Err(error) => -error.raw_os_error().unwrap_or(libc::EAGAIN),
        };
        drop(order);
        if !answer(&socket, number) {
            std::process::exit(0);
        }
    }
}
