//! The forms a request looks for, by stem, with a quick no for all other words.

use std::collections::HashMap;

use memchr::memmem;

use super::beginnings::{Beginning, CODE_BITS, PAIRS};
use super::expand::FastBuild;
use super::query::{Alternative, Request};
use super::sketch::{Sketch, places};

/// What a stem may be a form of.
pub(super) struct Form<'q> {
    /// The term, by its place in the request.
    pub(super) term: usize,
    /// Its worth there.
    pub(super) weight: f64,
    /// See [`Alternative::base`].
    pub(super) base: Option<&'q str>,
}

/// The terms of a request by the stems of their forms.
pub(super) struct Forms<'q> {
    stems: HashMap<&'q str, Vec<Form<'q>>, FastBuild>,
    /// By the codes of two letters: those that may come third, one bit each.
    beginnings: [u32; PAIRS],
    /// By term: what its words begin with, and what the term is worth.
    hints: Vec<(f64, Vec<Hint<'q>>)>,
}

/// What every word of a form begins with.
struct Hint<'q> {
    finder: memmem::Finder<'q>,
    /// Its places in a sketch.
    places: Vec<usize>,
}

impl<'q> Forms<'q> {
    pub(super) fn new(request: &'q Request) -> Self {
        let mut stems: HashMap<&str, Vec<Form<'_>>, FastBuild> = HashMap::default();
        let mut beginnings = [0; PAIRS];
        for (at, term) in request.terms.iter().enumerate() {
            for form in &term.forms {
                let base = form.base.as_deref();
                let entry = stems.entry(&form.stem).or_default();
                entry.push(Form { term: at, weight: form.weight, base });
                let (two, third) = Beginning::of(form.stem.as_bytes()).parts();
                match form.stem.len() {
                    0 | 1 => beginnings[two..two + (1 << CODE_BITS)].fill(u32::MAX),
                    2 | 3 => beginnings[two] = u32::MAX,
                    _ => beginnings[two] |= 1 << third,
                }
            }
        }
        let hints =
            request.asked().map(|term| (term.rarity, term.forms.iter().map(hint).collect()));
        Forms { stems, beginnings, hints: hints.collect() }
    }

    /// The terms of which a stem is a form.
    pub(super) fn of(&self, stem: &str) -> &[Form<'q>] {
        self.stems.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Whether some form may begin as a word does, folded or in ASCII: never a wrong no.
    pub(super) fn begin_like(&self, word: &[u8]) -> bool {
        self.may_begin(Beginning::of(word))
    }

    /// The same of how a word begins.
    pub(super) fn may_begin(&self, beginning: Beginning) -> bool {
        let (two, third) = beginning.parts();
        self.beginnings[two] >> third & 1 != 0
    }

    /// The rarity of the terms that a folded text may hold: at least that of those it does hold.
    pub(super) fn promise(&self, folded: &str) -> f64 {
        self.promised(|hint| hint.finder.find(folded.as_bytes()).is_some())
    }

    /// The rarity of the terms that a text may hold: at least what its parts promise.
    pub(super) fn promise_of(&self, sketch: &Sketch) -> f64 {
        self.promised(|hint| sketch.has(&hint.places))
    }

    fn promised(&self, may_hold: impl Fn(&Hint<'q>) -> bool) -> f64 {
        let held = self.hints.iter().filter(|(_, hints)| hints.iter().any(&may_hold));
        held.map(|(rarity, _)| rarity).sum()
    }
}

/// What every word of a form begins with: its stem, of which the last letter may be another.
fn hint(form: &Alternative) -> Hint<'_> {
    let stem = form.stem.as_str();
    let last = stem.char_indices().next_back().map_or(0, |(at, _)| at);
    let begins = if last > 2 { stem.get(..last).unwrap_or(stem) } else { stem };
    Hint { finder: memmem::Finder::new(begins), places: places(begins.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fold::fold;
    use super::super::porter::stem_of;
    use super::*;

    proptest! {
        #[test]
        fn a_word_begins_like_its_stem(
            word in "[a-zA-Z0-9_é]{0,7}(s|es|ies|y|ying|ed|eed|ing|ational|ization|ful|é)?",
            query in "[a-z]{4}",
        ) {
            let folded = fold(&word);
            let mut request = Request::parse(&query);
            request.terms[0].forms.push(Alternative::of_stem(stem_of(&folded), 1.0));
            let forms = Forms::new(&request);
            prop_assert!(folded.is_empty() || forms.begin_like(folded.as_bytes()));
            prop_assert!(word.is_empty() || !word.is_ascii() || forms.begin_like(word.as_bytes()));
        }
    }
}
