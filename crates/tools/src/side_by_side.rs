//! Does the same with many things, several at a time: whoever is done takes the next one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

/// Numbered tasks, of which any number of threads take the next one.
pub(crate) struct Tasks<T> {
    count: usize,
    next: AtomicUsize,
    answers: Mutex<Vec<Option<T>>>,
}

impl<T> Tasks<T> {
    pub(crate) fn new(count: usize) -> Self {
        let answers = Mutex::new((0..count).map(|_| None).collect());
        Tasks { count, next: AtomicUsize::new(0), answers }
    }

    /// Does tasks until none is left, or until `work` answers `None`.
    pub(crate) fn take(&self, work: impl Fn(usize) -> Option<T>) {
        while let number = self.next.fetch_add(1, Ordering::Relaxed)
            && number < self.count
            && let Some(answer) = work(number)
        {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            put(&mut answers, number, answer);
        }
    }

    /// What each came to, by number.
    pub(crate) fn answers(self) -> Vec<Option<T>> {
        self.answers.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts an answer in its place.
fn put<T>(answers: &mut [Option<T>], number: usize, answer: T) {
    if let Some(place) = answers.get_mut(number) {
        *place = Some(answer);
    }
}

/// Calls `work` with each number below `count`, by so many threads (the calling one among them). What it
/// answers, by number; `None` where there is no answer. A thread whose work answers `None` takes no more.
fn side_by_side<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Option<T> + Sync,
) -> Vec<Option<T>> {
    let tasks = Tasks::new(count);
    std::thread::scope(|scope| {
        let some = || tasks.take(&work);
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(some)).collect();
        some();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    tasks.answers()
}

/// What the first step of two has come to.
pub(crate) enum Step<M, T> {
    /// The answer: there is no second step.
    Done(T),
    /// What the second step makes the answer of.
    Left(M),
}

/// As [`side_by_side`], with a second step that another thread does, so that the next one's first step
/// does not wait for it.
pub(crate) fn in_two_steps<M: Send, T: Send>(
    count: usize,
    threads: usize,
    first: impl Fn(usize) -> Option<Step<M, T>> + Sync,
    second: impl Fn(usize, M) -> T + Send,
) -> Vec<Option<T>> {
    if count < 2 {
        let both = |number| match first(number)? {
            Step::Done(answer) => Some(answer),
            Step::Left(left) => Some(second(number, left)),
        };
        return (0..count).map(both).collect();
    }
    std::thread::scope(|scope| {
        // No more is left for the second step than the first one does at a time.
        let (hand, handed) = sync_channel(threads);
        let second = scope.spawn(move || {
            let done = handed.iter().map(|(number, left)| (number, second(number, left)));
            done.collect::<Vec<_>>()
        });
        let firsts = side_by_side(count, threads, |number| match first(number)? {
            Step::Done(answer) => Some(Some(answer)),
            // Nobody takes it when the other thread has panicked, which is said below.
            Step::Left(left) => hand.send((number, left)).ok().map(|()| None),
        });
        drop(hand);
        let mut answers: Vec<Option<T>> = firsts.into_iter().map(Option::flatten).collect();
        match second.join() {
            Ok(more) => {
                for (number, answer) in more {
                    put(&mut answers, number, answer);
                }
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
        answers
    })
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
    fn the_second_step_goes_on_beside_the_next_first_one() {
        // The second step of each waits for the first step of the one behind it.
        let together = Barrier::new(2);
        let answers = in_two_steps(
            4,
            1,
            |number| {
                if number > 0 {
                    together.wait();
                }
                Some(Step::Left(number))
            },
            |number, left| {
                if number < 3 {
                    together.wait();
                }
                left * 2
            },
        );
        assert_eq!(answers, [Some(0), Some(2), Some(4), Some(6)]);
        for count in [0, 1, 5] {
            let first = |number| match number {
                3 => None,
                number if number % 2 == 0 => Some(Step::Done(number)),
                number => Some(Step::Left(number)),
            };
            let answers = in_two_steps(count, 1, first, |number, left| number + left);
            let wanted = [Some(0), Some(2), Some(2), None, None];
            assert_eq!(answers, wanted[..count]);
        }
    }

    #[test]
    #[should_panic(expected = "second")]
    fn a_panic_of_the_second_step_is_the_callers() {
        in_two_steps(9, 2, |number| Some(Step::<_, ()>::Left(number)), |_, _| panic!("second"));
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
