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
    /// Ends of the lines.
    ends: Vec<usize>,
    /// Line, term, and how well the term is there.
    marks: Vec<(usize, usize, f64)>,
}

impl Lines {
    /// A new text begins.
    pub(super) fn start(&mut self, text: &str) {
        self.ends.clear();
        self.ends.extend(memchr::memchr_iter(b'\n', text.as_bytes()));
        self.marks.clear();
    }

    /// A form of a term stands at a byte of the text.
    pub(super) fn mark(&mut self, at: usize, term: usize, weight: f64) {
        let line = self.ends.partition_point(|end| *end < at);
        self.marks.push((line, term, weight));
    }

    /// The most rarity of asked terms that stand on one line, as parts of words, too. `lower` is
    /// the text, folded.
    pub(super) fn best(&mut self, lower: &str, request: &Request, parts: &Parts<'_>) -> f64 {
        // Folding may change where lines end, never how many there are.
        self.ends.clear();
        self.ends.extend(memchr::memchr_iter(b'\n', lower.as_bytes()));
        for (at, (term, finder)) in request.terms.iter().zip(&parts.0).enumerate() {
            if !term.counts() {
                continue;
            }
            let mut from = 0;
            while let Some(rest) = lower.as_bytes().get(from..)
                && let Some(found) = finder.find(rest)
            {
                let line = self.ends.partition_point(|end| *end < from + found);
                self.marks.push((line, at, PART_OF_WORD));
                from = self.ends.get(line).map_or(lower.len(), |end| end + 1);
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
