//! The head of a request: read within bounds, parsed strictly, refused when anything is odd.
//!
//! Whatever two parsers could read differently is refused here, so that the host that is checked is
//! the host that is reached: bare line feeds, folded lines, blanks before a colon, two hosts, a host
//! that differs from the request's, two lengths, unknown codings.

use tokio::io::{AsyncRead, AsyncReadExt as _};
use url::Host;

use crate::{HostPort, config::without_trailing_dot};

/// Bytes of a head; tokens in headers can be long.
const MOST_BYTES: usize = 32 << 10;

/// Header lines of a head.
const MOST_HEADERS: usize = 128;

/// Bytes of a host name.
const MOST_NAME: usize = 253;

/// A request that may be put to the policy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// `CONNECT`: a tunnel.
    Tunnel(HostPort),
    /// A plain request.
    Plain(Plain),
}

/// A plain `http://` request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    pub(super) target: HostPort,
    pub(super) method: String,
    /// What the server gets: the path and what follows it.
    pub(super) path: String,
    /// `HTTP/1.0` or `HTTP/1.1`, as the client speaks.
    pub(super) version: &'static str,
    /// Headers that are passed on; those of the hop, the host and the framing are not among them.
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Body,
}

/// How the body of a request is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    None,
    /// Bytes.
    Length(u64),
    Chunked,
}

/// Why a head is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    /// The connection ended; nobody waits for an answer.
    Gone,
    /// It is longer than a head may be.
    TooLong,
    /// What is wrong with it.
    Odd(&'static str),
}

/// Reads up to the empty line; what came behind it stays in `buffer`, and the head is given.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Result<Vec<u8>, Bad> {
    const END: &[u8] = b"\r\n\r\n";
    let mut seen = 0;
    loop {
        if let Some(at) = buffer.get(seen..).and_then(|new| find(new, END)) {
            let end = seen + at + END.len();
            let rest = buffer.split_off(end);
            return Ok(std::mem::replace(buffer, rest));
        }
        seen = buffer.len().saturating_sub(END.len() - 1);
        if buffer.len() >= MOST_BYTES {
            return Err(Bad::TooLong);
        }
        match stream.take((MOST_BYTES - buffer.len()) as u64).read_buf(buffer).await {
            Ok(0) | Err(_) => return Err(Bad::Gone),
            Ok(_) => {}
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

/// Parses a whole head, its empty line included.
pub(super) fn parse(head: &[u8]) -> Result<Request, Bad> {
    let odd = |what| Err(Bad::Odd(what));
    let Some(head) = head.strip_suffix(b"\r\n\r\n") else { return odd("it has no end") };
    let mut lines = lines(head)?.into_iter();
    let line = lines.next().and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return odd("the request line is not three words");
    };
    if !is_token(method) || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return odd("the request line has characters that do not belong there");
    }
    let version = match version {
        "HTTP/1.1" => "HTTP/1.1",
        "HTTP/1.0" => "HTTP/1.0",
        _ => return odd("only HTTP/1.0 and HTTP/1.1 are spoken here"),
    };
    let headers = lines.map(header).collect::<Result<Vec<_>, _>>()?;
    if headers.len() > MOST_HEADERS {
        return Err(Bad::TooLong);
    }
    let body = body(&headers, version)?;
    if method == "CONNECT" {
        let target = authority(target, None).ok_or(Bad::Odd("CONNECT needs HOST:PORT"))?;
        check_host(&headers, &target, target.port(), version)?;
        if !matches!(body, Body::None | Body::Length(0)) {
            return odd("CONNECT has no body");
        }
        return Ok(Request::Tunnel(target));
    }
    let (name, path) = split(target)?;
    let target = authority(name, Some(80)).ok_or(Bad::Odd("the host or port is not valid"))?;
    check_host(&headers, &target, 80, version)?;
    let headers = passed_on(headers);
    let method = method.to_owned();
    Ok(Request::Plain(Plain { target, method, path, version, headers, body }))
}

/// The lines of a head. No carriage return or line feed stands alone.
fn lines(head: &[u8]) -> Result<Vec<&[u8]>, Bad> {
    let mut lines = Vec::new();
    for line in head.split(|&byte| byte == b'\n') {
        lines.push(line);
    }
    let last = lines.len().saturating_sub(1);
    for (at, line) in lines.iter_mut().enumerate() {
        if at < last {
            *line = line.strip_suffix(b"\r").ok_or(Bad::Odd("a line feed stands alone"))?;
        }
        if line.contains(&b'\r') {
            return Err(Bad::Odd("a carriage return stands alone"));
        }
    }
    Ok(lines)
}

