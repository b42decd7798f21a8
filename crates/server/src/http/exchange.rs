//! One request and its answer: let in, read, handed to the SDK.
//!
//! A message passes the same guard as a line on stdio, so that damaged text is repaired and what
//! the SDK would drop is answered, in the same bytes.

use std::{
    convert::Infallible,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE},
};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::never::NeverSessionManager,
};
use serde_json::json;

use super::{
    PATH, STATUS_PATH, Times,
    body::{self, Body},
    door::{self, Token},
};
use crate::{
    Server,
    calls::Calls,
    frame::{self, Frame, MESSAGE_LIMIT},
    handler::Handler,
};

/// Messages after which memory that a burst of them needed is given back, once none is under way.
const BURST: u64 = 128;

/// What the SDK wants to be accepted; an answer is a stream only where progress was asked for.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What all requests share.
pub(super) struct Exchange<C: Calls> {
    sdk: StreamableHttpService<Handler<C>, NeverSessionManager>,
    calls: Arc<C>,
    token: Token,
    times: Times,
    started: Instant,
    /// Messages taken.
    taken: AtomicU64,
    /// Messages that are not answered yet.
    open: AtomicU64,
    /// Of the messages taken, those before memory was last given back.
    given_back: AtomicU64,
    /// Whether somebody waits to close what is idle.
    tidying: AtomicBool,
}

impl<C: Calls> fmt::Debug for Exchange<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").finish_non_exhaustive()
    }
}

impl<C: Calls> Exchange<C> {
    pub(super) fn new(server: &Server<C>, token: Token, times: Times) -> Arc<Self> {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(2 * MESSAGE_LIMIT)
            .enforce_origin_validation();
        let handler = server.handler();
        let sdk = StreamableHttpService::new(
            move || Ok(handler.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Arc::new(Self {
            sdk,
            calls: Arc::clone(&server.calls),
            token,
            times,
            started: Instant::now(),
            taken: AtomicU64::new(0),
            open: AtomicU64::new(0),
            given_back: AtomicU64::new(0),
            tidying: AtomicBool::new(false),
        })
    }

    pub(super) fn times(&self) -> Times {
        self.times
    }

    /// Answers a request, whatever it is.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Answer, Infallible> {
        Ok(self.respond(request).await)
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        if let Err((status, why)) = door::admit(request.uri(), request.headers(), &self.token) {
            tracing::debug!(%status, "refused a request");
            let mut answer = line(status, why);
            if status == StatusCode::UNAUTHORIZED {
                answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return answer;
        }
        match (request.uri().path(), request.method()) {
            (PATH, &Method::POST) => self.message(request).await,
            (STATUS_PATH, &Method::GET) => self.status(),
            (PATH, _) => not_allowed("POST"),
            (STATUS_PATH, _) => not_allowed("GET"),
            _ => line(StatusCode::NOT_FOUND, "there is nothing here; messages go to /mcp"),
        }
    }

    async fn message(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let (mut parts, body) = request.into_parts();
        let frame = match body::read(body, self.times.message).await {
            Body::Whole(bytes) => frame::read(&bytes),
            Body::TooLong(Frame::Refused(refusal)) => {
                return message(StatusCode::PAYLOAD_TOO_LARGE, refusal.message());
            }
            Body::TooLong(_) | Body::Broken => {
                return line(StatusCode::BAD_REQUEST, "the message did not arrive whole");
            }
            Body::Late => {
                return line(StatusCode::REQUEST_TIMEOUT, "the message took too long to arrive");
            }
        };
        let text = match frame {
            Frame::Message(message) => serde_json::to_vec(&message),
            Frame::Refused(refusal) => {
                tracing::debug!(?refusal, "refused a message");
                return message(StatusCode::BAD_REQUEST, refusal.message());
            }
            // What is never answered by its kind is taken in silence, as on stdio.
            Frame::Nothing => return empty(StatusCode::ACCEPTED),
        };
        let Ok(text) = text else {
            return line(StatusCode::BAD_REQUEST, "the message cannot be read");
        };
        if takes_anything(&parts.headers) {
            parts.headers.insert(ACCEPT, BOTH);
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        let under_way = UnderWay::new(&self.open);
        let answer =
            self.sdk.handle(Request::from_parts(parts, Full::new(Bytes::from(text)))).await;
        drop(under_way);
        self.give_back_later();
        self.tidy_later();
        answer
    }

    /// After a burst of messages, when none is under way: what it needed is not kept.
    fn give_back_later(self: &Arc<Self>) {
        let taken = self.taken.load(Ordering::Relaxed);
        let before = self.given_back.load(Ordering::Relaxed);
        if taken - before.min(taken) < BURST || self.open.load(Ordering::Relaxed) > 0 {
            return;
        }
        self.given_back.store(taken, Ordering::Relaxed);
        let exchange = Arc::clone(self);
        tokio::spawn(async move { exchange.rest().await });
    }

    fn status(&self) -> Answer {
        let status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "uptime_s": self.started.elapsed().as_secs(),
            "messages": self.taken.load(Ordering::Relaxed),
        });
        message(StatusCode::OK, status.to_string())
    }

    /// Sees to it that what is used no longer is closed. While nothing is open, nothing waits.
    fn tidy_later(self: Arc<Self>) {
        if self.tidying.swap(true, Ordering::Relaxed) {
            return;
        }
        tokio::spawn(async move {
            let mut wait = self.times.idle;
            loop {
                tokio::time::sleep(wait).await;
                if let Some(next) = self.rest().await {
                    wait = next;
                    continue;
                }
                self.tidying.store(false, Ordering::Relaxed);
                // A call that came just now found somebody waiting.
                match self.rest().await {
                    Some(next) if !self.tidying.swap(true, Ordering::Relaxed) => wait = next,
                    _ => return,
                }
            }
        });
    }

    async fn rest(&self) -> Option<Duration> {
        let (calls, idle) = (Arc::clone(&self.calls), self.times.idle);
        tokio::task::spawn_blocking(move || calls.rest(idle)).await.ok().flatten()
    }
}

/// A message that is being answered, also when its client goes away in between.
struct UnderWay<'a>(&'a AtomicU64);

impl<'a> UnderWay<'a> {
    fn new(open: &'a AtomicU64) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether the client did not say what it accepts, or everything.
fn takes_anything(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    values.peek().is_none()
        || values.any(|value| value.to_str().is_ok_and(|value| value.contains("*/*")))
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut answer = empty(status);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    *answer.body_mut() = Full::new(Bytes::from(text)).boxed();
    answer
}

/// A JSON-RPC message or another JSON object.
fn message(status: StatusCode, text: String) -> Answer {
    answer(status, "application/json", text)
}

/// One line for whoever looks at it.
fn line(status: StatusCode, text: &str) -> Answer {
    answer(status, "text/plain; charset=utf-8", format!("quietcontext: {text}\n"))
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default().boxed());
    *answer.status_mut() = status;
    answer
}

fn not_allowed(method: &'static str) -> Answer {
    let mut answer = line(StatusCode::METHOD_NOT_ALLOWED, "this method is not answered here");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(method));
    answer
}
