//! Who is let in: requests to this machine by name, of no web page, with the token.
//!
//! In this order: a page that had its own name resolve to loopback is refused by the name, any page
//! by its origin, before a token is looked at. No page has business here, not even one served from
//! this machine: a developer's browser runs many of those.

use std::fmt;

use hyper::{
    HeaderMap, StatusCode, Uri,
    header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN},
    http::uri::Authority,
};
use subtle::ConstantTimeEq as _;

/// Names of this machine; with any port, since a tunnel may have another one.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The secret that clients send.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The token of this text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Compares without telling by the time taken how much was right.
    fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

/// Why a request is not let in: a status and a line.
pub(super) type Refusal = (StatusCode, &'static str);

/// Lets a request in, or says why not. What is said holds no fact about the server.
pub(super) fn admit(uri: &Uri, headers: &HeaderMap, token: &Token) -> Result<(), Refusal> {
    let here = only(headers, HOST)
        .is_some_and(|host| Authority::try_from(host.as_bytes()).is_ok_and(|host| is_here(&host)));
    if !here || uri.authority().is_some_and(|named| !is_here(named)) {
        return Err((StatusCode::FORBIDDEN, "the Host header must name 127.0.0.1 or localhost"));
    }
    if headers.contains_key(ORIGIN) {
        return Err((StatusCode::FORBIDDEN, "requests of web pages are refused (Origin header)"));
    }
    let given = only(headers, AUTHORIZATION).and_then(bearer).unwrap_or_default();
    if !token.is(given) {
        return Err((
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong; it belongs in the header Authorization: Bearer TOKEN",
        ));
    }
    Ok(())
}

/// The value of a header that is there exactly once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

fn is_here(authority: &Authority) -> bool {
    // A user name before the host is nothing a client writes.
    !authority.as_str().contains('@')
        && HOSTS.iter().any(|host| host.eq_ignore_ascii_case(authority.host()))
}

fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    /// The status of a request to `/mcp` with these headers; 200 when it is let in.
    fn status(uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::try_from(*name).unwrap(),
                HeaderValue::try_from(*value).unwrap(),
            );
        }
        let token = Token::new(TOKEN.to_owned());
        admit(&uri.parse().unwrap(), &map, &token).map_or_else(|why| why.0.as_u16(), |()| 200)
    }

    #[test]
    fn host_then_origin_then_token() {
        let right = ("authorization", "Bearer 0123456789abcdef");
        for host in ["127.0.0.1", "127.0.0.1:8167", "localhost:1", "LOCALHOST", "[::1]:9"] {
            assert_eq!(status("/mcp", &[("host", host), right]), 200, "{host}");
            assert_eq!(status("/mcp", &[("host", host)]), 401, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8167",
            "evil@127.0.0.1",
            "127.0.0.1@evil.example",
            "0.0.0.0",
            "127.1",
            "::1",
            "",
        ] {
            assert_eq!(status("/mcp", &[("host", host), right]), 403, "{host}");
        }
        let here = ("host", "127.0.0.1:8167");
        assert_eq!(status("/mcp", &[right]), 403, "no host");
        assert_eq!(status("/mcp", &[here, ("host", "evil.example"), right]), 403, "two hosts");
        assert_eq!(status("http://evil.example/mcp", &[here, right]), 403, "another in the line");
        for origin in
            ["https://evil.example", "http://127.0.0.1:8167", "http://localhost", "null", ""]
        {
            assert_eq!(status("/mcp", &[here, ("origin", origin), right]), 403, "{origin}");
        }
    }

    #[test]
    fn the_token_is_taken_whole_and_once() {
        let here = ("host", "localhost");
        for (given, wanted) in [
            ("Bearer 0123456789abcdef", 200),
            ("bearer 0123456789abcdef", 200),
            ("Bearer  0123456789abcdef ", 200),
            ("Bearer 0123456789abcde", 401),
            ("Bearer 0123456789abcdef0", 401),
            ("Bearer 0123456789ABCDEF", 401),
            ("Bearer ", 401),
            ("Bearer", 401),
            ("Basic 0123456789abcdef", 401),
            ("0123456789abcdef", 401),
            ("", 401),
        ] {
            assert_eq!(status("/mcp", &[here, ("authorization", given)]), wanted, "{given}");
        }
        let right = ("authorization", "Bearer 0123456789abcdef");
        assert_eq!(status("/mcp", &[here, right, right]), 401, "twice");
        assert_eq!(format!("{:?}", Token::new(TOKEN.to_owned())), "Token");
    }
}
