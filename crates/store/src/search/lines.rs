//! Finds the line that holds the most of what was asked.

use memchr::memmem;

use super::query::Request;

/// What a word is worth that only contains what was asked for.
const PART_OF_WORD: f64 = 0.8;

/// Looks for the words of a request as parts of others.
pub(super) struct Parts<'q>(Vec<memmem::Finder<'q>>);

impl<'q> Parts<'q> {
    pub(super) fn new(request: &'q Request) -> Self {
        Parts(request.terms.iter().map(|term| memmem::Finder::new(&term.text)).collect())
    }
}

/// What stands on the lines of a text.
#[derive(Default)]
pub(super) struct Lines {
    /// Line, term, and how well the term is there.
    marks: Vec<(usize, usize, f64)>,
    last: Place,
}

/// A byte of a text, and the line it is on.
#[derive(Clone, Copy, Default)]
struct Place {
    at: usize,
    line: usize,
}

impl Place {
    /// A later byte of the same text.
    fn advance(&mut self, text: &str, at: usize) {
        let between = text.as_bytes().get(self.at..at).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', between).count();
        self.at = at;
    }
}

impl Lines {
    /// A new text begins.
    pub(super) fn start(&mut self) {
        self.marks.clear();
        self.last = Place::default();
    }

    /// A form of a term stands at a byte of the text, not before the last one.
    pub(super) fn mark(&mut self, text: &str, at: usize, term: usize, weight: f64) {
        self.last.advance(text, at);
        self.marks.push((self.last.line, term, weight));
    }

    /// The most rarity of asked terms that stand on one line, as parts of words, too. `lower` is
    /// the text, folded: lines end elsewhere in it, but there are as many.
    pub(super) fn best(&mut self, lower: &str, request: &Request, parts: &Parts<'_>) -> f64 {
        for (at, (term, finder)) in request.terms.iter().zip(&parts.0).enumerate() {
            if !term.counts() {
                continue;
            }
            let mut place = Place::default();
            while let Some(rest) = lower.as_bytes().get(place.at..)
                && let Some(found) = finder.find(rest)
            {
                place.advance(lower, place.at + found);
                self.marks.push((place.line, at, PART_OF_WORD));
                let rest = lower.as_bytes().get(place.at..).unwrap_or_default();
                let Some(end) = memchr::memchr(b'\n', rest) else { break };
                place.advance(lower, place.at + end + 1);
            }
        }
        self.marks
            .sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| b.2.total_cmp(&a.2)));
        self.marks.dedup_by_key(|(line, term, _)| (*line, *term));
        let mut best = 0f64;
        for line in self.marks.chunk_by(|a, b| a.0 == b.0) {
            let rarity = |(_, term, weight): &(usize, usize, f64)| {
                let term = request.terms.get(*term).filter(|term| term.counts());
                term.map_or(0.0, |term| term.rarity * weight)
            };
            best = best.max(line.iter().map(rarity).sum());
        }
        best
    }
}
