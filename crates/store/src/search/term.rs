//! What a query asks for: words, parts of identifiers, pairs of characters, and their forms.

use std::collections::HashSet;

use super::fold::fold;
use super::porter::{base_of, stem_of};
use super::stop::is_stop;
use super::tokens::{Run, pairs, parts, runs};

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermKind {
    /// A word as it was typed.
    Word,
    /// A part of an identifier.
    Part,
    /// An identifier without its separators.
    Joined,
    /// A pair of CJK characters, or one alone.
    Cjk,
}

/// One of the forms under which a term is looked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternative {
    /// The stem, as the engine stores it.
    pub(super) stem: String,
    /// The word without its inflection: other words of the stem are only derived from it. `None`:
    /// any word of the stem will do.
    pub(super) base: Option<String>,
    /// Its worth: 1 for the term itself, less for a repair.
    pub(super) weight: f64,
}

impl Alternative {
    /// A word as a form.
    pub(super) fn of_word(word: &str, weight: f64) -> Self {
        Alternative { stem: stem_of(word), base: Some(base_of(word)), weight }
    }

    /// A term of the index as a form.
    pub(super) fn of_stem(stem: String, weight: f64) -> Self {
        Alternative { stem, base: None, weight }
    }
}

/// One thing the query asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    /// The word, folded.
    pub(super) text: String,
    /// What it is.
    pub(super) kind: TermKind,
    /// Its forms; its own stem first.
    pub(super) forms: Vec<Alternative>,
    /// Rarity: the logarithm of how few chunks have it. Filled in when the store was asked.
    pub(super) rarity: f64,
    /// Known words it was taken for a slip of, since no text has it. Filled in likewise.
    pub(super) read_as: Vec<String>,
}

impl Term {
    fn new(text: String, kind: TermKind) -> Self {
        let form = match kind {
            TermKind::Cjk => Alternative::of_stem(text.clone(), 1.0),
            _ => Alternative::of_word(&text, 1.0),
        };
        Term { text, kind, forms: vec![form], rarity: 0.0, read_as: Vec::new() }
    }

    /// Joined forms stand beside their parts: they add to a score and never to what was asked.
    pub(super) fn counts(&self) -> bool {
        self.kind != TermKind::Joined
    }
}

/// Collects the terms of a query, each once.
#[derive(Default)]
pub(super) struct Terms {
    pub(super) found: Vec<Term>,
    /// Identifiers without their separators.
    pub(super) joined: Vec<String>,
    seen: HashSet<String>,
}

impl Terms {
    fn push(&mut self, text: String, kind: TermKind) {
        if !text.is_empty() && self.seen.insert(text.clone()) {
            self.found.push(Term::new(text, kind));
        }
    }

    /// Adds what a word of the query asks for.
    pub(super) fn add(&mut self, word: &str) {
        for (_, run) in runs(word) {
            match run {
                Run::Cjk(run) if run.chars().nth(1).is_none() => {
                    self.push(run.to_owned(), TermKind::Cjk);
                }
                Run::Cjk(run) => {
                    let mut found = Vec::new();
                    pairs(run, &mut |pair| found.push(pair.to_owned()));
                    // The single character at the end is an aid of the index, not a thing asked for.
                    found.pop();
                    for pair in found {
                        self.push(pair, TermKind::Cjk);
                    }
                }
                Run::Word(run) => self.word(run),
            }
        }
    }

    fn word(&mut self, run: &str) {
        let run = run.get(..run.floor_char_boundary(64)).unwrap_or(run);
        let parts: Vec<&str> = parts(run).collect();
        if parts.len() < 2 {
            self.push(fold(run.trim_matches('_')), TermKind::Word);
            return;
        }
        let joined = fold(&parts.concat());
        let telling: Vec<String> =
            parts.iter().map(|part| fold(part)).filter(|part| !is_stop(part)).collect();
        // `and_then` asks for itself: its parts say nothing.
        let kind = if telling.is_empty() { TermKind::Word } else { TermKind::Joined };
        if !self.joined.contains(&joined) {
            self.joined.push(joined.clone());
        }
        self.push(joined, kind);
        for part in telling {
            self.push(part, TermKind::Part);
        }
    }
}
