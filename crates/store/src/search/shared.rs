//! What queries share: what the index said of a word is asked once. Queries of everything share it for as
//! long as nothing is added or removed, others within their call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::expand::FastBuild;
use super::postings::Find;
use super::statistics::Frequency;
use super::word_lists::Counts;
use crate::pool::lock;

/// Entries of lists that are kept: at most 3 MiB.
const ENTRIES: usize = 128 * 1_024;

/// The longest list that is kept.
pub(super) const LONGEST_KEPT: u64 = ENTRIES as u64 / 4;

/// Words whose frequency is kept.
const WORDS: usize = 16 * 1_024;

type Words<T> = HashMap<String, T, FastBuild>;

/// Answers of the index, for queries with the same limits. Each is of a state of the store no older than
/// the first query.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    counts: Mutex<Option<Counts>>,
    frequencies: Mutex<Words<Frequency>>,
    lists: Mutex<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    /// By stem: for each weight it is looked for with, where it stands.
    places: Words<Vec<(f64, Arc<Vec<Find>>)>>,
    /// By expression: the chunks that match.
    chunks: Words<Arc<Vec<u64>>>,
    /// Entries of all lists.
    entries: usize,
}

impl Lists {
    /// Makes room for a list; `false` where it is too long for that.
    fn admit(&mut self, entries: usize) -> bool {
        if entries as u64 > LONGEST_KEPT {
            return false;
        }
        if self.entries + entries > ENTRIES {
            // Words asked for again are soon there again.
            *self = Lists::default();
        }
        // The name and the table's part of a list count like some entries.
        self.entries += entries + 8;
        true
    }
}

impl Shared {
    /// How much the index holds, as `ask` tells the first time.
    pub(super) fn counts(
        &self,
        ask: impl FnOnce() -> rusqlite::Result<Counts>,
    ) -> rusqlite::Result<Counts> {
        let mut counts = lock(&self.counts);
        if let Some(known) = *counts {
            return Ok(known);
        }
        let asked = ask()?;
        *counts = Some(asked);
        Ok(asked)
    }

    /// How often a stem stands in the store, as `ask` tells the first time.
    pub(super) fn frequency(
        &self,
        stem: &str,
        ask: impl FnOnce() -> rusqlite::Result<Frequency>,
    ) -> rusqlite::Result<Frequency> {
        if let Some(known) = lock(&self.frequencies).get(stem) {
            return Ok(*known);
        }
        let frequency = ask()?;
        let mut known = lock(&self.frequencies);
        if known.len() >= WORDS {
            known.clear();
        }
        known.insert(stem.to_owned(), frequency);
        Ok(frequency)
    }

    /// Where a stem stands.
    pub(super) fn places(
        &self,
        stem: &str,
        weight: f64,
        ask: impl FnOnce() -> rusqlite::Result<Vec<Find>>,
    ) -> rusqlite::Result<Arc<Vec<Find>>> {
        let of_weight = |(own, _): &&(f64, Arc<Vec<Find>>)| own.to_bits() == weight.to_bits();
        if let Some(lists) = lock(&self.lists).places.get(stem)
            && let Some((_, list)) = lists.iter().find(of_weight)
        {
            return Ok(Arc::clone(list));
        }
        let list: Arc<Vec<Find>> = Arc::new(ask()?);
        let mut lists = lock(&self.lists);
        if lists.admit(list.len()) {
            lists.places.entry(stem.to_owned()).or_default().push((weight, Arc::clone(&list)));
        }
        Ok(list)
    }

    /// The chunks an expression matches.
    pub(super) fn chunks(
        &self,
        expression: &str,
        ask: impl FnOnce() -> rusqlite::Result<Vec<u64>>,
    ) -> rusqlite::Result<Arc<Vec<u64>>> {
        if let Some(list) = lock(&self.lists).chunks.get(expression) {
            return Ok(Arc::clone(list));
        }
        let list: Arc<Vec<u64>> = Arc::new(ask()?);
        let mut lists = lock(&self.lists);
        if lists.admit(list.len()) {
            lists.chunks.insert(expression.to_owned(), Arc::clone(&list));
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_asked_for_once() {
        let shared = Shared::default();
        let once = Frequency { chunks: 3, places: 7 };
        assert_eq!(shared.frequency("word", || Ok(once)).unwrap().places, 7);
        assert_eq!(shared.frequency("word", || unreachable!("asked again")).unwrap().chunks, 3);
        let full = vec![(1, (2.0, 1.0))];
        assert_eq!(*shared.places("word", 1.0, || Ok(full.clone())).unwrap(), full);
        assert_eq!(*shared.places("word", 1.0, || unreachable!("asked again")).unwrap(), full);
        let half = vec![(1, (1.0, 0.5))];
        assert_eq!(*shared.places("word", 0.5, || Ok(half.clone())).unwrap(), half);
        assert_eq!(*shared.chunks("\"word\"", || Ok(vec![1, 2])).unwrap(), [1, 2]);
        assert_eq!(*shared.chunks("\"word\"", || unreachable!("asked again")).unwrap(), [1, 2]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let shared = Shared::default();
        let list = vec![7; 9_000];
        for word in 0..100 {
            let answer = shared.chunks(&word.to_string(), || Ok(list.clone())).unwrap();
            assert_eq!(answer.len(), list.len());
            let lists = lock(&shared.lists);
            let kept: usize = lists.chunks.values().map(|list| list.len()).sum();
            assert!(0 < kept && kept <= ENTRIES);
        }
        // One that would push out all others is not kept.
        let long = vec![7; ENTRIES / 2];
        assert_eq!(shared.chunks("long", || Ok(long.clone())).unwrap().len(), long.len());
        assert!(!lock(&shared.lists).chunks.contains_key("long"));
    }
}
