//! What queries share: what the index said of a word is asked once, and again only of what was added since.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::expand::FastBuild;
use super::postings::{Find, Limits};
use super::statistics::Frequency;
use super::word_lists::{Counts, State};
use crate::ids::ChunkRange;
use crate::pool::lock;

/// Entries of lists that are kept: at most 3 MiB.
const ENTRIES: usize = 128 * 1_024;

/// The longest list that is kept.
pub(super) const LONGEST_KEPT: u64 = ENTRIES as u64 / 4;

/// Words whose frequency is kept.
const WORDS: usize = 16 * 1_024;

/// Steps by which the index may grow before all of it is asked again.
const STEPS: usize = 256;

/// Places where something was added since a word was last asked for; with more of them all is asked again.
const PLACES: usize = 8;

type Words<T> = HashMap<String, T, FastBuild>;

/// Answers of the index in one state, for queries with the same limits; asked by readers of that state only.
/// Those of a newer one may be among them: they name chunks that a reader of the older one does not see.
#[derive(Debug)]
pub(crate) struct Shared {
    known: Arc<Known>,
    /// How often the index had grown.
    step: usize,
    /// The state.
    pub(super) state: State,
    /// How much the index holds in it.
    pub(super) counts: Counts,
}

#[derive(Debug, Default)]
struct Known {
    /// The chunks that each step added.
    steps: Mutex<Vec<Vec<ChunkRange>>>,
    frequencies: Mutex<Words<Kept<Frequency>>>,
    lists: Mutex<Lists>,
}

/// An answer and the step it is of.
#[derive(Clone, Debug)]
struct Kept<T> {
    step: usize,
    answer: T,
}

type List<T> = Kept<Arc<Vec<T>>>;

#[derive(Debug, Default)]
struct Lists {
    /// By stem: for each weight it is looked for with, where it stands.
    places: Words<Vec<(f64, List<Find>)>>,
    /// By expression: the chunks that match.
    chunks: Words<List<u64>>,
    /// Entries of all lists.
    entries: usize,
}

impl Lists {
    /// Makes room for a list in the place of one with `before` entries; `false` where it is too long.
    fn admit(&mut self, before: Option<usize>, entries: usize) -> bool {
        if entries as u64 > LONGEST_KEPT {
            return false;
        }
        // The name and the table's part of a list count like some entries.
        let more = before.map_or(entries + 8, |before| entries.saturating_sub(before));
        if self.entries + more > ENTRIES {
            // Words asked for again are soon there again.
            *self = Lists::default();
            self.entries = entries + 8;
        } else {
            self.entries += more;
        }
        true
    }

    fn places(&self, stem: &str, weight: f64) -> Option<&List<Find>> {
        let lists = self.places.get(stem)?;
        let of_weight = lists.iter().find(|(own, _)| own.to_bits() == weight.to_bits());
        of_weight.map(|(_, list)| list)
    }

    fn keep_places(&mut self, stem: &str, weight: f64, list: List<Find>) {
        let before = self.places(stem, weight).map(|list| list.answer.len());
        if self.admit(before, list.answer.len()) {
            let lists = self.places.entry(stem.to_owned()).or_default();
            lists.retain(|(own, _)| own.to_bits() != weight.to_bits());
            lists.push((weight, list));
        }
    }

    fn keep_chunks(&mut self, expression: &str, list: List<u64>) {
        let before = self.chunks.get(expression).map(|list| list.answer.len());
        if self.admit(before, list.answer.len()) {
            self.chunks.insert(expression.to_owned(), list);
        }
    }
}

/// What is known of an answer: nothing, all of it, or all but what was added here.
enum Partly<T> {
    Unknown,
    Whole(T),
    But(T, Limits),
}

impl Shared {
    /// Nothing known yet.
    pub(super) fn new(state: State, counts: Counts) -> Self {
        Shared { known: Arc::default(), step: 0, state, counts }
    }

    /// The same when these chunks were added, and nothing else happened.
    pub(super) fn grown(&self, state: State, counts: Counts, added: Vec<ChunkRange>) -> Self {
        let mut steps = lock(&self.known.steps);
        if steps.len() != self.step || self.step >= STEPS {
            return Shared::new(state, counts);
        }
        steps.push(added);
        Shared { known: Arc::clone(&self.known), step: steps.len(), state, counts }
    }

