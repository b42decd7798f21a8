//! Notices definitions of what a query names: a keyword and then the name, in many languages; in
//! data, a key that identifies its object and then the value.

use super::fold::fold;
use super::query::{Request, TermKind};
use super::tokens::parts;

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

/// Keys of data whose value says which object it is.
fn is_identifying(key: &str) -> bool {
    matches!(key.as_bytes(), b"name" | b"code" | b"id" | b"key" | b"title")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Elsewhere,
    AfterKeyword,
    /// Go: between the parentheses after `func`.
    InReceiver,
}

/// How a definition fits an identifier that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// Not at all.
    #[default]
    None,
    /// Its name ends in it.
    Ends,
    /// It is the same in another style: `parse_size` for `parseSize`.
    Style,
    /// It is the very same.
    Same,
}

/// Watches the words of a text go by.
pub(super) struct Definitions<'q> {
    words: Vec<String>,
    names: &'q [String],
    typed: &'q [String],
    repaired: Vec<&'q str>,
    state: State,
    end: usize,
    word_found: bool,
    fit: Fit,
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
        let words = request.words.iter().filter(|_| few).filter(identifier);
        Definitions {
            words: words.map(|word| fold(word)).collect(),
            names: &request.names,
            typed: &request.words,
            repaired: joined.flat_map(|term| &term.forms).map(|form| form.stem.as_str()).collect(),
            state: State::Elsewhere,
            end: 0,
            word_found: false,
            fit: Fit::None,
        }
    }

    /// A new text begins.
    pub(super) fn start(&mut self) {
        self.state = State::Elsewhere;
        self.end = 0;
        self.word_found = false;
        self.fit = Fit::None;
    }

    /// A word of the query is defined.
    pub(super) fn word_found(&self) -> bool {
        self.word_found
    }

    /// How well a definition fits an identifier that was asked for.
    pub(super) fn fit(&self) -> Fit {
        self.fit
    }

    /// The next word of the text, and the byte it starts at. True when it is a defined name.
    pub(super) fn meet(&mut self, text: &str, start: usize, word: &str) -> bool {
        let mut named = false;
        if self.state != State::Elsewhere {
            let gap = text.get(self.end..start).unwrap_or_default();
            (named, self.state) = match self.state {
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
            if named {
                self.defined(word);
            }
        }
        if is_keyword(word) {
            self.state = State::AfterKeyword;
        }
        self.end = start + word.len();
        if is_identifying(word)
            && let Some(value) = text.get(self.end..).and_then(quoted_value)
        {
            self.defined(value);
        }
        named
    }

    fn defined(&mut self, name: &str) {
        if self.words.is_empty() && self.names.is_empty() {
            return;
        }
        let folded = fold(name);
        self.word_found |= self.words.contains(&folded);
        let joined: String = folded.chars().filter(|c| c.is_alphanumeric()).collect();
        let fit = if self.typed.iter().any(|typed| typed == name) && parts(name).len() > 1 {
            Fit::Same
        } else if self.names.contains(&joined) || self.is_repaired(&joined) {
            Fit::Style
        } else if self
            .names
            .iter()
            .any(|wanted| wanted.len() > 6 && joined.ends_with(wanted.as_str()))
        {
            Fit::Ends
        } else {
            Fit::None
        };
        self.fit = self.fit.max(fit);
    }

    fn is_repaired(&self, joined: &str) -> bool {
        !self.repaired.is_empty()
            && self.repaired.contains(&super::porter::stem_of(joined).as_str())
    }
}

/// The short value after a quoted key: `": "value"`.
fn quoted_value(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('"')?.trim_start().strip_prefix(':')?.trim_start();
    let (value, _) = rest.strip_prefix('"')?.split_once('"')?;
    (value.len() <= 80).then_some(value)
}
