//! Who may be reached: URL syntax, the host as the operator named it, and every address.

mod address;

use std::net::IpAddr;

use url::{Host, ParseError, Url};

pub use address::{Class, Reach, classify};

use crate::{FetchConfig, FetchError, HostPort, Mode};

/// Longer URLs are refused; servers commonly stop at 8 KiB as well.
const MAX_URL_BYTES: usize = 8 << 10;

/// Checks syntax, scheme and credentials of a URL, without any network. The fragment is dropped:
/// it is never sent, and two URLs that differ only there are one page.
pub fn parse_url(text: &str) -> Result<Url, FetchError> {
    let text = text.trim_ascii();
    if text.len() > MAX_URL_BYTES {
        return Err(FetchError::Url { what: "it is longer than 8192 bytes" });
    }
    // The parser would silently drop tabs and newlines; a URL with them is not what was meant.
    if text.chars().any(char::is_control) {
        return Err(FetchError::Url { what: "it contains control characters or line breaks" });
    }
    let url = Url::parse(text).map_err(|error| FetchError::Url { what: what(error) })?;
    accept(url)
}

/// The checks of [`parse_url`] for a URL that is parsed already: the target of a redirect.
pub(crate) fn accept(mut url: Url) -> Result<Url, FetchError> {
    if !matches!(url.scheme(), "http" | "https") {
        let scheme: String = url.scheme().chars().take(20).collect();
        return Err(FetchError::Scheme { scheme });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::Credentials);
    }
    if url.host().is_none() || url.port() == Some(0) {
        return Err(FetchError::Url { what: "it has no usable host and port" });
    }
    url.set_fragment(None);
    Ok(url)
}

fn what(error: ParseError) -> &'static str {
    match error {
        ParseError::EmptyHost => "it has no host",
        ParseError::InvalidPort => "its port is not a number up to 65535",
        ParseError::InvalidIpv4Address => "its IPv4 address is not valid",
        ParseError::InvalidIpv6Address => {
            "its IPv6 address is not valid (zone identifiers are refused)"
        }
        ParseError::IdnaError | ParseError::InvalidDomainCharacter => "its host name is not valid",
        ParseError::RelativeUrlWithoutBase | ParseError::RelativeUrlWithCannotBeABaseBase => {
            "the scheme is missing: write https://…"
        }
        _ => "it cannot be parsed",
    }
}

/// The address that stands in place of a name.
pub(crate) fn literal<S>(host: &Host<S>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(IpAddr::V4(*address)),
        Host::Ipv6(address) => Some(IpAddr::V6(*address)),
    }
}

/// Host and port of one hop, and whether the operator named exactly these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: Host<String>,
    pub(crate) port: u16,
    named: bool,
}

impl Target {
    /// The first check of a hop: may this host and port be asked for at all? An IP literal is
    /// classified here, before anything is dialled, because no resolver will see it.
    pub(crate) fn check(url: &Url, config: &FetchConfig) -> Result<Self, FetchError> {
        if config.mode == Mode::Off {
            return Err(FetchError::Off);
        }
        let no_host = FetchError::Url { what: "it has no usable host and port" };
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(no_host);
        };
        let named = config.allow.iter().any(|entry: &HostPort| entry.names(&host, port));
        let target = Self { host: host.to_owned(), port, named };
        if let Some(address) = literal(&host) {
            target.check_address(address)?;
        }
        if config.mode == Mode::Allowlist && !named {
            return Err(FetchError::Refused {
                target: target.to_string(),
                reason: "is not on the operator's list of hosts".to_owned(),
                remedy: Some(target.remedy()),
            });
        }
        Ok(target)
    }

    /// The second check of a hop: may this address be dialled under that name?
    pub(crate) fn check_address(&self, address: IpAddr) -> Result<(), FetchError> {
        let class = classify(address);
        let remedy = match class.reach() {
            Reach::Public => return Ok(()),
            Reach::Named if self.named => return Ok(()),
            Reach::Named => Some(self.remedy()),
            Reach::Never => None,
        };
        let verb = if matches!(self.host, Host::Domain(_)) { "resolves to" } else { "is" };
        Err(FetchError::Refused {
            target: self.to_string(),
            reason: format!("{verb} {}", class.describe()),
            remedy,
        })
    }

    fn remedy(&self) -> String {
        format!("the operator can allow it: fetch.allow = [\"{self}\"] in the user's configuration")
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            // A host name is at most 253 bytes where it resolves, but a URL may hold longer ones.
            Host::Domain(name) if name.len() > 120 => {
                let start: String = name.chars().take(100).collect();
                write!(f, "{start}…:{}", self.port)
            }
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod address_tests;
#[cfg(test)]
mod tests;
