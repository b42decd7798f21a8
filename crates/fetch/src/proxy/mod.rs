//! The way out of a box: an HTTP proxy on a listener that lies in the box's network.
//!
//! A confined program has no route anywhere; it can only ask this proxy, by `CONNECT` or with a
//! plain `http://` request. For each request, in this order:
//!
//! 1. the head is read within bounds and parsed strictly; what is odd is refused (`head`);
//! 2. host and port are put to [`Permits`], the user's policy;
//! 3. the name is resolved once, every address is classified by [`crate::guard`], and one refused
//!    address refuses the name; the connection goes to a checked address (`dial`);
//! 4. what passes is tied to what was asked for: a TLS handshake in a tunnel must name the tunnel's
//!    host (`hello`), and a connection carries one plain request and no second (`forward`).
//!
//! What is refused is answered with a 403 that says what the *user* can do ([`Denial`]), and kept,
//! so that the answer of the run can say it as well. Everything is bounded by [`ProxyLimits`].

mod chunked;
mod denial;
mod dial;
mod forward;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod head;
mod hello;
mod policy;
mod reply;
mod serve;
mod tunnel;

use std::{fmt, io, net::TcpListener, sync::Arc, time::Duration};

use tokio::{runtime::Handle, sync::Semaphore, task::AbortHandle};

use self::serve::Service;
use crate::Resolve;

pub use self::denial::{Denial, Why, explain};
pub use self::policy::{Permit, Permits};

/// Bounds of a [`Proxy`].
#[derive(Debug, Clone, Copy)]
pub struct ProxyLimits {
    /// Connections of one box at one time; further ones wait to be accepted.
    pub connections: usize,
    /// The same for all boxes together. Each takes two descriptors of the server.
    pub connections_of_all: usize,
    /// From the connection to the end of the request's head.
    pub head: Duration,
    /// Name lookup.
    pub resolve: Duration,
    /// Connecting, all addresses together.
    pub connect: Duration,
    /// A connection on which nothing moves in either direction ends after this.
    pub idle: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections: 64,
            connections_of_all: 256,
            head: Duration::from_secs(10),
            resolve: Duration::from_secs(10),
            connect: Duration::from_secs(10),
            idle: Duration::from_mins(5),
        }
    }
}

/// Serves boxes. Opens nothing by itself; one serves all boxes of a process.
pub struct Proxy {
    resolver: Arc<dyn Resolve>,
    limits: ProxyLimits,
    all: Arc<Semaphore>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Proxy {
    /// A proxy that asks `resolver` for addresses.
    pub fn new(resolver: Arc<dyn Resolve>) -> Self {
        Self::with_limits(resolver, ProxyLimits::default())
    }

    /// The same with other bounds.
    pub fn with_limits(resolver: Arc<dyn Resolve>, limits: ProxyLimits) -> Self {
        Self { resolver, limits, all: Arc::new(Semaphore::new(limits.connections_of_all)) }
    }

    /// Serves `listener` on `runtime` (which needs time and I/O) until the result is dropped.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used without blocking.
    pub fn attach(
        &self,
        listener: TcpListener,
        permits: Arc<dyn Permits>,
        runtime: &Handle,
    ) -> io::Result<Attached> {
        listener.set_nonblocking(true)?;
        let _entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let service = Arc::new(Service {
            permits,
            resolver: Arc::clone(&self.resolver),
            limits: self.limits,
            denied: denial::Denied::default(),
        });
        let all = Arc::clone(&self.all);
        let task = runtime.spawn(serve::accept(listener, Arc::clone(&service), all));
        Ok(Attached { task: task.abort_handle(), service })
    }
}

/// A box that is being served; dropping it ends the listener and every connection.
pub struct Attached {
    task: AbortHandle,
    service: Arc<Service>,
}

impl Attached {
    /// What was refused so far: each host, port and reason once, in order, the first few only.
    pub fn denied(&self) -> Vec<Denial> {
        self.service.denied.list()
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").field("denied", &self.denied()).finish_non_exhaustive()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // The connections are tasks of this task's own set and end with it.
        self.task.abort();
    }
}
