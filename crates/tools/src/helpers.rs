//! Threads that wait to help with short work: to begin one for each call takes longer than a query does.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::side_by_side::Tasks;

/// More do not help: what they would share is the store.
const MOST: usize = 4;

static HELPERS: LazyLock<Helpers> = LazyLock::new(|| {
    Helpers::new(std::thread::available_parallelism().map_or(1, usize::from).min(MOST))
});

/// Calls `work` with each number below `count`; its answers, by number. As many threads do that as there
/// are processors, the calling one among them; others only where they are free at once. For work of
/// milliseconds: what runs programs or waits has threads of its own.
pub(crate) fn together<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if count < 2 {
        // Most calls need no help, so most processes begin no helpers.
        return (0..count).map(work).collect();
    }
    HELPERS.share(count, work)
}

struct Helpers {
    threads: usize,
    /// `None`: the system has no threads to give, so each call works alone.
    pool: Option<ThreadPool>,
    busy: AtomicUsize,
}

impl Helpers {
    fn new(threads: usize) -> Self {
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        let pool = builder.thread_name(|number| format!("help-{number}")).build();
        let pool = pool.inspect_err(|error| tracing::warn!(%error, "calls work alone")).ok();
        Helpers { threads, pool, busy: AtomicUsize::new(0) }
    }

    fn share<T: Send>(&self, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let tasks = Tasks::new(count);
        let take = || tasks.take(|number| Some(work(number)));
        match &self.pool {
            Some(pool) => pool.in_place_scope(|scope| {
                for _ in 1..self.threads.min(count) {
                    let Some(helper) = self.free() else { break };
                    scope.spawn(|_| {
                        let _helper = helper;
                        take();
                    });
                }
                take();
            }),
            None => take(),
        }
        tasks.answers().into_iter().flatten().collect()
    }

    /// One of them, unless all are busy: then work would wait for that of other calls.
    fn free(&self) -> Option<Helper<'_>> {
        let one_more = |busy| (busy < self.threads).then_some(busy + 1);
        let taken = self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.is_ok().then_some(Helper(&self.busy))
    }
}

/// Is busy until it is dropped, also by a panic.
struct Helper<'a>(&'a AtomicUsize);

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn each_is_done_once_and_answered_in_its_place() {
        for count in [0, 1, 7, 100] {
            let done = AtomicUsize::new(0);
            let answers = together(count, |number| {
                done.fetch_add(1, Ordering::Relaxed);
                number * 2
            });
            assert_eq!(answers, (0..count).map(|number| number * 2).collect::<Vec<_>>());
            assert_eq!(done.into_inner(), count);
        }
    }

    #[test]
    fn so_many_are_under_way_at_a_time() {
        // Three wait for each other, so three are done at the same time.
        let (helpers, meeting) = (Helpers::new(3), Barrier::new(3));
        let answers = helpers.share(3, |_| meeting.wait().is_leader());
        assert_eq!(answers.iter().filter(|leads| **leads).count(), 1);
    }

    #[test]
    fn nobody_waits_for_the_helpers_of_others() {
        let helpers = Helpers::new(2);
        let (all_are_busy, done) = (Barrier::new(5), Barrier::new(5));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                // Each with a helper.
                scope.spawn(|| {
                    helpers.share(2, |_| {
                        all_are_busy.wait();
                        done.wait();
                    })
                });
            }
            all_are_busy.wait();
            assert_eq!(helpers.share(3, |number| number), [0, 1, 2]);
            done.wait();
        });
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_is_the_callers() {
        Helpers::new(2).share(9, |number| assert_ne!(number, 7, "seven"));
    }

    #[test]
    fn a_panic_leaves_no_helper_busy() {
        let helpers = Helpers::new(2);
        let panics = || helpers.share(9, |_| panic!("each"));
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(helpers.busy.into_inner(), 0);
    }
}
