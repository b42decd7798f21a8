//! Which chunks are worth reading, by what they are known to hold before they are read.

use std::cmp::Ordering;

use super::query::Term;
use super::rank::saturate;

/// Chunks read because of the terms they hold. 417 queries with known answers score the same with five times
/// as many; with two thirds, two of them miss theirs.
pub(super) const BEST_BY_SCORE: usize = 30;
/// Chunks read because they hold the most of what was asked.
pub(super) const BEST_BY_COVERAGE: usize = 15;

/// What a chunk holds, by its words alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    score: f64,
    /// The rarity of what was asked for that it holds.
    pub(super) coverage: f64,
}

impl Tally {
    /// Counts a term with the weighted number of its places, and the weight of its best form.
    pub(super) fn add(&mut self, term: &Term, places: f64, weight: f64) {
        self.score += term.rarity * weight * saturate(places, 1.0);
        if term.counts() {
            self.coverage += term.rarity * weight;
        }
    }

    fn by_score(a: &(u64, Tally), b: &(u64, Tally)) -> Ordering {
        b.1.score.total_cmp(&a.1.score).then(b.0.cmp(&a.0))
    }

    fn by_coverage(a: &(u64, Tally), b: &(u64, Tally)) -> Ordering {
        b.1.coverage.total_cmp(&a.1.coverage).then_with(|| Tally::by_score(a, b))
    }
}

/// The first few in some order; what is behind enough others is not even kept.
fn top(
    all: &[(u64, Tally)],
    most: usize,
    order: fn(&(u64, Tally), &(u64, Tally)) -> Ordering,
) -> Vec<u64> {
    let mut kept: Vec<(u64, Tally)> = Vec::with_capacity(2 * most);
    let mut last = None;
    for entry in all {
        if last.is_some_and(|last| order(entry, &last) == Ordering::Greater) {
            continue;
        }
        kept.push(*entry);
        if kept.len() == 2 * most {
            let (_, middle, _) = kept.select_nth_unstable_by(most - 1, order);
            last = Some(*middle);
            kept.truncate(most);
        }
    }
    if kept.len() > most {
        kept.select_nth_unstable_by(most - 1, order);
        kept.truncate(most);
    }
    kept.into_iter().map(|(id, _)| id).collect()
}

/// The best chunks by score, and those that have the most of what was asked.
pub(super) fn best(tallies: &[(u64, Tally)]) -> Vec<u64> {
    let mut chosen = top(tallies, BEST_BY_SCORE, Tally::by_score);
    for id in top(tallies, BEST_BY_COVERAGE, Tally::by_coverage) {
        if !chosen.contains(&id) {
            chosen.push(id);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_few_are_those_of_all_in_order(
            scores in prop::collection::vec((0u8..9, 0u8..4), 0..300),
            most in 1usize..50,
        ) {
            let tally = |(score, coverage): &(u8, u8)| {
                Tally { score: f64::from(*score), coverage: f64::from(*coverage) }
            };
            let mut all: Vec<(u64, Tally)> = (1..).zip(scores.iter().map(tally)).collect();
            for order in [Tally::by_score, Tally::by_coverage] {
                let mut found = top(&all, most, order);
                all.sort_by(order);
                let mut expected: Vec<u64> = all.iter().take(most).map(|(id, _)| *id).collect();
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
