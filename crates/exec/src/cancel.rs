//! A flag that any thread may raise and that a polling thread wakes up for.

use std::fmt;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use rustix::event::{EventfdFlags, eventfd};

/// Asks one run to stop. Clones share the flag; once raised it stays raised.
#[derive(Clone)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
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

    /// A handle that raises the flag as long as this one, or a clone, exists.
    pub(crate) fn of_another(&self) -> CancelOfAnother {
        CancelOfAnother(Arc::downgrade(&self.shared))
    }

    /// The descriptor that becomes readable when the flag is raised.
    pub(crate) fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.shared.wake.as_ref().map(|wake| wake.as_fd())
    }
}

/// Asks a run to stop while it lasts. It does not keep the flag's descriptor open beyond the run, for
/// many of these are kept after their runs have ended.
#[derive(Debug)]
pub(crate) struct CancelOfAnother(Weak<Shared>);

impl CancelOfAnother {
    /// Raises the flag, if the run it belongs to has not let go of it.
    pub(crate) fn cancel(&self) {
        if let Some(shared) = self.0.upgrade() {
            Cancel { shared }.cancel();
        }
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
