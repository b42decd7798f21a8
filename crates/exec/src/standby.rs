//! A supervisor that is started before it is needed: an agent's calls come in rows, and the start of
//! the binary is a good part of what a box costs.

use std::io;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::sandbox::Standby;

/// How long one waits for the next program. Then there is no process of ours but the server.
const PATIENCE: Duration = Duration::from_mins(1);

/// The place of the one that waits.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    slot: Mutex<Option<Ready>>,
}

/// A supervisor, and what keeps the thread that started it alive. The kernel ends a supervisor that
/// is building its box when that thread ends, so it goes on until the program has been reaped.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) standby: Standby,
    pub(crate) keeper: Keeper,
}

/// Dropped when the supervisor has been reaped.
#[derive(Debug)]
pub(crate) struct Keeper(#[expect(dead_code, reason = "dropping it is the message")] Sender<()>);

impl Standing {
    /// The one that waits, if there is one.
    pub(crate) fn take(&self) -> Option<Ready> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Starts one in a thread of its own, unless one waits already. Failing to costs the next
    /// program some time, nothing else.
    pub(crate) fn prepare(self: &Arc<Self>, binary: &Path) {
        if self.slot.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return;
        }
        let (standing, binary) = (Arc::clone(self), binary.to_owned());
        let thread = std::thread::Builder::new().name("standby".into());
        let spawned = thread.spawn(move || {
            if let Err(error) = standing.keep(&binary) {
                tracing::debug!(%error, "no supervisor stands by");
            }
        });
        drop(spawned);
    }

    /// Sends the one that waits home.
    pub(crate) fn dismiss(&self) {
        if let Some(ready) = self.take()
            && let Err(error) = ready.standby.dismiss()
        {
            tracing::debug!(%error, "a supervisor was not collected");
        }
    }

    fn keep(&self, binary: &Path) -> io::Result<()> {
        let standby = Standby::start(binary)?;
        let number = standby.id();
        let (keeper, released) = mpsc::channel();
        {
            let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
            if slot.is_some() {
                drop(slot);
                return standby.dismiss();
            }
            *slot = Some(Ready { standby, keeper: Keeper(keeper) });
        }
        if released.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Disconnected) {
            return Ok(());
        }
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let own = slot.take_if(|ready| ready.standby.id() == number);
        drop(slot);
        if let Some(ready) = own {
            return ready.standby.dismiss();
        }
        // It was taken: until its program has been reaped.
        let _released = released.recv();
        Ok(())
    }
}
