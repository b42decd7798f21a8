//! The forms a request looks for, by stem, with a quick no for all other words.

use std::collections::HashMap;

use memchr::memmem;

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
    beginnings: Box<[bool]>,
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
        let mut beginnings = vec![false; 65_536].into_boxed_slice();
        for (at, term) in request.terms.iter().enumerate() {
            for form in &term.forms {
                let base = form.base.as_deref();
                let entry = stems.entry(&form.stem).or_default();
                entry.push(Form { term: at, weight: form.weight, base });
                match beginning(&form.stem) {
                    (first, Some(second)) => beginnings[first << 8 | second] = true,
                    (first, None) => beginnings[first << 8..(first + 1) << 8].fill(true),
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

    /// Whether some form begins as a word does.
    pub(super) fn begin_like(&self, word: &str) -> bool {
        match beginning(word) {
            (first, Some(second)) => self.beginnings[first << 8 | second],
            (first, None) => self.beginnings[first << 8],
        }
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

/// The first two bytes of a token in lower case, as far as stemming leaves them alone: y may
/// become i.
fn beginning(token: &str) -> (usize, Option<usize>) {
    let byte = |at: usize| token.as_bytes().get(at).map(u8::to_ascii_lowercase);
    let y_as_i = |byte: u8| usize::from(if byte == b'y' { b'i' } else { byte });
    (usize::from(byte(0).unwrap_or(0)), byte(1).map(y_as_i))
}
