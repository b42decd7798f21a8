//! Notices definitions of what a query names: a keyword and then the name, in many languages; in
//! data, a key, or one that identifies its object and then the value; in pages, an anchor.

use super::fold::{fold, fold_into};
use super::query::{Request, TermKind};
use super::tokens::parts;

/// Words that stand before the name of what is defined.
const KEYWORDS: &[&str] = &[
    "fn",
    "def",
    "func",
    "function",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "const",
    "let",
    "var",
    "macro_rules",
];

/// Keys of data whose value says which object it is.
const IDENTIFYING: &[&str] = &["name", "code", "id", "key", "title"];

/// By first letter, and by last letter: the lengths of words of both lists, one bit each. Most words are
/// neither.
const LENGTHS: [[u16; 256]; 2] = {
    let mut lengths = [[0; 256]; 2];
    let lists = [KEYWORDS, IDENTIFYING];
    let (mut list, mut at) = (0, 0);
    while list < lists.len() {
        if at < lists[list].len() {
            let word = lists[list][at].as_bytes();
            lengths[0][word[0] as usize] |= 1 << word.len();
            lengths[1][word[word.len() - 1] as usize] |= 1 << word.len();
            at += 1;
        } else {
            (list, at) = (list + 1, 0);
        }
    }
    lengths
};

/// Whether a word is in one of the lists.
pub(super) fn tells(word: &str) -> bool {
    let [first, .., last] = word.as_bytes() else { return false };
    let [by_first, by_last] = &LENGTHS;
    let lengths = by_first[usize::from(*first)] & by_last[usize::from(*last)];
    word.len() < 16
        && lengths >> word.len() & 1 != 0
        && (KEYWORDS.contains(&word) || IDENTIFYING.contains(&word))
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
    /// An anchor or a key of data has that name: a place to go to, and yet less than a definition.
    Data,
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
    /// The text is data: its keys are names.
    is_data: bool,
    state: State,
    end: usize,
    word_found: bool,
    fit: Fit,
    /// The name at hand, folded, and without what is no letter: kept, since most texts define something.
    folded: String,
    joined: String,
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
            is_data: false,
            state: State::Elsewhere,
            end: 0,
            word_found: false,
            fit: Fit::None,
            folded: String::new(),
            joined: String::new(),
        }
    }

    /// A new text begins; of data or not.
    pub(super) fn start(&mut self, is_data: bool) {
        self.is_data = is_data;
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

    /// Whether the word that comes next must be met, whatever it is; else only one that may tell.
    pub(super) fn await_word(&self) -> bool {
        self.state != State::Elsewhere || self.is_data
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
                self.defined(word, Fit::Same);
            }
        }
        let telling = tells(word);
        if telling && KEYWORDS.contains(&word) {
            self.state = State::AfterKeyword;
        }
        self.end = start + word.len();
        let after = text.get(self.end..).unwrap_or_default();
        if telling
            && IDENTIFYING.contains(&word)
            && let Some(value) = quoted_value(after)
        {
            self.defined(value, Fit::Same);
        } else if matches!(word, "id" | "name")
            && let Some(value) = attribute_value(after)
            && is_in_tag(text.get(..start).unwrap_or_default())
        {
            self.defined(value, Fit::Data);
        } else if self.is_data && is_key(text.get(..start).unwrap_or_default(), after) {
            self.defined(word, Fit::Data);
        }
        named
    }

    /// Something has that name; it fits an identifier no better than `most`.
    fn defined(&mut self, name: &str, most: Fit) {
        if self.words.is_empty() && self.names.is_empty() {
            return;
        }
        let Definitions { words, folded, joined, .. } = self;
        folded.clear();
        fold_into(name, folded);
        self.word_found |= words.contains(folded);
        joined.clear();
        joined.extend(folded.chars().filter(|c| c.is_alphanumeric()));
        let fit = if self.typed.iter().any(|typed| typed == name) && parts(name).nth(1).is_some() {
            Fit::Same
        } else if self.names.contains(&self.joined) || self.is_repaired(&self.joined) {
            Fit::Style
        } else if self
            .names
            .iter()
            .any(|wanted| wanted.len() > 6 && self.joined.ends_with(wanted.as_str()))
        {
            Fit::Ends
        } else {
            Fit::None
        };
        self.fit = self.fit.max(fit.min(most));
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

/// The short value of an attribute: `="value"`.
fn attribute_value(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('=')?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (value, _) = rest.get(1..)?.split_once(quote)?;
    (value.len() <= 80).then_some(value)
}

/// Whether a tag is open where a text ends.
fn is_in_tag(before: &str) -> bool {
    let bytes = before.as_bytes();
    let near = bytes.get(bytes.len().saturating_sub(200)..).unwrap_or_default();
    memchr::memrchr2(b'<', b'>', near).and_then(|at| near.get(at)) == Some(&b'<')
}

/// Whether the word between two texts is a key: first on its line or quoted, and a colon or an
/// equals sign behind it.
fn is_key(before: &str, after: &str) -> bool {
    let quoted = before.ends_with('"') && after.starts_with('"');
    let after = if quoted { after.get(1..).unwrap_or_default() } else { after };
    let assigned = after.trim_start_matches([' ', '\t']).starts_with([':', '=']);
    assigned
        && (quoted || {
            let line = before.rsplit('\n').next().unwrap_or_default();
            line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'-'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(query: &str, text: &str, is_data: bool) -> Fit {
        let request = Request::parse(query);
        let mut definitions = Definitions::new(&request);
        definitions.start(is_data);
        for (start, run) in super::super::tokens::runs(text) {
            if let super::super::tokens::Run::Word(word) = run {
                definitions.meet(text, start, word);
            }
        }
        definitions.fit()
    }

    #[test]
    fn each_kind_of_definition_has_its_fit() {
        for (query, text, is_data, expected) in [
            ("parse_size", "fn parse_size() {}", false, Fit::Same),
            ("parseSize", "def parse_size():", false, Fit::Style),
            ("ChildLoggerFactory", "function defaultChildLoggerFactory()", false, Fit::Ends),
            ("parse_size", "let x = parse_size();", false, Fit::None),
            ("ERR_NOT_FOUND", "<td><a id=\"err_not_found\">ERR_NOT_FOUND</a>", false, Fit::Data),
            ("ERR_NOT_FOUND", "<a class='x' name='err_not_found'></a>", false, Fit::Data),
            ("ERR_NOT_FOUND", "call(id=\"err_not_found\")", false, Fit::None),
            ("cache_dir", "{\"cache_dir\": \"/var\"}", true, Fit::Data),
            ("cache_dir", "build:\n  - cache-dir: x\n  cache_dir: /var\n", true, Fit::Data),
            ("cache_dir", "cache_dir = '/var'", true, Fit::Data),
            ("cache_dir", "cache_dir = '/var'", false, Fit::None),
            ("cache_dir", "path: $cache_dir: x", true, Fit::None),
        ] {
            assert_eq!(fit(query, text, is_data), expected, "{query} in {text}");
        }
    }
}
