//! One fetch of a URL at a time: who asks meanwhile waits, and takes what came.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// The URLs of one root that are being fetched.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    under_way: Mutex<HashMap<String, Weak<Turn<()>>>>,
}

impl Flights {
    /// Waits until nobody else fetches this URL; the next one may when the guard is dropped.
    pub(crate) async fn board(&self, url: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
            under_way.retain(|_, turn| turn.strong_count() > 0);
            let turn = under_way.get(url).and_then(Weak::upgrade).unwrap_or_default();
            under_way.insert(url.to_owned(), Arc::downgrade(&turn));
            turn
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_url_at_a_time_and_others_beside_it() {
        let flights = Flights::default();
        let first = flights.board("a").await;
        let other = flights.board("b").await;
        let second = flights.board("a");
        tokio::pin!(second);
        let waiting = std::future::poll_fn(|context| {
            std::task::Poll::Ready(second.as_mut().poll(context).is_pending())
        });
        assert!(waiting.await);
        drop(first);
        drop(second.await);
        drop(other);
        drop(flights.board("c").await);
        assert_eq!(flights.under_way.lock().unwrap().len(), 1, "what is over is forgotten");
    }
}
