//! One fetch from URL to page: check, dial, follow by hand, read, hand over to [`content`].

use std::{
    fmt,
    future::Future,
    io::ErrorKind,
    net::{IpAddr, SocketAddr},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant, SystemTime},
};

use reqwest::{Response, StatusCode, header};
use tokio::{sync::Semaphore, time::timeout_at};
use url::{Host, Url};

use crate::{
    FetchConfig, FetchError, Outcome, Request, Resolve, Step, Validators,
    body::Decoder,
    connect::{self, Dialer, Dialled, Pin},
    content::{self, Answer},
    guard::{self, Target},
    hosts::{Hosts, Turn},
    html::Budget,
    redirect,
    relay::Relay,
    request, retry_after,
};

/// Bodies above this are converted one at a time: their trees are what costs memory.
const LARGE_BODY: usize = 1 << 20;

/// Unpacked bodies above this wait for one of [`HELD_BODIES`] places before they grow on, so that many
/// servers that never end cannot fill the memory together.
const HELD_BODY: usize = 4 << 20;
const HELD_BODIES: usize = 2;

/// How many bytes are unpacked between two looks at what came of them.
const UNPACKED_BYTES: usize = 256;

/// Fetches URLs. Cheap to build, opens nothing before the first fetch; shared in an [`Arc`].
pub struct Fetcher {
    config: FetchConfig,
    resolver: Arc<dyn Resolve>,
    dialer: Dialer,
    large: Arc<Semaphore>,
    held: Semaphore,
    hosts: Hosts,
}

