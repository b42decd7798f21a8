//! Takes a query apart: terms, quoted phrases, identifier-like words. Any string is legal.

use std::collections::HashSet;

use super::fold::fold;
use super::stop::is_stop;
use super::term::Terms;
pub(super) use super::term::{Alternative, Term, TermKind};
use super::tokens::{Run, parts, runs};

/// Words asked for up to which a query is short.
const PROSE_FROM: f64 = 7.0;

/// A query, taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    /// What it asks for, in order.
    pub(super) terms: Vec<Term>,
    /// Its words as typed, without stop words unless there is nothing else.
    pub(super) words: Vec<String>,
    /// The whole query, folded, blanks collapsed, outer quotes gone.
    pub(super) whole: String,
    /// Quoted text, folded, blanks collapsed.
    pub(super) phrases: Vec<String>,
    /// Words that look like an identifier, path, flag, code or version, folded.
    pub(super) exact: Vec<String>,
    /// Names a definition of which would be the best answer, joined and folded.
    pub(super) names: Vec<String>,
    /// The query is a path: as typed, without what stands before its first component.
    pub(super) path: Option<String>,
}

impl Request {
    pub(super) fn parse(text: &str) -> Request {
        let typed = words(text);
        let hinted = typed.len() > 1 && is_identifier_like(text);
        let words: Vec<String> = if typed.iter().all(|word| is_stop(&fold(word))) {
            typed
        } else {
            typed.into_iter().filter(|word| !is_stop(&fold(word))).collect()
        };
        let mut terms = Terms::default();
        for word in words.iter().filter(|word| !(hinted && is_hint(&fold(word)))) {
            terms.add(word);
        }
        let Terms { found: terms, joined: mut names, .. } = terms;
        let plain = terms.iter().all(|term| term.kind == TermKind::Word);
        if names.is_empty() && plain && (2..=5).contains(&terms.len()) {
            names.push(terms.iter().map(|term| term.text.as_str()).collect());
        }
        Request {
            whole: collapse(&fold(text.trim().trim_matches('"'))),
            phrases: phrases(text),
            exact: words
                .iter()
                .filter(|word| is_exact(word, words.len() <= 4))
                .map(|word| fold(word).trim_matches(|c| ".,:;?!".contains(c)).to_owned())
                .collect(),
            names,
            path: path(text),
            terms,
            words,
        }
    }

    /// How far the query goes beyond a short one into prose, in words asked for: where it does, no
    /// text is expected to hold most of it.
    pub(super) fn prose(&self) -> f64 {
        let plain = self.phrases.is_empty() && self.exact.is_empty();
        if plain { (self.asked().count() as f64 - PROSE_FROM).max(0.0) } else { 0.0 }
    }

    /// What a searcher means word by word: everything but joined forms.
    pub(super) fn asked(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().filter(|term| term.counts())
    }
}

/// The words of a query between blanks, once each, without brackets and quotes.
fn words(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    text.split(|c: char| c.is_whitespace() || c.is_control() || "'\"(){}[]*:^~`".contains(c))
        .filter(|word| runs(word).next().is_some() && seen.insert(*word))
        .map(str::to_owned)
        .collect()
}

/// Blanks of any kind and number become one space.
pub(super) fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

fn phrases(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('"')
        && let Some((quoted, after)) = after.split_once('"')
    {
        if runs(quoted).next().is_some() {
            found.push(collapse(&fold(quoted)));
        }
        rest = after;
    }
    found
}

/// `camelCase` or `snake_case` somewhere.
fn is_identifier_like(text: &str) -> bool {
    text.contains('_')
        || text
            .as_bytes()
            .windows(2)
            .any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
}

/// A word that must stand in the text as it was typed: it has parts, digits beside letters, or
/// punctuation inside. Among many words a hyphen is only a hyphen: `root-relative path`.
fn is_exact(word: &str, few: bool) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let mixed = letters.windows(2).enumerate().any(|(at, pair)| match (pair[0], pair[1]) {
        (a, b) if a.is_ascii_alphabetic() && b.is_ascii_digit() => true,
        (a, b) if a.is_ascii_digit() && b.is_ascii_alphabetic() => true,
        ('-', b) if !few && at > 0 => b.is_ascii_digit() || b.is_ascii_uppercase(),
        ('.' | '/' | '-' | '\\' | '@' | '#', b) => b == '_' || b.is_alphanumeric(),
        _ => false,
    });
    mixed || runs(word).any(|(_, run)| matches!(run, Run::Word(run) if parts(run).nth(1).is_some()))
}

/// The query as a path, if it is one: components, or a file name, without blanks.
fn path(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches("./").trim_matches('/');
    let file = text.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty()
            && extension.len() <= 5
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let plain = !text.contains(char::is_whitespace) && !text.contains("//");
    (plain && (file || text.contains('/'))).then(|| text.to_owned())
}

/// Words beside an identifier that say what is wanted of it.
fn is_hint(word: &str) -> bool {
    matches!(
        word,
        "definition"
            | "defined"
            | "implementation"
            | "declared"
            | "function"
            | "class"
            | "struct"
            | "method"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(String, TermKind)> {
        Request::parse(text).terms.into_iter().map(|term| (term.text, term.kind)).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        terms(text).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn identifiers_give_their_joined_form_and_parts() {
        for text in ["parseHumanSize", "parse_human_size", "ParseHumanSize"] {
            assert_eq!(texts(text), ["parsehumansize", "parse", "human", "size"], "{text}");
        }
        assert_eq!(terms("and_then"), [("andthen".to_owned(), TermKind::Word)]);
        assert_eq!(Request::parse("andThen").names, ["andthen"]);
        assert_eq!(texts("HTTPServer2"), ["httpserver2", "http", "server", "2"]);
        assert_eq!(texts("3f9c0de12b"), ["3f9c0de12b"]);
    }

    #[test]
    fn stop_words_go_unless_nothing_else_is_there() {
        assert_eq!(texts("how do I configure the cache?"), ["configure", "cache"]);
        assert_eq!(texts("to be or not to be"), ["to", "be", "or", "not"]);
    }

    #[test]
    fn cjk_becomes_pairs_and_latin_glued_to_it_is_split() {
        assert_eq!(texts("用户身份"), ["用户", "户身", "身份"]);
        assert_eq!(texts("Rust语言"), ["rust", "语言"]);
        assert_eq!(texts("猫"), ["猫"]);
    }

    #[test]
    fn hints_beside_an_identifier_are_not_terms() {
        assert_eq!(texts("apply_secrets definition"), ["applysecrets", "apply", "secrets"]);
        assert_eq!(texts("class definition"), ["class", "definition"]);
    }

    #[test]
    fn punctuation_alone_asks_for_nothing() {
        for text in ["", "   ", "\"", "^", "*", "%", "\0", "()", "\"\"", "-", "…"] {
            assert!(terms(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn phrases_and_exact_words() {
        let request =
            Request::parse("find \"--error-on-warnings\" in src/main.rs or DEC-0054 \"a  B\"");
        assert_eq!(request.phrases, ["--error-on-warnings", "a b"]);
        assert_eq!(request.exact, ["--error-on-warnings", "src/main.rs", "dec-0054"]);
    }
}
