//! The forms a request looks for, by stem, with a quick no for all other words.

use std::collections::HashMap;

use memchr::memmem;

use super::beginnings::{Beginning, CODE_BITS, PAIRS};
use super::expand::FastBuild;
use super::query::{Alternative, Request, Term};
use super::rank::FIELD_TITLE;
use super::sketch::{Sketch, places};
use super::tally::Tally;

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
    /// By term: what its words begin with.
    hints: Vec<(&'q Term, Vec<Hint<'q>>)>,
}

/// What every word of a form begins with.
struct Hint<'q> {
    finder: memmem::Finder<'q>,
    /// The worth of the form.
    weight: f64,
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
        let hints = request.terms.iter().map(|term| (term, term.forms.iter().map(hint).collect()));
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

    /// The rarity of the terms that folded texts may hold: at least that of those they do hold.
    pub(super) fn promise<const N: usize>(&self, folded: [&str; N]) -> f64 {
        let holds = |hint: &Hint<'q>, text: &str| hint.finder.find(text.as_bytes()).is_some();
        self.promised(|hint| folded.iter().any(|text| holds(hint, text)))
    }

    /// The rarity of the terms that a text may hold: at least what its parts promise.
    pub(super) fn promise_of(&self, sketch: &Sketch) -> f64 {
        self.promised(|hint| sketch.has(&hint.places))
    }

    fn promised(&self, may_hold: impl Fn(&Hint<'q>) -> bool) -> f64 {
        let asked = self.hints.iter().filter(|(term, _)| term.counts());
        let held = asked.filter(|(_, hints)| hints.iter().any(&may_hold));
        held.map(|(term, _)| term.rarity).sum()
    }

    /// What a chunk may hold, by its folded title and text.
    pub(super) fn tally(&self, title: &str, body: &str) -> Tally {
        let mut tally = Tally::default();
        for (term, hints) in &self.hints {
            let (mut places, mut weight) = (0.0, 0.0_f64);
            for hint in hints {
                let titled = hint.finder.find(title.as_bytes()).is_some();
                let count = hint.finder.find_iter(body.as_bytes()).count();
                if titled || count > 0 {
                    let title = if titled { FIELD_TITLE } else { 0.0 };
                    places += hint.weight * (title + count as f64);
                    weight = weight.max(hint.weight);
                }
            }
            if weight > 0.0 {
                tally.add(term, places, weight);
            }
        }
        tally
    }
}

/// What every word of a form begins with: its stem, of which the last letter may be another, as in `parties`
/// and `party`, `rating` and `rate`.
fn hint(form: &Alternative) -> Hint<'_> {
    let stem = form.stem.as_str();
    let begins = stem.strip_suffix(['i', 'e']).unwrap_or(stem);
    let finder = memmem::Finder::new(begins);
    Hint { finder, weight: form.weight, places: places(begins.as_bytes()) }
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
            word in "[a-zA-Z0-9_é]{0,7}(at|iz|bl|nc)?(s|es|ies|y|ying|ed|eed|ing|e|er|ational|ization|ful|ically|ity|é)?",
            query in "[a-z]{4}",
        ) {
            let folded = fold(&word);
            let mut request = Request::parse(&query);
            request.terms[0].rarity = 1.0;
            request.terms[0].forms = vec![Alternative::of_stem(stem_of(&folded), 1.0)];
            let forms = Forms::new(&request);
            prop_assert!((forms.promise([&folded]) - 1.0).abs() < 1e-9, "{:?}", request.terms[0]);
            prop_assert!(folded.is_empty() || forms.begin_like(folded.as_bytes()));
            prop_assert!(word.is_empty() || !word.is_ascii() || forms.begin_like(word.as_bytes()));
        }
    }
}
