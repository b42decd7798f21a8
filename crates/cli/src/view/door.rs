//! Who is let in: a request to this machine by name, whose path begins with the token.
//!
//! The token stands in the path: a cookie for 127.0.0.1 would go to every other port as well.

use std::io::{self, Read as _};

use hyper::{HeaderMap, Method, StatusCode, Uri, header::HOST, http::uri::Authority};
use subtle::ConstantTimeEq as _;

/// Names of this machine; with any port, since a tunnel may have another one.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The secret in the address of the page.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// A token that nobody knows yet: 128 bits from the kernel.
    pub(crate) fn draw() -> io::Result<Self> {
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(format!("{:032x}", u128::from_ne_bytes(bytes))))
    }

    /// The token as it stands in the address.
    pub(crate) fn shown(&self) -> &str {
        &self.0
    }
}

/// Why a request is not answered: a status and a line that says nothing about what is here.
pub(crate) type Refusal = (StatusCode, &'static str);

/// Lets a request in and answers its path behind the token.
pub(crate) fn admit<'a>(
    method: &Method,
    uri: &'a Uri,
    headers: &HeaderMap,
    token: &Token,
) -> Result<&'a str, Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().filter(|_| hosts.next().is_none());
    let here = host
        .and_then(|host| Authority::try_from(host.as_bytes()).ok())
        .is_some_and(|host| is_here(&host));
    if !here || uri.authority().is_some_and(|named| !is_here(named)) {
        return Err((StatusCode::FORBIDDEN, "the Host header must name 127.0.0.1 or localhost"));
    }
    let path = uri.path().strip_prefix('/').unwrap_or_default();
    let (given, rest) = path.split_once('/').unwrap_or((path, ""));
    if !bool::from(token.0.as_bytes().ct_eq(given.as_bytes())) {
        return Err((
            StatusCode::NOT_FOUND,
            "not here: use the address that quietcontext view printed",
        ));
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "this page is for looking only"));
    }
    Ok(rest)
}

fn is_here(authority: &Authority) -> bool {
    !authority.as_str().contains('@')
        && HOSTS.iter().any(|host| host.eq_ignore_ascii_case(authority.host()))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn status(method: Method, uri: &str, hosts: &[&str]) -> u16 {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::try_from(*host).unwrap());
        }
        let token = Token("00ff".to_owned());
        admit(&method, &uri.parse().unwrap(), &headers, &token)
            .map_or_else(|why| why.0.as_u16(), |_| 200)
    }

    #[test]
    fn host_then_token_then_method() {
        let here = &["127.0.0.1:8"][..];
        for host in ["127.0.0.1:8", "localhost", "LOCALHOST:1", "[::1]:9"] {
            assert_eq!(status(Method::GET, "/00ff/", &[host]), 200, "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "a@127.0.0.1", "0.0.0.0", ""] {
            assert_eq!(status(Method::GET, "/00ff/", &[host]), 403, "{host}");
        }
        assert_eq!(status(Method::GET, "/00ff/", &[]), 403);
        assert_eq!(status(Method::GET, "/00ff/", &["localhost", "evil.example"]), 403);
        assert_eq!(status(Method::GET, "http://evil.example/00ff/", here), 403);
        for path in ["/", "/00fe/", "/00f/", "/00ff0/", "/00FF/", "//00ff/", "/x/00ff/"] {
            assert_eq!(status(Method::GET, path, here), 404, "{path}");
        }
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            assert_eq!(status(method.clone(), "/00ff/", here), 405, "{method}");
            assert_eq!(status(method, "/", here), 404);
        }
    }

    #[test]
    fn tokens_differ_and_are_long() {
        let (one, other) = (Token::draw().unwrap(), Token::draw().unwrap());
        assert_ne!(one.0, other.0);
        assert_eq!(one.0.len(), 32);
    }
}
