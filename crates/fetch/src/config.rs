//! What the operator decides: who may be reached, and the limits of one fetch.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use url::{Host, Url};

use crate::OutboundProxy;
use crate::guard::{Class, Reach, classify, literal};

/// Everything a [`crate::Fetcher`] needs to know; comes from the user's configuration only.
#[derive(Debug, Clone, Default)]
pub struct FetchConfig {
    /// Which hosts may be reached at all.
    pub mode: Mode,
    /// Hosts the operator named. In every mode but [`Mode::Off`] a host named here may resolve
    /// to a private or loopback address; in [`Mode::Allowlist`] nothing else is reachable.
    pub allow: Vec<HostPort>,
    /// Certificate authorities (DER) to trust besides the system's, such as a company's own.
    pub extra_roots: Vec<Vec<u8>>,
    /// A proxy that leads to public addresses. The variables that name one are never looked at.
    pub proxy: Option<OutboundProxy>,
    /// Limits of one fetch, all hops together.
    pub limits: Limits,
}

/// Which hosts may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Every public address, and what `allow` names.
    #[default]
    Public,
    /// Only what `allow` names.
    Allowlist,
    /// Nothing.
    Off,
}

/// Limits of one fetch. Sizes in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Redirects followed.
    pub redirects: u32,
    /// Bytes of one response body as sent.
    pub wire_bytes: u64,
    /// Bytes of one response body after decompression.
    pub body_bytes: u64,
    /// Names and values of all response headers together.
    pub header_bytes: u64,
    /// Name lookup of one hop.
    pub resolve: Duration,
    /// TCP and TLS handshake of one hop.
    pub connect: Duration,
    /// From the request to the end of the response headers, connecting included, per hop.
    pub headers: Duration,
    /// Between two pieces of a body.
    pub idle: Duration,
    /// Decoding the body and converting it to text.
    pub convert: Duration,
    /// The whole fetch; the request's deadline may be earlier.
    pub total: Duration,
    /// The longest pause before the one retry.
    pub retry_pause: Duration,
    /// Fetches from one host at a time, whoever asks; more wait.
    pub per_host: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            redirects: 5,
            wire_bytes: 20 << 20,
            body_bytes: 50 << 20,
            header_bytes: 64 << 10,
            resolve: Duration::from_secs(10),
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(20),
            idle: Duration::from_secs(15),
            convert: Duration::from_secs(10),
            total: Duration::from_mins(1),
            retry_pause: Duration::from_millis(500),
            per_host: 6,
        }
    }
}

/// A host and a port as the operator wrote them: `localhost:3000`, `[::1]:8080`, `docs.example`.
///
/// Without a port, 443 is meant. The host is normalised the way URLs are, so `LOCALHOST:80`,
/// `localhost.:80` and `localhost:80` are the same entry, and so are `127.1:80` and `127.0.0.1:80`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    host: Host<String>,
    port: u16,
}

/// The port meant when an entry has none.
const DEFAULT_PORT: u16 = 443;

impl HostPort {
    /// A host that is normalised already.
    pub(crate) fn new(host: Host<String>, port: u16) -> Self {
        Self { host, port }
    }

    /// Host and port of a URL; `None` where it has none.
    pub fn of_url(url: &Url) -> Option<Self> {
        let port = url.port_or_known_default().filter(|port| *port != 0)?;
        let host = without_trailing_dot(url.host()?);
        (host != Host::Domain(String::new())).then_some(Self { host, port })
    }

    /// The host: a name in small letters without a dot at its end, or an address.
    pub fn host(&self) -> &Host<String> {
        &self.host
    }

    /// Whether the host is a name, not an address.
    pub fn is_name(&self) -> bool {
        matches!(self.host, Host::Domain(_))
    }

    /// What it is, if it is an address that nobody may be allowed to reach.
    pub fn out_of_reach(&self) -> Option<Class> {
        let class = classify(literal(&self.host)?);
        (class.reach() == Reach::Never).then_some(class)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether this entry names `other`, the way [`Self::names`] says.
    pub fn covers(&self, other: &Self) -> bool {
        let host = match &other.host {
            Host::Domain(name) => Host::Domain(name.as_str()),
            Host::Ipv4(address) => Host::Ipv4(*address),
            Host::Ipv6(address) => Host::Ipv6(*address),
        };
        self.names(&host, other.port)
    }

    /// Parses `HOST[:PORT]`; `None` when it is not exactly that.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.contains(['/', '?', '#', '@', '\\', ' ', '%', '*']) {
            return None;
        }
        // `https`, so that a written port 80 is not dropped as the scheme's default.
        let url = Url::parse(&format!("https://{text}/")).ok()?;
        if url.path() != "/" || text.ends_with(':') {
            return None;
        }
        Some(Self {
            host: without_trailing_dot(url.host()?),
            port: url.port().unwrap_or(DEFAULT_PORT),
        })
    }

    /// Whether this entry names the host and port of a URL. An entry for `localhost` also covers
    /// the literals `127.0.0.1` and `[::1]`: they are the same socket under another name.
    pub fn names(&self, host: &Host<&str>, port: u16) -> bool {
        if self.port != port {
            return false;
        }
        let host = without_trailing_dot(host.clone());
        let loopback = match &host {
            Host::Domain(_) => false,
            Host::Ipv4(address) => *address == Ipv4Addr::LOCALHOST,
            Host::Ipv6(address) => *address == Ipv6Addr::LOCALHOST,
        };
        self.host == host || (loopback && self.host == Host::Domain("localhost".to_owned()))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// `example.com.` and `example.com` are one host.
pub(crate) fn without_trailing_dot(host: Host<&str>) -> Host<String> {
    match host {
        Host::Domain(name) => Host::Domain(name.strip_suffix('.').unwrap_or(name).to_owned()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => Host::Ipv6(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_normalised_like_urls() {
        let table = [
            ("localhost:3000", Some("localhost:3000")),
            ("LOCALHOST:3000", Some("localhost:3000")),
            ("localhost.:3000", Some("localhost:3000")),
            ("127.1:80", Some("127.0.0.1:80")),
            ("0x7f000001:80", Some("127.0.0.1:80")),
            ("[::1]:8080", Some("[::1]:8080")),
            ("docs.example", Some("docs.example:443")),
            ("docs.example:443", Some("docs.example:443")),
            ("b\u{fc}cher.example:80", Some("xn--bcher-kva.example:80")),
            ("", None),
            ("localhost:", None),
            ("localhost:99999", None),
            ("http://localhost:80", None),
            ("user@localhost:80", None),
            ("localhost:80/path", None),
            ("*.example.com:443", None),
            ("[fe80::1%25eth0]:80", None),
        ];
        for (text, expected) in table {
            assert_eq!(
                HostPort::parse(text).map(|entry| entry.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn localhost_names_the_loopback_literals_too_but_not_the_other_way_round() {
        let localhost = HostPort::parse("localhost:3000").unwrap();
        let literal = HostPort::parse("127.0.0.1:3000").unwrap();
        let v4 = Host::Ipv4("127.0.0.1".parse().unwrap());
        let v6 = Host::Ipv6("::1".parse().unwrap());
        assert!(localhost.names(&Host::Domain("localhost"), 3000));
        assert!(localhost.names(&v4, 3000) && localhost.names(&v6, 3000));
        assert!(!localhost.names(&v4, 3001));
        assert!(!localhost.names(&Host::Ipv4("127.0.0.2".parse().unwrap()), 3000));
        assert!(literal.names(&v4, 3000));
        assert!(!literal.names(&Host::Domain("localhost"), 3000));
        assert!(!literal.names(&v6, 3000));
    }
}
