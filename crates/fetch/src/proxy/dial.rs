//! From a permitted host to a connection: resolve once, check every address, dial a checked one.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    time::Duration,
};

use tokio::{
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use url::Host;

use super::{Denial, Permit, ProxyLimits, Why};
use crate::{
    HostPort, Resolve,
    guard::{Class, classify},
};

/// From a range for documentation: no machine has it.
const NOBODYS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NoConnection {
    /// It may not be made.
    Denied(Denial),
    /// It could not be made; what happened.
    Failed(&'static str),
}

/// Connects to `target`, if each of its addresses is within `permit`.
pub(super) async fn dial(
    target: &HostPort,
    permit: Permit,
    resolver: &dyn Resolve,
    limits: &ProxyLimits,
) -> Result<TcpStream, NoConnection> {
    let addresses = match target.host() {
        Host::Ipv4(address) => vec![IpAddr::V4(*address)],
        Host::Ipv6(address) => vec![IpAddr::V6(*address)],
        Host::Domain(name) => timeout(limits.resolve, resolver.resolve(name))
            .await
            .map_err(|_| NoConnection::Failed("the name lookup took too long"))?
            .map_err(|_| NoConnection::Failed("the name has no address"))?,
    };
    if addresses.is_empty() {
        return Err(NoConnection::Failed("the name has no address"));
    }
    for address in &addresses {
        let class = class_of(*address);
        if !permit.covers(class) {
            let why = Why::Address(class);
            return Err(NoConnection::Denied(Denial { target: target.clone(), why }));
        }
    }
    connect(&addresses, target.port(), limits.connect).await
}

/// Tries one address after the other; the time is for all of them.
async fn connect(
    addresses: &[IpAddr],
    port: u16,
    limit: Duration,
) -> Result<TcpStream, NoConnection> {
    let end = Instant::now() + limit;
    // A dead address must not take the time of those behind it.
    let share = limit / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut what = "the connection took too long";
    for address in addresses {
        let until = end.min(Instant::now() + share);
        match timeout_at(until, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // Small messages of a handshake are not held back; without it they only are slower.
                let _slower = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(_)) => what = "the connection was refused or cannot be made",
            Err(_) => what = "the connection took too long",
        }
    }
    Err(NoConnection::Failed(what))
}

/// What an address is; one of this machine's own counts as loopback, however it looks.
fn class_of(address: IpAddr) -> Class {
    match classify(address) {
        Class::Public | Class::Private | Class::Shared | Class::Benchmarking if is_own(address) => {
            Class::Loopback
        }
        class => class,
    }
}

/// Whether the address is one of this machine: a socket can be bound to it. Nothing is sent.
fn is_own(address: IpAddr) -> bool {
    let binds = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    if binds(address) && !binds(NOBODYS.into()) {
        return true;
    }
    // Where the system lets every address be bound: towards an own address it is its own source.
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = || -> io::Result<IpAddr> {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 9))?;
        Ok(socket.local_addr()?.ip())
    };
    source().is_ok_and(|source| source == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_told_from_others() {
        assert!(is_own(Ipv4Addr::LOCALHOST.into()));
        assert!(is_own("127.0.0.9".parse().unwrap()));
        assert!(!is_own(NOBODYS.into()));
        // The address that this machine would use to reach others, if it has one.
        let probe = UdpSocket::bind("0.0.0.0:0").unwrap();
        if probe.connect((NOBODYS, 9)).is_ok() {
            let own = probe.local_addr().unwrap().ip();
            assert!(is_own(own), "{own}");
            let guarded = class_of(own);
            assert!(!Permit::Private.covers(guarded), "{own} is {guarded:?}");
        }
    }
}
