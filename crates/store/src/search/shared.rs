//! What the queries of one call share: what the index said of a word is asked once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::expand::FastBuild;
use super::lexicon::Counts;
use super::postings::Find;
use super::statistics::Frequency;
use crate::pool::lock;

/// Lists kept, at most.
const LISTS: usize = 256;

type Words<T> = Mutex<HashMap<String, T, FastBuild>>;

/// Answers of the index, for queries with the same limits. Each is of a state of the store no older than
/// the first query.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    counts: Mutex<Option<Counts>>,
    frequencies: Words<Frequency>,
    /// By stem: for each weight it is looked for with, where it stands.
    places: Words<Vec<(f64, Arc<[Find]>)>>,
    /// By expression: the chunks that match.
    chunks: Words<Arc<[u64]>>,
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
        lock(&self.frequencies).insert(stem.to_owned(), frequency);
        Ok(frequency)
    }

    /// Where a stem stands.
    pub(super) fn places(
        &self,
        stem: &str,
        weight: f64,
        ask: impl FnOnce() -> rusqlite::Result<Vec<Find>>,
    ) -> rusqlite::Result<Arc<[Find]>> {
        let of_weight = |(own, _): &&(f64, Arc<[Find]>)| own.to_bits() == weight.to_bits();
        if let Some(lists) = lock(&self.places).get(stem)
            && let Some((_, list)) = lists.iter().find(of_weight)
        {
            return Ok(Arc::clone(list));
        }
        let list: Arc<[Find]> = ask()?.into();
        let mut lists = lock(&self.places);
        if lists.len() < LISTS {
            lists.entry(stem.to_owned()).or_default().push((weight, Arc::clone(&list)));
        }
        Ok(list)
    }

    /// The chunks an expression matches.
    pub(super) fn chunks(
        &self,
        expression: &str,
        ask: impl FnOnce() -> rusqlite::Result<Vec<u64>>,
    ) -> rusqlite::Result<Arc<[u64]>> {
        if let Some(list) = lock(&self.chunks).get(expression) {
            return Ok(Arc::clone(list));
        }
        let list: Arc<[u64]> = ask()?.into();
        let mut lists = lock(&self.chunks);
        if lists.len() < LISTS {
            lists.insert(expression.to_owned(), Arc::clone(&list));
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
}
