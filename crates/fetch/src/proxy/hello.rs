//! The server name of a TLS handshake, looked at before it leaves through a tunnel.
//!
//! Hosts of one delivery network share addresses, and which of them answers is decided by the name
//! in the handshake. Without this a tunnel to an allowed host would open all its neighbours.

use url::Host;

/// Longest handshake message that is waited for.
const MOST_BYTES: usize = 32 << 10;

/// What the first bytes of a tunnel are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// Too few to say.
    More,
    /// They may pass, and everything behind them.
    Pass,
    /// A handshake for another host, or one that cannot be read.
    Refuse,
}

/// Looks at everything the client has sent so far into a tunnel to `host`.
///
/// What does not begin like a TLS handshake passes (other protocols use tunnels as well), and so
/// does a handshake without a name: it reaches whatever answers for the address.
pub(super) fn look(bytes: &[u8], host: &Host<String>) -> Sight {
    const HANDSHAKE: u8 = 22;
    match bytes {
        [] | [HANDSHAKE] => return Sight::More,
        [HANDSHAKE, 3, ..] => {}
        _ => return Sight::Pass,
    }
    let sight = match message(bytes) {
        Ok(Some(hello)) => match server_name(&hello) {
            Ok(None) => Sight::Pass,
            Ok(Some(name)) if is(name, host) => Sight::Pass,
            Ok(Some(_)) | Err(Unreadable) => Sight::Refuse,
        },
        Ok(None) => Sight::More,
        Err(Unreadable) => Sight::Refuse,
    };
    if sight == Sight::More && bytes.len() >= MOST_BYTES { Sight::Refuse } else { sight }
}

fn is(name: &[u8], host: &Host<String>) -> bool {
    match host {
        Host::Domain(host) => name.eq_ignore_ascii_case(host.as_bytes()),
        // An address was checked as such, and names are not sent for addresses.
        Host::Ipv4(_) | Host::Ipv6(_) => false,
    }
}

/// It begins like a handshake and goes on otherwise.
struct Unreadable;

/// The first handshake message, put together from its records; `None` while it is not complete.
fn message(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, Unreadable> {
    let mut message = Vec::new();
    loop {
        if let [kind, a, b, c, ..] = message.as_slice() {
            if *kind != 1 {
                return Err(Unreadable);
            }
            let end = 4 + usize::from(*a) * 0x1_0000 + usize::from(*b) * 0x100 + usize::from(*c);
            if let Some(whole) = message.get(4..end) {
                return Ok(Some(whole.to_vec()));
            }
        }
        let [kind, _, _, high, low, rest @ ..] = bytes else { return Ok(None) };
        if *kind != 22 {
            return Err(Unreadable);
        }
        let length = usize::from(*high) * 0x100 + usize::from(*low);
        if length == 0 {
            return Err(Unreadable);
        }
        let part = rest.get(..length);
        message.extend_from_slice(part.unwrap_or(rest));
        bytes = part.and_then(|_| rest.get(length..)).unwrap_or_default();
    }
}

/// The name in a client's hello, if it has one.
fn server_name(hello: &[u8]) -> Result<Option<&[u8]>, Unreadable> {
    // Version and random, session, suites, compressions.
    let mut rest = hello.get(34..).ok_or(Unreadable)?;
    take(&mut rest, 1)?;
    take(&mut rest, 2)?;
    take(&mut rest, 1)?;
    if rest.is_empty() {
        return Ok(None);
    }
    let mut extensions = take(&mut rest, 2)?;
    let mut found = None;
    while let [high, low, others @ ..] = extensions {
        extensions = others;
        let mut extension = take(&mut extensions, 2)?;
        if (*high, *low) == (0, 0) {
            let mut names = take(&mut extension, 2)?;
            // One name of the one kind there is; more could be read differently elsewhere.
            names = names.strip_prefix(&[0]).ok_or(Unreadable)?;
            let name = take(&mut names, 2)?;
            if found.is_some() || !names.is_empty() || !extension.is_empty() {
                return Err(Unreadable);
            }
            found = Some(name);
        }
    }
    if extensions.is_empty() && rest.is_empty() { Ok(found) } else { Err(Unreadable) }
}

/// A part that is preceded by its length in `width` bytes.
fn take<'a>(rest: &mut &'a [u8], width: usize) -> Result<&'a [u8], Unreadable> {
    let (length, others) = rest.split_at_checked(width).ok_or(Unreadable)?;
    let length = length.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let (part, others) = others.split_at_checked(length).ok_or(Unreadable)?;
    *rest = others;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;

    fn host(name: &str) -> Host<String> {
        Host::parse(name).unwrap()
    }

    /// What a real client sends first.
    fn hello(name: &str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = name.to_owned().try_into().unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_name_has_to_be_the_tunnels() {
        let bytes = hello("a.example");
        assert_eq!(look(&bytes, &host("a.example")), Sight::Pass);
        assert_eq!(look(&bytes, &host("A.Example")), Sight::Pass);
        assert_eq!(look(&bytes, &host("b.example")), Sight::Refuse);
        assert_eq!(look(&bytes, &host("example")), Sight::Refuse);
        assert_eq!(look(&bytes, &host("192.0.2.1")), Sight::Refuse);
        // No name is sent for an address.
        assert_eq!(look(&hello("192.0.2.1"), &host("192.0.2.1")), Sight::Pass);
    }

    #[test]
    fn every_beginning_is_too_short_and_nothing_passes_early() {
        let bytes = hello("a.example");
        for end in 0..bytes.len() {
            assert_eq!(look(&bytes[..end], &host("b.example")), Sight::More, "{end}");
        }
    }

    #[test]
    fn a_message_in_several_records_is_put_together() {
        let bytes = hello("a.example");
        let body = &bytes[5..];
        let mut split = Vec::new();
        for part in body.chunks(7) {
            split.extend_from_slice(&[22, 3, 1, 0, part.len() as u8]);
            split.extend_from_slice(part);
        }
        assert_eq!(look(&split, &host("a.example")), Sight::Pass);
        assert_eq!(look(&split, &host("b.example")), Sight::Refuse);
    }

    #[test]
    fn other_protocols_pass_and_broken_handshakes_do_not() {
        let any = host("a.example");
        for other in [&b"SSH-2.0-x\r\n"[..], b"GET / HTTP/1.1\r\n", b"\0", &[22, 9, 9]] {
            assert_eq!(look(other, &any), Sight::Pass, "{other:?}");
        }
        for broken in [
            &[22, 3, 1, 0, 0][..],
            &[22, 3, 1, 0, 4, 2, 0, 0, 0],
            &[22, 3, 1, 0, 1, 1, 9, 0, 0, 0, 0],
        ] {
            assert_eq!(look(broken, &any), Sight::Refuse, "{broken:?}");
        }
        let mut endless = vec![22, 3, 1, 0xff, 0xff, 1, 0xff, 0xff, 0xff];
        endless.resize(MOST_BYTES, 0);
        assert_eq!(look(&endless, &any), Sight::Refuse);
    }
}
