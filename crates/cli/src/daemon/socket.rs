//! The daemon's port on loopback: its own, or one that the service manager opened for it.

use std::{
    net::{Ipv4Addr, TcpListener},
    os::fd::{FromRawFd as _, OwnedFd, RawFd},
};

use anyhow::{Context as _, Result, bail};
use rustix::{io::FdFlags, net::sockopt::socket_acceptconn};

use crate::config::Surroundings;

/// The first descriptor that a service manager hands over.
const FIRST: RawFd = 3;

/// Opens the port; 0 is any that is free.
pub(super) fn listen(port: u16, surroundings: &Surroundings) -> Result<TcpListener> {
    if let Some(listener) = handed_over(surroundings)? {
        return Ok(listener);
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).with_context(|| {
        format!("port {port} cannot be opened; another one can be set as daemon.port")
    })
}

/// The socket of a service manager that started us for a connection (`LISTEN_FDS`).
fn handed_over(surroundings: &Surroundings) -> Result<Option<TcpListener>> {
    let number = |name| surroundings.variable(name)?.to_str()?.parse::<u32>().ok();
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(None);
    }
    match number("LISTEN_FDS") {
        None | Some(0) => return Ok(None),
        Some(1) => {}
        Some(more) => bail!("the service manager handed over {more} sockets, one is wanted"),
    }
    #[expect(unsafe_code, reason = "a descriptor that came with the process has no owner yet")]
    // SAFETY: the variable names this process, so that descriptor 3 was opened for it, and nothing
    // else here takes it.
    let socket = unsafe { OwnedFd::from_raw_fd(FIRST) };
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC).context("the socket handed over")?;
    if !socket_acceptconn(&socket).unwrap_or(false) {
        bail!("what the service manager handed over is no listening socket");
    }
    let listener = TcpListener::from(socket);
    if !listener.local_addr().context("the socket handed over")?.ip().is_loopback() {
        bail!(
            "the socket handed over is not on loopback; in the unit: ListenStream=127.0.0.1:PORT"
        );
    }
    Ok(Some(listener))
}
