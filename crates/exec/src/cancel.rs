//! A flag that any thread may raise and that a polling thread wakes up for.

use std::fmt;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// Asks one run to stop. Clones share the flag; once raised it stays raised.
#[derive(Clone)]
pub struct Cancel {
    shared: Arc<Shared>,
}

struct Shared {
    raised: AtomicBool,
    /// Readable from the moment the flag is raised, for good: nobody ever reads it. `None` when
    /// the process had no descriptor left; the run then looks at the flag from time to time.
    wake: Option<OwnedFd>,
}

impl Cancel {
    /// A flag that is not raised.
    pub fn new() -> Self {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Self { shared: Arc::new(Shared { raised: AtomicBool::new(false), wake }) }
    }

    /// Raises the flag and wakes the run. Returns at once; repeating it changes nothing.
    pub fn cancel(&self) {
        if self.shared.raised.swap(true, Ordering::SeqCst) {
            return;
        }
        if let Some(wake) = &self.shared.wake {
            // Cannot block or fail: the counter goes from 0 to 1, once.
            let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
        }
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.shared.raised.load(Ordering::SeqCst)
    }

    /// The descriptor that becomes readable when the flag is raised.
    pub(crate) fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.shared.wake.as_ref().map(|wake| wake.as_fd())
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").field("raised", &self.is_cancelled()).finish_non_exhaustive()
    }
}
