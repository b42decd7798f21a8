//! The way out of a box, as the executor asks for one: the proxy with the policy of a root.

use std::{io, net::TcpListener, path::Path, sync::Arc};

use quietcontext_exec::{Outbound, Outlet};
use quietcontext_fetch::proxy::{Attached, Permits, Proxy};
use quietcontext_tools::Outbounds;
use tokio::runtime::Handle;

use super::{Allowed, Reach};

/// Opens ways out for every root; `None` where programs reach nothing.
pub(crate) fn outbounds(allowed: &Arc<Allowed>, proxy: Proxy) -> Option<Outbounds> {
    if allowed.reach() == Reach::Off {
        return None;
    }
    let (allowed, proxy) = (Arc::clone(allowed), Arc::new(proxy));
    Some(Box::new(move |root: &Path| {
        let permits = allowed.for_root(root);
        let runtime = Handle::try_current().ok();
        Arc::new(Way { proxy: Arc::clone(&proxy), permits, runtime })
    }))
}

/// The way out for one root.
struct Way {
    proxy: Arc<Proxy>,
    permits: Arc<dyn Permits>,
    /// Known where the call began; programs are started from threads of no runtime.
    runtime: Option<Handle>,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Way").field("proxy", &self.proxy).finish_non_exhaustive()
    }
}

impl Outbound for Way {
    fn open(&self, listener: TcpListener) -> io::Result<Box<dyn Outlet>> {
        let runtime = self.runtime.clone().or_else(|| Handle::try_current().ok());
        let runtime =
            runtime.ok_or_else(|| io::Error::other("nothing runs that could serve it"))?;
        let attached = self.proxy.attach(listener, Arc::clone(&self.permits), &runtime)?;
        Ok(Box::new(Open(attached)))
    }
}

/// A box that is being served.
#[derive(Debug)]
struct Open(Attached);

impl Outlet for Open {
    /// What the user could allow. What nobody can was told to the program alone.
    fn denied(&self) -> Vec<String> {
        let denied = self.0.denied().into_iter();
        let mut names: Vec<String> = denied.filter_map(|denial| denial.remedy()).collect();
        names.dedup();
        names
    }
}
