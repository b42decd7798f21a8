//! Does the same with many things, several at a time: whoever is done takes the next one.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` with each number below `count`, by so many threads (the calling one among them). What it
/// answers, by number; `None` where there is no answer. A thread whose work answers `None` takes no more.
pub(crate) fn side_by_side<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Option<T> + Sync,
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut answers = Vec::new();
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && number < count
            && let Some(answer) = work(number)
        {
            answers.push((number, answer));
        }
        answers
    };
    let found = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(some)).collect();
        let mut found = some();
        for other in others {
            match other.join() {
                Ok(more) => found.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    });
    let mut answers: Vec<Option<T>> = (0..count).map(|_| None).collect();
    for (number, answer) in found {
        if let Some(place) = answers.get_mut(number) {
            *place = Some(answer);
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn each_is_done_once_and_answered_in_its_place() {
        for (count, threads) in [(0, 4), (1, 4), (7, 1), (100, 4)] {
            let done = AtomicUsize::new(0);
            let answers = side_by_side(count, threads, |number| {
                done.fetch_add(1, Ordering::Relaxed);
                Some(number * 2)
            });
            assert_eq!(answers, (0..count).map(|number| Some(number * 2)).collect::<Vec<_>>());
            assert_eq!(done.into_inner(), count);
        }
    }

    #[test]
    fn so_many_are_under_way_and_no_more_after_the_last_answer() {
        // Three wait for each other, so three are done at the same time.
        let together = Barrier::new(3);
        let answers = side_by_side(3, 3, |_| Some(together.wait().is_leader()));
        assert_eq!(answers.iter().filter(|answer| **answer == Some(true)).count(), 1);
        let answers = side_by_side(5, 1, |number| (number < 2).then_some(number));
        assert_eq!(answers, [Some(0), Some(1), None, None, None]);
    }
}
