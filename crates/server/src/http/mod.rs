//! MCP over HTTP on loopback: many clients, a root per request, nothing kept between requests.
//!
//! Reading order: [`serve`] (connections and the end), `door` (who is let in), `exchange` (one request
//! and its answer), `body` (what a request may send). What a request means is the SDK's and the
//! handler's: the same as on stdio.

mod body;
mod door;
mod exchange;
#[cfg(test)]
mod tests;

use std::{io, net::TcpListener as Listener, sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    signal::unix::{Signal, SignalKind, signal},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

pub use self::door::Token;
use self::exchange::Exchange;
use crate::{Server, calls::Calls};

/// Where clients send their messages.
pub const PATH: &str = "/mcp";

/// Where the owner of the token is told how the server is.
pub const STATUS_PATH: &str = "/status";

/// Open connections at a time: five for each of 200 clients. Further ones wait to be taken, they
/// are not refused.
const CONNECTIONS: usize = 1024;

/// Connections that the kernel holds until they are taken.
const BACKLOG: i32 = 1024;

/// The longest head of a request, in bytes; a root is at most 4 KiB of it.
const HEAD_BYTES: usize = 32 << 10;

/// How long things may take.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// The head of a request; a connection may be idle for as long.
    head: Duration,
    /// A message, once its head is there.
    message: Duration,
    /// A root without calls, until its store is closed: longer than the pauses in which people think,
    /// and short beside a day with projects that nobody looks at.
    idle: Duration,
    /// Answers that are under way when the end is asked for.
    finish: Duration,
    /// The answers of stopped calls, to be written.
    settle: Duration,
}

const TIMES: Times = Times {
    head: Duration::from_secs(30),
    message: Duration::from_secs(30),
    idle: Duration::from_mins(5),
    finish: Duration::from_millis(750),
    settle: Duration::from_millis(250),
};

/// Left when no connection can be taken because descriptors have run out.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves MCP on `listener` until a signal ends it, whose name is answered.
///
/// When this returns, every process that calls had started has been stopped. Nothing else needs to
/// be waited for: whatever an answer mentions was committed before it.
///
/// # Errors
///
/// When the listener is not on loopback or cannot be used, or signals cannot be watched.
pub async fn serve<C: Calls>(
    server: Server<C>,
    listener: Listener,
    token: Token,
) -> io::Result<&'static str> {
    let mut signals = Signals::start()?;
    until(server, listener, token, TIMES, signals.next()).await
}

/// Serves until `end` comes.
async fn until<C: Calls>(
    server: Server<C>,
    listener: Listener,
    token: Token,
    times: Times,
    end: impl Future<Output = &'static str>,
) -> io::Result<&'static str> {
    if !listener.local_addr()?.ip().is_loopback() {
        return Err(io::Error::other("the server listens on loopback only"));
    }
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let closing = CancellationToken::new();
    let exchange = Exchange::new(&server, token, times);
    let ending = tokio::select! {
        ending = end => ending,
        () = accept(&listener, &slots, &exchange, &closing) => "closed",
    };
    drop(listener);
    tracing::info!(ending, "ending");
    closing.cancel();
    let all = CONNECTIONS as u32;
    let _finished = timeout(times.finish, slots.acquire_many(all)).await;
    server.stop();
    let _settled = timeout(times.settle, slots.acquire_many(all)).await;
    Ok(ending)
}

/// Takes connections for as long as this is polled.
async fn accept<C: Calls>(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
    exchange: &Arc<Exchange<C>>,
    closing: &CancellationToken,
) {
    while let Ok(slot) = Arc::clone(slots).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = connection(stream, Arc::clone(exchange), closing.clone(), slot);
                tokio::spawn(served);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Answers the requests of one connection. When the client goes away, the answer that was being
/// made is dropped, and with it its call is cancelled.
async fn connection<C: Calls>(
    stream: TcpStream,
    exchange: Arc<Exchange<C>>,
    closing: CancellationToken,
    _slot: OwnedSemaphorePermit,
) {
    let _slower_at_worst = stream.set_nodelay(true);
    let head = exchange.times().head;
    let service = service_fn(move |request| Arc::clone(&exchange).answer(request));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).max_header_size(HEAD_BYTES);
    let served = builder.serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let outcome = tokio::select! {
        outcome = served.as_mut() => outcome,
        () = closing.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended");
    }
}

/// The signals that end the server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn start() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hangup.recv() => "SIGHUP",
        }
    }
}
