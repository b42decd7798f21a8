//! The way of a root's programs to other machines: `fetch`'s proxy behind `exec`'s seam.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use quietcontext_exec as exec;
use quietcontext_fetch::proxy::{Attached, Permits, Proxy, explain};
use tokio::runtime::Handle;

/// Gives the policy of a root: which hosts its programs may reach.
pub type PermitsOf = Box<dyn Fn(&Path) -> Arc<dyn Permits> + Send + Sync>;

/// The proxy of all programs and the policy of each root.
pub struct Outbound {
    /// Serves the boxes.
    pub proxy: Arc<Proxy>,
    /// What the user allows.
    pub permits: PermitsOf,
}

impl std::fmt::Debug for Outbound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbound").field("proxy", &self.proxy).finish_non_exhaustive()
    }
}

impl Outbound {
    /// The way out for the programs of a root, served by `runtime`.
    pub(crate) fn of(&self, root: &Path, runtime: &Handle) -> Arc<dyn exec::Outbound> {
        Arc::new(Door {
            proxy: Arc::clone(&self.proxy),
            permits: (self.permits)(root),
            runtime: runtime.clone(),
        })
    }
}

struct Door {
    proxy: Arc<Proxy>,
    permits: Arc<dyn Permits>,
    runtime: Handle,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").finish_non_exhaustive()
    }
}

impl exec::Outbound for Door {
    fn open(&self, listener: TcpListener) -> io::Result<Box<dyn exec::Outlet>> {
        let attached = self.proxy.attach(listener, Arc::clone(&self.permits), &self.runtime)?;
        Ok(Box::new(Open(attached)))
    }
}

#[derive(Debug)]
struct Open(Attached);

impl exec::Outlet for Open {
    fn blocked(&self) -> Option<String> {
        explain(&self.0.denied())
    }
}
