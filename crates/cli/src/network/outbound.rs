//! The proxy and its policy, as the tools want them.

use std::sync::Arc;

use quietcontext_fetch::proxy::Proxy;
use quietcontext_tools::Outbound;

use super::{Allowed, Reach};

/// The way out of every root's boxes; `None` when the user allows none.
pub(crate) fn outbound(allowed: &Arc<Allowed>, proxy: Proxy) -> Option<Outbound> {
    let policy = Arc::clone(allowed);
    let permits = Box::new(move |root: &std::path::Path| policy.for_root(root));
    (allowed.reach() != Reach::Off).then(|| Outbound { proxy: Arc::new(proxy), permits })
}
