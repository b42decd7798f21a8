//! One at a time: who writes missing full-text rows in this process.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use crate::pool::lock;

/// A turn that one thread of the process has at a time.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    taken: Mutex<bool>,
    given_back: Condvar,
}

/// Gives the turn back when dropped.
#[derive(Debug)]
pub(crate) struct Taken<'a>(&'a Turn);

impl Turn {
    /// Takes the turn, after waiting for it at most until then; `None`: another thread still has it.
    pub(crate) fn take(&self, until: Option<Instant>) -> Option<Taken<'_>> {
        let mut taken = lock(&self.taken);
        while *taken {
            taken = match until {
                None => self.given_back.wait(taken).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.checked_duration_since(Instant::now())?;
                    let waited = self.given_back.wait_timeout(taken, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        *taken = true;
        Some(Taken(self))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *lock(&self.0.taken) = false;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_has_it_and_the_next_one_waits() {
        let turn = Turn::default();
        let first = turn.take(None).unwrap();
        let soon = Instant::now() + Duration::from_millis(1);
        assert!(turn.take(Some(soon)).is_none());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| turn.take(None).is_some());
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(turn.take(Some(Instant::now())).is_some());
    }
}
