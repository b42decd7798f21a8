//! How many fetches one host gets at a time, over all calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{FetchError, guard::Target};

/// The hosts that are being asked.
#[derive(Debug)]
pub(crate) struct Hosts {
    at_once: usize,
    known: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Lets one fetch go on; the next one does when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Hosts {
    pub(crate) fn new(at_once: usize) -> Self {
        Self { at_once, known: Mutex::default() }
    }

    /// Waits for a turn at this host and port.
    pub(crate) async fn turn(&self, target: &Target) -> Result<Turn, FetchError> {
        let gate = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|_, gate| gate.strong_count() > 0);
            let name = target.to_string();
            let gate = known.get(&name).and_then(Weak::upgrade);
            let gate = gate.unwrap_or_else(|| Arc::new(Semaphore::new(self.at_once.max(1))));
            known.insert(name, Arc::downgrade(&gate));
            gate
        };
        let permit = gate.acquire_owned().await;
        // Nobody closes a gate.
        let closed = |_| FetchError::Convert { what: "the fetcher is closed" };
        Ok(Turn { _permit: permit.map_err(closed)? })
    }
}