/// A response whose body is still to come, and what must last until it has.
struct Hop {
    response: Response,
    target: Target,
    _relay: Option<Arc<Relay>>,
    _turn: Turn,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Fetcher {
    /// A fetcher that asks `resolver` for addresses.
    pub fn new(config: FetchConfig, resolver: Arc<dyn Resolve>) -> Self {
        let dialer = Dialer::new(config.extra_roots.clone(), config.proxy.clone());
        let hosts = Hosts::new(config.limits.per_host);
        let (large, held) = (Arc::new(Semaphore::new(1)), Semaphore::new(HELD_BODIES));
        Self { config, resolver, dialer, large, held, hosts }
    }

    /// Fetches one URL and gives its text; needs a tokio runtime with time and I/O. Dropping the
    /// future cancels the fetch.
    pub async fn fetch(&self, asked: &Request<'_>) -> Result<Outcome, FetchError> {
        let url = guard::parse_url(asked.url)?;
        let deadline = asked.deadline.min(Instant::now() + self.config.limits.total);
        let target = url.host_str().unwrap_or_default().chars().take(100).collect();
        match timeout_at(deadline.into(), self.follow(url, asked.validators.as_ref())).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FetchError::Timeout { target, step: Step::Deadline }),
        }
    }

    /// All hops of one fetch.
    async fn follow(
        &self,
        first: Url,
        validators: Option<&Validators>,
    ) -> Result<Outcome, FetchError> {
        let limits = &self.config.limits;
        let mut url = first.clone();
        let mut seen = vec![first.clone()];
        let mut retry = true;
        loop {
            let hop = self.hop(&url, validators, &mut retry).await;
            let Hop { response, target, _relay, _turn } = hop.map_err(|error| match error {
                FetchError::Refused { target, reason, remedy } if seen.len() > 1 => {
                    let reason = format!("{reason} (redirected there)");
                    FetchError::Refused { target, reason, remedy }
                }
                error => error,
            })?;
            let status = response.status();
            if status == StatusCode::NOT_MODIFIED && validators.is_some() {
                return Ok(Outcome::NotModified { final_url: url.into() });
            }
            if let Some(next) = redirect::target(&url, &response)? {
                if seen.contains(&next) {
                    return Err(FetchError::Redirect { what: "it goes in a circle".to_owned() });
                }
                if seen.len() > limits.redirects as usize {
                    let what = format!("more than {} in a row", limits.redirects);
                    return Err(FetchError::Redirect { what });
                }
                seen.push(next.clone());
                url = next;
                continue;
            }
            let empty = matches!(status.as_u16(), 204..=206);
            if !status.is_success() || empty {
                return Ok(Outcome::Status {
                    code: status.as_u16(),
                    reason: status.canonical_reason().unwrap_or("unknown status"),
                    final_url: url.into(),
                    retry_after: retry_after::read(response.headers(), SystemTime::now()),
                });
            }
            return self.page(first, url, response, &target).await;
        }
    }

    /// One hop: both checks of the guard, then the request, asked twice at most.
    async fn hop(
        &self,
        url: &Url,
        validators: Option<&Validators>,
        retry: &mut bool,
    ) -> Result<Hop, FetchError> {
        let limits = &self.config.limits;
        let target = Target::check(url, &self.config)?;
        let turn = self.hosts.turn(&target).await?;
        let mut addresses = Vec::new();
        for address in self.addresses(&target).await? {
            target.check_address(address)?;
            addresses.push(SocketAddr::new(address, target.port));
        }
        let pin = Pin { target: target.clone(), https: url.scheme() == "https", addresses };
        let Dialled { client, peers, relay } = self.dialer.client(pin, limits).await?;
        // The client dials an address in a URL without asking for it, and so past the proxy.
        if relay.is_some() && !matches!(target.host, Host::Domain(_)) {
            return Err(FetchError::Refused {
                target: target.to_string(),
                reason: "is an address, and through the proxy (fetch.proxy) only names are fetched"
                    .to_owned(),
                remedy: None,
            });
        }
        let response = loop {
            let sent = within(
                limits.headers,
                &target,
                Step::Headers,
                request::send(&client, url, validators),
            );
            let (pause, outcome) = match sent.await? {
                Err(error) => {
                    let fault = connect::fault(error, &target, limits);
                    match relay.as_ref().and_then(|relay| relay.refused()) {
                        Some(what) => {
                            let target = target.to_string();
                            (None, Err(FetchError::Connect { target, what, source: None }))
                        }
                        None => (fault.again.then_some(Duration::ZERO), Err(fault.error)),
                    }
                }
                Ok(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {
                    let asked = retry_after::read(response.headers(), SystemTime::now());
                    let pause = asked.unwrap_or(limits.retry_pause / 2);
                    (Some(pause).filter(|pause| *pause <= limits.retry_pause), Ok(response))
                }
                Ok(response) => (None, Ok(response)),
            };
            match pause {
                Some(pause) if *retry => {
                    *retry = false;
                    tokio::time::sleep(pause).await;
                }
                _ => break outcome?,
            }
        };
        // The client had no other addresses; this would catch a client that found one anyway.
        if !response.remote_addr().is_some_and(|peer| peers.contains(&peer)) {
            return Err(FetchError::Refused {
                target: target.to_string(),
                reason: "answered from an address that was not checked".to_owned(),
                remedy: None,
            });
        }
        let head: usize =
            response.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if head as u64 > limits.header_bytes {
            return Err(FetchError::TooLarge {
                what: "response header",
                limit: limits.header_bytes,
            });
        }
        Ok(Hop { response, target, _relay: relay, _turn: turn })
    }

    /// All addresses of a host: the literal itself, or what the resolver says, asked once.
    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, FetchError> {
        let name = match &target.host {
            Host::Ipv4(address) => return Ok(vec![IpAddr::V4(*address)]),
            Host::Ipv6(address) => return Ok(vec![IpAddr::V6(*address)]),
            Host::Domain(name) => name,
        };
        let limit = self.config.limits.resolve;
        let found = within(limit, target, Step::Resolve, self.resolver.resolve(name)).await?;
        let host = target.to_string();
        match found {
            Ok(addresses) if addresses.is_empty() => Err(FetchError::Dns { host, source: None }),
            Ok(addresses) => Ok(addresses),
            Err(error) => Err(FetchError::Dns { host, source: Some(error) }),
        }
    }

    /// Reads the body of a 2xx answer and converts it.
    async fn page(
        &self,
        first: Url,
        url: Url,
        mut response: Response,
        target: &Target,
    ) -> Result<Outcome, FetchError> {
        let limits = &self.config.limits;
        let headers = response.headers();
        let content_type = request::text(headers, header::CONTENT_TYPE).unwrap_or_default();
        content::refuse_by_type(&content_type)?;
        let etag = request::text(headers, header::ETAG);
        let last_modified = request::text(headers, header::LAST_MODIFIED);
        let coding = request::text(headers, header::CONTENT_ENCODING).unwrap_or_default();
        let broken = |what: &str| FetchError::Broken {
            target: target.to_string(),
            what: what.to_owned(),
            source: None,
        };
        let mut decoder = Decoder::new(&coding, limits.body_bytes)
            .map_err(|_| broken("its content coding is not one that was asked for"))?;
        let too_large = FetchError::TooLarge { what: "body", limit: limits.wire_bytes };
        if response.content_length().is_some_and(|length| length > limits.wire_bytes) {
            return Err(too_large);
        }
        let mut wire_bytes = 0;
        let mut place = None;
        while let Some(piece) = within(limits.idle, target, Step::Body, response.chunk())
            .await?
            .map_err(|error| connect::fault(error, target, limits).error)?
        {
            wire_bytes += piece.len() as u64;
            if wire_bytes > limits.wire_bytes {
                return Err(too_large);
            }
            for part in piece.chunks(UNPACKED_BYTES) {
                decoder.push(part).map_err(|error| match error.kind() {
                    ErrorKind::FileTooLarge => {
                        FetchError::TooLarge { what: "unpacked body", limit: limits.body_bytes }
                    }
                    _ => broken("its compressed body is damaged"),
                })?;
                if place.is_none() && decoder.unpacked() > HELD_BODY {
                    let closed = |_| FetchError::Convert { what: "the fetcher is closed" };
                    place = Some(self.held.acquire().await.map_err(closed)?);
                }
            }
        }
        let body = decoder.finish().map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => {
                FetchError::TooLarge { what: "unpacked body", limit: limits.body_bytes }
            }
            _ => broken("its compressed body is damaged or incomplete"),
        })?;
        let answer = Answer { first, url, content_type, etag, last_modified, wire_bytes, body };
        let page = self.convert(answer).await;
        drop(place);
        page.map(|page| Outcome::Page(Box::new(page)))
    }

    /// Converts on a blocking thread; dropping the future makes that thread stop soon.
    async fn convert(&self, answer: Answer) -> Result<crate::Page, FetchError> {
        let permit = if answer.body.len() > LARGE_BODY {
            let permit = Arc::clone(&self.large).acquire_owned().await;
            Some(permit.map_err(|_| FetchError::Convert { what: "the fetcher is closed" })?)
        } else {
            None
        };
        let stop = Stop(Arc::new(AtomicBool::new(false)));
        let budget = Budget::new(Instant::now() + self.config.limits.convert, Arc::clone(&stop.0));
        let work = tokio::task::spawn_blocking(move || {
            // The memory is taken until the work ends, not until somebody stops waiting for it.
            let _permit = permit;
            content::convert(answer, &budget)
        });
        let page = work.await.map_err(|_| FetchError::Convert { what: "the conversion failed" });
        drop(stop);
        page?
    }
}

/// Tells the conversion to stop when the fetch is dropped.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// A step under its own time limit; the call's deadline lies around all of them.
async fn within<T>(
    limit: Duration,
    target: &Target,
    step: Step,
    work: impl Future<Output = T>,
) -> Result<T, FetchError> {
    tokio::time::timeout(limit, work)
        .await
        .map_err(|_| FetchError::Timeout { target: target.to_string(), step })
}
