//! Notices definitions of what a query names, in many languages: a keyword, then the name.

use super::query::{Request, TermKind};
use super::tokens::fold;

/// Words that stand before the name of what is defined.
fn is_keyword(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        b"fn"
            | b"def"
            | b"func"
            | b"function"
            | b"class"
            | b"struct"
            | b"enum"
            | b"trait"
            | b"interface"
            | b"type"
            | b"const"
            | b"let"
            | b"var"
            | b"macro_rules"
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Elsewhere,
    AfterKeyword,
    /// Go: between the parentheses after `func`.
    InReceiver,
}

/// Watches the words of a text go by.
pub(super) struct Definitions<'q> {
    words: Vec<String>,
    names: &'q [String],
    repaired: Vec<&'q str>,
    state: State,
    end: usize,
    word_found: bool,
    name_found: f64,
}

impl<'q> Definitions<'q> {
    pub(super) fn new(request: &'q Request) -> Self {
        let identifier = |word: &&String| {
            let mut characters = word.chars();
            characters.next().is_some_and(|c| c == '_' || c.is_alphabetic())
                && characters.all(|c| c == '_' || c.is_alphanumeric())
        };
        let few = request.words.len() <= 3;
        let joined = request.terms.iter().filter(|term| term.kind == TermKind::Joined);
        Definitions {
            words: request
                .words
                .iter()
                .filter(|_| few)
                .filter(identifier)
                .map(|w| fold(w))
                .collect(),
            names: &request.names,
            repaired: joined.flat_map(|term| &term.forms).map(|form| form.stem.as_str()).collect(),
            state: State::Elsewhere,
            end: 0,
            word_found: false,
            name_found: 0.0,
        }
    }

    /// A new text begins.
    pub(super) fn start(&mut self) {
        self.state = State::Elsewhere;
        self.end = 0;
        self.word_found = false;
        self.name_found = 0.0;
    }

    pub(super) fn word_found(&self) -> bool {
        self.word_found
    }

    /// 1 for an identifier asked for, 0.4 for one that ends in it, else 0.
    pub(super) fn name_found(&self) -> f64 {
        self.name_found
    }

    /// The next word of the text, and the byte it starts at.
    pub(super) fn meet(&mut self, text: &str, start: usize, word: &str) {
        if self.state != State::Elsewhere {
            let gap = text.get(self.end..start).unwrap_or_default();
            let (named, next) = match self.state {
                State::AfterKeyword if gap.trim_start_matches('!').trim().is_empty() => {
                    (true, State::Elsewhere)
                }
                State::AfterKeyword if gap.trim_start().starts_with('(') && !gap.contains(')') => {
                    (false, State::InReceiver)
                }
                State::InReceiver if gap.contains(')') => {
                    (gap.trim_end().ends_with(')'), State::Elsewhere)
                }
                State::InReceiver if !gap.contains('\n') => (false, State::InReceiver),
                _ => (false, State::Elsewhere),
            };
            self.state = next;
            if named {
                self.defined(word);
            }
        }
        if is_keyword(word) {
            self.state = State::AfterKeyword;
        }
        self.end = start + word.len();
    }

    fn defined(&mut self, name: &str) {
        if self.words.is_empty() && self.names.is_empty() {
            return;
        }
        let name = fold(name);
        self.word_found |= self.words.contains(&name);
        let joined = name.replace('_', "");
        if self.names.contains(&joined) || self.is_repaired(&joined) {
            self.name_found = 1.0;
        } else if self
            .names
            .iter()
            .any(|wanted| wanted.len() > 6 && joined.ends_with(wanted.as_str()))
        {
            self.name_found = self.name_found.max(0.4);
        }
    }

    fn is_repaired(&self, joined: &str) -> bool {
        !self.repaired.is_empty()
            && self.repaired.contains(&super::porter::stem_of(joined).as_str())
    }
}