    /// Which growing index it is of, and how far that had grown.
    #[cfg(test)]
    pub(super) fn known_since(&self) -> (usize, usize) {
        (Arc::as_ptr(&self.known).addr(), self.step)
    }

    fn partly<T: Clone>(&self, kept: Option<&Kept<T>>) -> Partly<T> {
        let Some(Kept { step, answer }) = kept else { return Partly::Unknown };
        if *step >= self.step {
            return Partly::Whole(answer.clone());
        }
        let steps = lock(&self.known.steps);
        let since = steps.get(*step..self.step).unwrap_or_default();
        let added = Limits::of(since.iter().flatten().copied().collect());
        if added.ranges() > PLACES {
            return Partly::Unknown;
        }
        Partly::But(answer.clone(), added)
    }

    /// How often a stem stands in the store, as `ask` tells: in all of it, or within some chunks.
    pub(super) fn frequency(
        &self,
        stem: &str,
        ask: impl FnOnce(Option<&Limits>) -> rusqlite::Result<Frequency>,
    ) -> rusqlite::Result<Frequency> {
        let known = self.partly(lock(&self.known.frequencies).get(stem));
        let answer = match known {
            Partly::Whole(frequency) => return Ok(frequency),
            Partly::But(before, added) => before.and(ask(Some(&added))?),
            Partly::Unknown => ask(None)?,
        };
        let mut frequencies = lock(&self.known.frequencies);
        if frequencies.len() >= WORDS {
            frequencies.clear();
        }
        frequencies.insert(stem.to_owned(), Kept { step: self.step, answer });
        Ok(answer)
    }

    /// Where a stem stands, by chunk, ascending, as `ask` tells.
    pub(super) fn places(
        &self,
        stem: &str,
        weight: f64,
        ask: impl FnOnce(Option<&Limits>) -> rusqlite::Result<Vec<Find>>,
    ) -> rusqlite::Result<Arc<Vec<Find>>> {
        let known = self.partly(lock(&self.known.lists).places(stem, weight));
        let keep = |lists: &mut Lists, list| lists.keep_places(stem, weight, list);
        self.list(known, ask, |find| find.0, keep)
    }

    /// The chunks an expression matches, ascending, as `ask` tells.
    pub(super) fn chunks(
        &self,
        expression: &str,
        ask: impl FnOnce(Option<&Limits>) -> rusqlite::Result<Vec<u64>>,
    ) -> rusqlite::Result<Arc<Vec<u64>>> {
        let known = self.partly(lock(&self.known.lists).chunks.get(expression));
        let keep = |lists: &mut Lists, list| lists.keep_chunks(expression, list);
        self.list(known, ask, |id| *id, keep)
    }

    /// Asks for what is not known of a list, and keeps it.
    fn list<T: Copy>(
        &self,
        known: Partly<Arc<Vec<T>>>,
        ask: impl FnOnce(Option<&Limits>) -> rusqlite::Result<Vec<T>>,
        id: fn(&T) -> u64,
        keep: impl FnOnce(&mut Lists, List<T>),
    ) -> rusqlite::Result<Arc<Vec<T>>> {
        let answer = match known {
            Partly::Whole(list) => return Ok(list),
            Partly::But(before, added) => joined(before, ask(Some(&added))?, id),
            Partly::Unknown => Arc::new(ask(None)?),
        };
        let list = Kept { step: self.step, answer: Arc::clone(&answer) };
        keep(&mut lock(&self.known.lists), list);
        Ok(answer)
    }
}

