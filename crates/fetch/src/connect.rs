//! HTTP clients whose only addresses are the checked ones, and what their errors mean.

use std::{
    collections::VecDeque,
    error::Error,
    fmt,
    io::{self, ErrorKind},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Client, dns, redirect, retry};
use tokio::sync::OnceCell;

use crate::{
    FetchError, Limits, Step,
    guard::{Reach, Target, classify},
    relay::{OutboundProxy, Relay},
    tls,
};

/// Sent as `User-Agent`.
const USER_AGENT: &str = concat!("quietcontext/", env!("CARGO_PKG_VERSION"));

/// Clients kept for the next URL of the same host; a client without connections is small.
const KEPT_CLIENTS: usize = 8;

/// An idle connection is dropped after this; nothing of a client is left running then.
const POOL_IDLE: Duration = Duration::from_secs(10);

/// Builds clients, and keeps the latest for further pages of the same host.
pub(crate) struct Dialer {
    extra_roots: Vec<Vec<u8>>,
    tls: OnceCell<rustls::ClientConfig>,
    /// The operator's way out for public addresses.
    proxy: Option<OutboundProxy>,
    clients: Mutex<VecDeque<(Pin, Dialled)>>,
}

/// A client, and where its connections end.
#[derive(Clone)]
pub(crate) struct Dialled {
    pub(crate) client: Client,
    /// The addresses of the other end: the pin's own, or the relay's.
    pub(crate) peers: Vec<SocketAddr>,
    /// Held as long as a response is read: its tunnels end with it.
    pub(crate) relay: Option<Arc<Relay>>,
}

/// What a client may be used for: exactly this host and port, at exactly these addresses.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) target: Target,
    pub(crate) https: bool,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Dialer {
    /// Touches nothing.
    pub(crate) fn new(extra_roots: Vec<Vec<u8>>, proxy: Option<OutboundProxy>) -> Self {
        Self { extra_roots, tls: OnceCell::new(), proxy, clients: Mutex::default() }
    }

    /// A client that can only reach `pin`.
    pub(crate) async fn client(&self, pin: Pin, limits: &Limits) -> Result<Dialled, FetchError> {
        {
            let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, dialled)) = clients.iter().find(|(kept, _)| *kept == pin) {
                return Ok(dialled.clone());
            }
        }
        // What the operator named within the own network is near: a proxy leads out.
        let public = pin.addresses.iter().all(|at| classify(at.ip()).reach() == Reach::Public);
        let relay = match &self.proxy {
            Some(proxy) if public => {
                let addresses = pin.addresses.clone();
                let opened = Relay::open(proxy.clone(), addresses, limits.connect).await;
                Some(Arc::new(opened.map_err(set_up)?))
            }
            _ => None,
        };
        let peers = match &relay {
            Some(relay) => vec![relay.address()],
            None => pin.addresses.clone(),
        };
        let tls = if pin.https { self.tls().await? } else { tls::none().map_err(set_up)? };
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(Pinned(peers.clone()))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .user_agent(USER_AGENT)
            .connect_timeout(limits.connect)
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(2)
            .http2_max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .build()
            .map_err(set_up)?;
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.truncate(KEPT_CLIENTS - 1);
        let dialled = Dialled { client, peers, relay };
        clients.push_front((pin, dialled.clone()));
        Ok(dialled)
    }

    async fn tls(&self) -> Result<rustls::ClientConfig, FetchError> {
        let config = self.tls.get_or_try_init(|| async {
            let roots = self.extra_roots.clone();
            let built = tokio::task::spawn_blocking(move || tls::system(&roots)).await;
            built.map_err(set_up)?.map_err(set_up)
        });
        config.await.cloned()
    }
}

fn set_up(error: impl Error + Send + Sync + 'static) -> FetchError {
    FetchError::Client { source: Box::new(error) }
}

/// Answers every lookup with the checked addresses; the client has no other resolver.
struct Pinned(Vec<SocketAddr>);

impl dns::Resolve for Pinned {
    fn resolve(&self, _name: dns::Name) -> dns::Resolving {
        let addresses: dns::Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// A failed request, and whether asking once more makes sense.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: FetchError,
    pub(crate) again: bool,
}

/// What a client's error means. Decided on error types, never on their text.
pub(crate) fn fault(error: reqwest::Error, target: &impl fmt::Display, limits: &Limits) -> Fault {
    let target = target.to_string();
    let cause = Cause::of(&error);
    let connecting = error.is_connect();
    let timeout = error.is_timeout();
    let source: Option<Box<dyn Error + Send + Sync>> = Some(Box::new(error));
    let again = !connecting && matches!(cause, Cause::Reset | Cause::Incomplete);
    let error = match (cause, connecting) {
        (Cause::Tls(what), _) => FetchError::Tls { target, what: what.to_owned(), source },
        (_, true) if timeout => FetchError::Timeout { target, step: Step::Connect },
        (Cause::Io(kind), true) => {
            let what = match kind {
                ErrorKind::ConnectionRefused => "connection refused",
                ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => "unreachable",
                ErrorKind::TimedOut => "timed out",
                _ => "failed",
            };
            FetchError::Connect { target, what: what.to_owned(), source }
        }
        (_, true) => FetchError::Connect { target, what: "failed".to_owned(), source },
        (Cause::HeadTooLarge, _) => {
            FetchError::TooLarge { what: "response header", limit: limits.header_bytes }
        }
        (cause, false) => {
            let what = match cause {
                Cause::Reset => "the connection was reset",
                Cause::Incomplete => "the connection closed before the end",
                Cause::NotHttp => "it is not HTTP",
                _ => "the connection failed",
            };
            FetchError::Broken { target, what: what.to_owned(), source }
        }
    };
    Fault { error, again }
}

/// The first telling link in an error's chain.
enum Cause {
    Tls(&'static str),
    Reset,
    Incomplete,
    HeadTooLarge,
    NotHttp,
    Io(ErrorKind),
    Unknown,
}

impl Cause {
    fn of(error: &reqwest::Error) -> Self {
        let mut found = Self::Unknown;
        let mut link: Option<&(dyn Error + 'static)> = error.source();
        while let Some(error) = link {
            if let Some(tls) = error.downcast_ref::<rustls::Error>() {
                return Self::Tls(tls::what(tls));
            }
            if let Some(http) = error.downcast_ref::<hyper::Error>() {
                if http.is_parse_too_large() {
                    return Self::HeadTooLarge;
                }
                if http.is_incomplete_message() || http.is_closed() || http.is_canceled() {
                    found = Self::Incomplete;
                } else if http.is_parse() {
                    found = Self::NotHttp;
                }
            }
            if let Some(io) = error.downcast_ref::<io::Error>() {
                // An error inside an I/O error is not its `source()`, and they come nested.
                let mut inner = io.get_ref();
                while let Some(error) = inner {
                    if let Some(tls) = error.downcast_ref() {
                        return Self::Tls(tls::what(tls));
                    }
                    inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
                }
                found = match io.kind() {
                    ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Self::Reset,
                    ErrorKind::UnexpectedEof => Self::Incomplete,
                    kind => Self::Io(kind),
                };
            }
            link = error.source();
        }
        found
    }
}
