//! What was seen of text that has no full-text rows yet: which of its chunks are worth reading.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::candidates::BY_PHRASE;
use super::glance::Glance;
use super::tally::{Tally, best};
use crate::store::ChunkText;

/// Chunks that are noted of those that promise the same. To note one takes a tenth of reading it.
const NOTED: usize = 128;

/// Chunks held at a time: those that can no longer be among the best go.
const HELD: usize = 256;

/// The most promising chunks seen so far.
#[derive(Default)]
pub(super) struct Noted {
    /// The best promises, the least one first.
    promises: BinaryHeap<Reverse<u64>>,
    tallies: Vec<(u64, Tally)>,
    /// Those that hold something quoted, a name as it was typed, or the query, word by word.
    by_phrase: Vec<u64>,
    chunks: BTreeMap<u64, ChunkText>,
}

impl Noted {
    /// Whether something of that promise may be among the best.
    pub(super) fn may_admit(&self, promise: f64) -> bool {
        let better = |Reverse(least): &Reverse<u64>| promise.to_bits() > *least;
        promise > 0.0 && (self.promises.len() < NOTED || self.promises.peek().is_some_and(better))
    }

    /// Whether more chunks with something quoted are wanted.
    pub(super) fn wants_phrases(&self) -> bool {
        self.by_phrase.len() < BY_PHRASE
    }

    /// Notes a chunk if it may be among the best.
    pub(super) fn note(&mut self, id: u64, chunk: &ChunkText, glance: &Glance<'_, '_>) {
        let promise = glance.promise();
        let by_words = self.may_admit(promise);
        let by_phrase = self.wants_phrases() && (glance.quotes() || by_words && glance.says_it());
        if by_words {
            if self.promises.len() >= NOTED {
                self.promises.pop();
            }
            // The bits of positive numbers are in their order.
            self.promises.push(Reverse(promise.to_bits()));
            self.tallies.push((id, glance.tally()));
        }
        if by_phrase {
            self.by_phrase.push(id);
        }
        if by_words || by_phrase {
            self.chunks.insert(id, chunk.clone());
        }
        if self.chunks.len() >= HELD {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        let best = best(&self.tallies);
        self.tallies.retain(|(id, _)| best.contains(id));
        self.chunks.retain(|id, _| best.contains(id) || self.by_phrase.contains(id));
    }

    /// The best, in the order they are stored.
    pub(super) fn best(mut self) -> BTreeMap<u64, ChunkText> {
        self.thin_out();
        self.chunks
    }
}

#[cfg(test)]
mod tests {
    use crate::core::Core;
    use crate::{Label, NewDocument, Origin};

    /// All chunks promise the same, and there are more than are noted.
    #[test]
    fn what_is_quoted_or_named_is_found_behind_much_that_has_the_words() {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::beneath(folder.path());
        let mut log = String::new();
        for line in 0..12_000 {
            let request = line * 7_919 % 100_000;
            log.push_str(&match line {
                9_001 => String::from("took worker by surprise\n"),
                9_501 => String::from("took_worker = true\n"),
                _ => format!("request {request} of worker {} took {line} us\n", line % 17),
            });
        }
        let new = NewDocument::new(Label::Fixed("log"), Origin::Run);
        core.add(&new, &mut log.as_bytes(), None).unwrap();
        for (text, wanted) in [
            ("\"took worker\"", "worker by surprise"),
            ("took_worker", "took_worker = true"),
            ("took 11999 us", "took 11999 us"),
        ] {
            let found = core.found(text, 1);
            assert!(found.hits[0].snippet.contains(wanted), "{text}: {found:?}");
        }
        core.background.stop();
    }
}
