//! MCP for the six tools: the only crate that knows the protocol.
//!
//! Reading order: [`Server`] (what a session needs), [`Calls`] (the seam to the tools), `handler`
//! (each request of the protocol), `catalog` (what the server says of itself), [`Root`] (where
//! calls work), `frame` (what a message is, before the SDK sees it), then the transports: [`stdio`]
//! and [`http`]. A transport owns its streams, its authentication
//! and its end; everything it serves comes from [`Server`], so all transports answer alike.

mod calls;
mod catalog;
mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod handler;
pub mod http;
mod progress;
#[cfg(test)]
mod puppet;
mod root;
pub mod stdio;

use std::{fmt, sync::Arc};

use quietcontext_tools::ToolSpec;

pub use calls::{Calls, Reply};
pub use root::{Registered, Root};

use catalog::Catalog;
use handler::Handler;

/// Everything a transport serves, shared by all its clients.
pub struct Server<C> {
    calls: Arc<C>,
    catalog: Arc<Catalog>,
    root: Arc<Root>,
}

impl<C: Calls> Server<C> {
    /// A server that lists `tools` in the given order and lets `calls` answer them. Nothing is
    /// opened or looked up by this.
    pub fn new(calls: Arc<C>, tools: impl IntoIterator<Item = ToolSpec>, root: Root) -> Self {
        Self { calls, catalog: Arc::new(Catalog::new(tools)), root: Arc::new(root) }
    }

    fn handler(&self) -> Handler<C> {
        Handler {
            calls: Arc::clone(&self.calls),
            catalog: Arc::clone(&self.catalog),
            root: Arc::clone(&self.root),
        }
    }

    fn stop(&self) {
        self.calls.shutdown();
    }
}

impl<C> fmt::Debug for Server<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("root", &self.root).finish_non_exhaustive()
    }
}