/// A list and what was added to it, by chunk, ascending.
fn joined<T: Copy>(before: Arc<Vec<T>>, added: Vec<T>, id: fn(&T) -> u64) -> Arc<Vec<T>> {
    if added.is_empty() {
        return before;
    }
    let mut all = Vec::with_capacity(before.len() + added.len());
    all.extend_from_slice(&before);
    all.extend_from_slice(&added);
    // Two sorted pieces, mostly in order as they are.
    all.sort_by_key(id);
    Arc::new(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ChunkId;

    fn again<T>(_: Option<&Limits>) -> rusqlite::Result<T> {
        unreachable!("asked again")
    }

    fn nothing() -> Shared {
        Shared::new(State::default(), Counts::default())
    }

    fn range(first: u64, last: u64) -> ChunkRange {
        ChunkRange { first: ChunkId(first), last: ChunkId(last) }
    }

    #[test]
    fn a_word_is_asked_for_once() {
        let shared = nothing();
        let once = Frequency { chunks: 3, places: 7 };
        assert_eq!(shared.frequency("word", |_| Ok(once)).unwrap().places, 7);
        assert_eq!(shared.frequency("word", again).unwrap().chunks, 3);
        let full = vec![(1, (2.0, 1.0))];
        assert_eq!(*shared.places("word", 1.0, |_| Ok(full.clone())).unwrap(), full);
        assert_eq!(*shared.places("word", 1.0, again).unwrap(), full);
        let half = vec![(1, (1.0, 0.5))];
        assert_eq!(*shared.places("word", 0.5, |_| Ok(half.clone())).unwrap(), half);
        assert_eq!(*shared.chunks("\"word\"", |_| Ok(vec![1, 2])).unwrap(), [1, 2]);
        assert_eq!(*shared.chunks("\"word\"", again).unwrap(), [1, 2]);
    }

    #[test]
    fn only_what_was_added_is_asked_again() {
        let first = nothing();
        let within = |wanted: &'static [(u64, u64)], answer: &'static [u64]| {
            move |limits: Option<&Limits>| {
                let limits = limits.expect("all is asked again");
                let ranges = wanted.iter().map(|(first, last)| range(*first, *last));
                assert_eq!(*limits, Limits::of(ranges.collect()));
                Ok(answer.to_vec())
            }
        };
        first.chunks("word", |_| Ok(vec![3, 9])).unwrap();
        let second = first.grown(State::default(), Counts::default(), vec![range(10, 14)]);
        let third =
            second.grown(State::default(), Counts::default(), vec![range(4, 5), range(15, 19)]);
        let list = third.chunks("word", within(&[(4, 5), (10, 19)], &[4, 12])).unwrap();
        assert_eq!(*list, [3, 4, 9, 12]);
        assert_eq!(*third.chunks("word", again).unwrap(), [3, 4, 9, 12]);
        // A reader of the older state does not see the others.
        assert_eq!(*second.chunks("word", again).unwrap(), [3, 4, 9, 12]);
        // Somebody else was faster; and so scattered that one question is simpler.
        assert!(Arc::ptr_eq(&second.known, &third.known));
        assert!(!Arc::ptr_eq(
            &second.known,
            &second.grown(State::default(), Counts::default(), vec![]).known
        ));
        let scattered = (50..90).step_by(2).map(|id| range(id, id)).collect();
        let fourth = third.grown(State::default(), Counts::default(), scattered);
        let whole = |limits: Option<&Limits>| {
            assert_eq!(limits, None);
            Ok(vec![1])
        };
        assert_eq!(*fourth.chunks("word", whole).unwrap(), [1]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut shared = nothing();
        let list = vec![7; 9_000];
        let kept = |shared: &Shared| -> usize {
            lock(&shared.known.lists).chunks.values().map(|list| list.answer.len()).sum()
        };
        for word in 0..100 {
            let answer = shared.chunks(&word.to_string(), |_| Ok(list.clone())).unwrap();
            assert_eq!(answer.len(), list.len());
            assert!(0 < kept(&shared) && kept(&shared) <= ENTRIES);
        }
        // One that would push out all others is not kept, nor is one that becomes too long.
        let long = vec![7; ENTRIES / 2];
        assert_eq!(shared.chunks("long", |_| Ok(long.clone())).unwrap().len(), long.len());
        assert!(!lock(&shared.known.lists).chunks.contains_key("long"));
        for step in 0..2 * STEPS as u64 {
            shared = shared.grown(State::default(), Counts::default(), vec![range(step, step)]);
            shared.chunks("growing", |_| Ok(vec![step; 900])).unwrap();
            assert!(kept(&shared) <= ENTRIES);
            assert!(lock(&shared.known.steps).len() <= STEPS);
        }
    }
}
