//! Bulk work gives way: to searches of this process, and with a low priority to everybody.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::pool::lock;

/// The longest a step of bulk work is put off.
const LONGEST: Duration = Duration::from_millis(20);
/// The longest for each moment it worked before: searches without end leave it a third of the time.
const FOR_EACH: u32 = 2;

/// Added to the priority number of threads that prepare bulk work: a tenth of the share of others.
const LOWER: i32 = 10;
const LOWEST: i32 = 19;

/// Counts the searches under way.
#[derive(Debug, Default)]
pub(crate) struct Courtesy {
    searches: Mutex<Searches>,
    quiet: Condvar,
}

#[derive(Debug, Default)]
struct Searches {
    under_way: usize,
    /// How many writers of many documents there are.
    writers: usize,
    /// How often bulk work was put off.
    put_off: u64,
    /// When it last went on.
    went_on: Option<Instant>,
}

/// A search under way, until dropped.
#[derive(Debug)]
pub(crate) struct Searching<'a>(&'a Courtesy);

impl Courtesy {
    /// Counts a search.
    pub(crate) fn search(&self) -> Searching<'_> {
        lock(&self.searches).under_way += 1;
        Searching(self)
    }

    /// Counts a writer of many documents.
    pub(crate) fn begin_bulk(&self) {
        lock(&self.searches).writers += 1;
    }

    /// Counts it no more.
    pub(crate) fn end_bulk(&self) {
        lock(&self.searches).writers -= 1;
    }

    /// Whether somebody writes many documents.
    pub(crate) fn is_bulk(&self) -> bool {
        lock(&self.searches).writers > 0
    }

    /// Called between two small steps of bulk work: waits for the searches under way, not for long.
    pub(crate) fn give_way(&self) {
        let now = Instant::now();
        let went_on = lock(&self.searches).went_on;
        let worked = went_on.map_or(LONGEST, |went_on| now.saturating_duration_since(went_on));
        self.wait_until(now + LONGEST.min(worked * FOR_EACH));
        lock(&self.searches).went_on = Some(Instant::now());
    }

    /// `false`: there was no end to searches until then.
    fn wait_until(&self, until: Instant) -> bool {
        let mut searches = lock(&self.searches);
        if searches.under_way > 0 {
            searches.put_off += 1;
        }
        while searches.under_way > 0 {
            let Some(left) = until.checked_duration_since(Instant::now()) else { return false };
            let waited = self.quiet.wait_timeout(searches, left);
            searches = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// How often bulk work was put off.
    #[cfg(test)]
    pub(crate) fn put_off(&self) -> u64 {
        lock(&self.searches).put_off
    }
}

impl Drop for Searching<'_> {
    fn drop(&mut self) {
        let mut searches = lock(&self.0.searches);
        searches.under_way -= 1;
        if searches.under_way == 0 {
            self.0.quiet.notify_all();
        }
    }
}

/// Lowers the priority of the calling thread, for good. Only for threads that never hold the
/// store's write lock: whoever waits for that lock would wait for everybody else's work.
pub(crate) fn step_back() {
    let lowered = rustix::process::getpriority_process(None)
        .and_then(|now| rustix::process::setpriority_process(None, (now + LOWER).min(LOWEST)));
    if let Err(error) = lowered {
        tracing::debug!(%error, "bulk work keeps its priority");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_work_waits_for_the_last_search_and_not_for_ever() {
        let courtesy = Courtesy::default();
        assert!(courtesy.wait_until(Instant::now()));
        assert_eq!(courtesy.put_off(), 0);
        let (first, second) = (courtesy.search(), courtesy.search());
        assert!(!courtesy.wait_until(Instant::now()));
        drop(first);
        assert!(!courtesy.wait_until(Instant::now()));
        let far = Instant::now() + Duration::from_mins(10);
        std::thread::scope(|scope| {
            let bulk = scope.spawn(|| courtesy.wait_until(far));
            while courtesy.put_off() < 3 {
                std::thread::yield_now();
            }
            drop(second);
            assert!(bulk.join().unwrap());
        });
        assert!(courtesy.wait_until(Instant::now()));
    }

    #[test]
    fn one_thread_steps_back_and_the_others_stay() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        let lowered = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    step_back();
                    priority()
                })
                .join()
                .unwrap()
        });
        assert_eq!(lowered, (before + LOWER).min(LOWEST));
        assert_eq!(priority(), before);
    }
}
