//! The operator's own proxy on the way out: it is told checked addresses, never names.
//!
//! The HTTP client can only dial, so it dials a port of this process, and what listens there asks the
//! proxy for a tunnel (`CONNECT`) to the one address that was checked. The proxy has nothing to resolve,
//! and TLS goes through the tunnel to the host that was asked for.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

/// Longest answer of a proxy to `CONNECT`, in bytes.
const ANSWER_BYTES: usize = 16 << 10;

/// A proxy for fetches, from the user's configuration: `http://[USER:PASSWORD@]HOST:PORT`.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboundProxy {
    host: String,
    port: u16,
    /// Value of `Proxy-Authorization`.
    authorization: Option<String>,
}

impl OutboundProxy {
    /// Parses it; the error says what it must be, and never what it was.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "must be http://HOST:PORT, with USER:PASSWORD@ before HOST if needed";
        let url = Url::parse(text.trim()).map_err(|_| FORM)?;
        let plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let (Some(host), true, "http") = (url.host(), plain, url.scheme()) else {
            return Err(FORM);
        };
        let authorization = (!url.username().is_empty()).then(|| {
            let user = decoded(url.username());
            let password = decoded(url.password().unwrap_or_default());
            format!("Basic {}", base64(&[&user[..], b":", &password].concat()))
        });
        let host = host.to_string().trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port: url.port_or_known_default().unwrap_or(80), authorization })
    }
}

/// Without the password.
impl fmt::Display for OutboundProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = if self.authorization.is_some() { "***@" } else { "" };
        write!(f, "http://{user}{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for OutboundProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OutboundProxy({self})")
    }
}

/// A port of this process that leads to one checked target through the proxy. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    refused: Arc<Mutex<Option<String>>>,
    _serving: JoinSet<()>,
}

impl Relay {
    /// Opens it for the first of the checked addresses that the proxy gives a tunnel to.
    pub(crate) async fn open(
        proxy: OutboundProxy,
        targets: Vec<SocketAddr>,
        limit: Duration,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let refused = Arc::<Mutex<Option<String>>>::default();
        let mut serving = JoinSet::new();
        let told = Arc::clone(&refused);
        serving.spawn(async move {
            let mut tunnels = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let (proxy, targets, told) = (proxy.clone(), targets.clone(), Arc::clone(&told));
                tunnels.spawn(async move {
                    let opened = tokio::time::timeout(limit, tunnel(&proxy, &targets)).await;
                    match opened.unwrap_or_else(|_| Err("the proxy did not answer".to_owned())) {
                        Ok(mut stream) => {
                            drop(copy_bidirectional(&mut client, &mut stream).await);
                        }
                        Err(what) => {
                            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                        }
                    }
                });
                while tunnels.try_join_next().is_some() {}
            }
        });
        Ok(Self { port, refused, _serving: serving })
    }

    /// Where the client dials.
    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// What the proxy said instead of giving a tunnel, since this was last asked.
    pub(crate) fn refused(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A tunnel to the first target that the proxy reaches.
async fn tunnel(proxy: &OutboundProxy, targets: &[SocketAddr]) -> Result<TcpStream, String> {
    let mut last = "no address to ask the proxy for".to_owned();
    for target in targets {
        match ask(proxy, *target).await {
            Ok(stream) => return Ok(stream),
            Err(what) => last = what,
        }
    }
    Err(last)
}

async fn ask(proxy: &OutboundProxy, target: SocketAddr) -> Result<TcpStream, String> {
    let broken = |_| "the proxy closed the connection".to_owned();
    let dialled = TcpStream::connect((proxy.host.as_str(), proxy.port)).await;
    let mut stream =
        dialled.map_err(|error| format!("the proxy was not reached: {}", error.kind()))?;
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some(authorization) = &proxy.authorization {
        request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= ANSWER_BYTES {
            return Err("the proxy's answer has no end".to_owned());
        }
        answer.push(stream.read_u8().await.map_err(broken)?);
    }
    let status = String::from_utf8_lossy(&answer);
    let code = status.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
    match code {
        Some(200..=299) => Ok(stream),
        Some(code @ 100..=999) => Err(format!("the proxy answered {code} to CONNECT {target}")),
        _ => Err("the proxy did not answer in HTTP".to_owned()),
    }
}

/// Percent-encoding undone.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().iter();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let pair = bytes.as_slice().get(..2).filter(|_| *byte == b'%');
        let hex = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(code) => {
                plain.push(code);
                bytes.nth(1);
            }
            None => plain.push(*byte),
        }
    }
    plain
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        for place in 0..4 {
            let sign = SIGNS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { sign.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_an_address_and_its_password_is_not_shown() {
        let proxy = OutboundProxy::parse("http://ada:p%40ss@proxy.corp:3128").unwrap();
        assert_eq!(proxy.to_string(), "http://***@proxy.corp:3128");
        assert!(!format!("{proxy:?}").contains("ss"));
        assert_eq!(proxy.authorization.as_deref(), Some("Basic YWRhOnBAc3M="));
        assert_eq!(OutboundProxy::parse("http://[::1]:8080").unwrap().host, "::1");
        for odd in
            ["proxy:3128", "https://proxy:3128", "socks5://proxy:1", "http://p/x", "", "http://"]
        {
            assert!(OutboundProxy::parse(odd).is_err(), "{odd}");
        }
        for (text, code) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj")] {
            assert_eq!(base64(text.as_bytes()), code);
        }
    }
}