/// One header line: its name in small letters, its value without blanks around it.
fn header(line: &[u8]) -> Result<(String, Vec<u8>), Bad> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return Err(Bad::Odd("a header line is folded"));
    }
    let at = line.iter().position(|&byte| byte == b':').unwrap_or(0);
    let (name, value) = line.split_at(at);
    let name = std::str::from_utf8(name).ok().filter(|name| is_token(name));
    let name = name.ok_or(Bad::Odd("a header line has no valid name"))?;
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    if value.iter().any(|&byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
        return Err(Bad::Odd("a header has control characters"));
    }
    Ok((name.to_ascii_lowercase(), value.to_vec()))
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.len() <= 256 && text.bytes().all(allowed)
}

/// The values of a header.
fn values<'a>(headers: &'a [(String, Vec<u8>)], name: &str) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_slice())
}

fn body(headers: &[(String, Vec<u8>)], version: &str) -> Result<Body, Bad> {
    let mut lengths = values(headers, "content-length");
    let mut codings = values(headers, "transfer-encoding");
    match (lengths.next(), codings.next()) {
        (None, None) => Ok(Body::None),
        (Some(length), None) if lengths.next().is_none() => {
            let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
            let number = std::str::from_utf8(length).ok().filter(|_| digits);
            let number = number.and_then(|number| number.parse().ok());
            number.map(Body::Length).ok_or(Bad::Odd("Content-Length is not a number"))
        }
        (None, Some(coding)) if codings.next().is_none() && version == "HTTP/1.1" => {
            let chunked = coding.eq_ignore_ascii_case(b"chunked");
            chunked.then_some(Body::Chunked).ok_or(Bad::Odd("only chunked bodies are passed on"))
        }
        _ => Err(Bad::Odd("the length of the body can be read in two ways")),
    }
}

/// `http://AUTHORITY/path` as authority and path.
fn split(target: &str) -> Result<(&str, String), Bad> {
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let rest = scheme.and_then(|_| target.get(7..));
    let rest = rest.ok_or(Bad::Odd("a proxy takes CONNECT HOST:PORT or a full http:// address"))?;
    if rest.contains('#') {
        return Err(Bad::Odd("the address has a fragment"));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok((authority, path))
}

/// `HOST[:PORT]`, the way a URL's host is read; without `default` the port has to be there.
fn authority(text: &str, default: Option<u16>) -> Option<HostPort> {
    let (host, port) = match text.rsplit_once(':') {
        // The colons of an address in brackets belong to it.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port = match port {
        Some(port) => {
            let plain = port.bytes().all(|byte| byte.is_ascii_digit()) && !port.starts_with('0');
            port.parse().ok().filter(|_| plain)?
        }
        None => default?,
    };
    let literal = host.starts_with('[') && host.ends_with(']');
    if !literal && !is_name(host) {
        return None;
    }
    // Reads every spelling of an IPv4 address as that address.
    let host = Host::parse(host).ok()?;
    let borrowed = match &host {
        Host::Domain(name) => Host::Domain(name.as_str()),
        Host::Ipv4(address) => Host::Ipv4(*address),
        Host::Ipv6(address) => Host::Ipv6(*address),
    };
    Some(HostPort::new(without_trailing_dot(borrowed), port))
}

/// A name that can stand in a message and in a command line as it is.
fn is_name(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    name.len() <= MOST_NAME
        && name.split('.').all(|label| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            !label.is_empty() && !label.starts_with('-') && label.bytes().all(plain)
        })
}

/// The host header, if there has to be one, is there once and says what the request says.
fn check_host(
    headers: &[(String, Vec<u8>)],
    target: &HostPort,
    default: u16,
    version: &str,
) -> Result<(), Bad> {
    let mut hosts = values(headers, "host");
    match (hosts.next(), hosts.next()) {
        (None, _) if version == "HTTP/1.0" => Ok(()),
        (None, _) => Err(Bad::Odd("the Host header is missing")),
        (Some(_), Some(_)) => Err(Bad::Odd("there are two Host headers")),
        (Some(host), None) => {
            let host = std::str::from_utf8(host).ok();
            let said = host.and_then(|host| authority(host, Some(default)));
            let same = said.is_some_and(|said| said == *target);
            same.then_some(()).ok_or(Bad::Odd("the Host header names another host"))
        }
    }
}

/// Without what is meant for this hop only, and what the proxy writes itself.
fn passed_on(headers: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    const OURS: &[&str] = &[
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let named: Vec<String> = values(&headers, "connection")
        .flat_map(|value| value.split(|&byte| byte == b','))
        .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
        .collect();
    let stays = |name: &String| !OURS.contains(&name.as_str()) && !named.contains(name);
    headers.into_iter().filter(|(name, _)| stays(name)).collect()
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
