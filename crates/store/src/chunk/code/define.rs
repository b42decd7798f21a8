//! Tells whether a line begins a definition, and how it reads in a title.

use super::super::line::{is_word, trim, word};
use super::super::title;
use super::rules::Rules;
use super::shape::shaped;

/// A definition that a line begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) label: String,
    /// Whether what follows may lie in it: false for `type A = B;`.
    pub(super) opens: bool,
}

/// Characters of one definition in a title.
const LABEL_CHARS: usize = 80;

/// Words that may follow a name before its body.
const AFTER_NAME: [&[u8]; 10] = [
    b"extends",
    b"implements",
    b"for",
    b"where",
    b"permits",
    b"struct",
    b"interface",
    b"final",
    b"requires",
    b"as",
];

/// First letters of the words of a language: most lines show by theirs that they define nothing.
#[derive(Debug)]
pub(super) struct Letters([bool; 256]);

impl Letters {
    /// The first letters of the words of `rules`.
    pub(super) fn of(rules: &Rules) -> Self {
        let mut letters = [false; 256];
        for word in rules.modifiers.iter().chain(rules.definers).chain(rules.tails) {
            if let Some(first) = word.bytes().next() {
                letters[usize::from(first)] = true;
            }
        }
        Self(letters)
    }
}

/// The definition that `line` (without its indentation) begins.
pub(super) fn definition(
    line: &[u8],
    indent: u32,
    rules: &Rules,
    letters: &Letters,
) -> Option<Found> {
    let first = *line.first()?;
    let by_word = if letters.0[usize::from(first)] { keyword(line, rules) } else { None };
    let label =
        by_word.or_else(|| rules.shapes.iter().find_map(|shape| shaped(*shape, line, indent)))?;
    let label = title::clean_bytes(label.as_bytes(), LABEL_CHARS);
    let last = trim(line).last().copied();
    let whole = last == Some(b';') || (last == Some(b'}') && memchr::memchr(b'{', line).is_some());
    (!label.is_empty()).then_some(Found { label, opens: !whole })
}

/// `modifiers… definer name`.
fn keyword(line: &[u8], rules: &Rules) -> Option<String> {
    let mut rest = line;
    for _ in 0..8 {
        let hash = usize::from(rest.first() == Some(&b'#'));
        let length = hash + word(&rest[hash..]).len();
        let (head, after) = rest.split_at(length);
        let one_of = |words: &[&str], head: &[u8]| words.iter().any(|word| word.as_bytes() == head);
        if one_of(rules.tails, head) {
            return tail(head, after);
        }
        let next = word(trim(after));
        let known = |word: &[u8]| one_of(rules.definers, word) || one_of(rules.modifiers, word);
        let modifies = known(next) && matches!(after.first(), Some(b' ' | b'\t'));
        if one_of(rules.definers, head) && !modifies {
            return named(head, after, rules);
        }
        if head.is_empty() || !known(head) {
            return None;
        }
        rest = skip_group(after).trim_ascii_start();
        // extern "C"
        if let [b'"', inside @ ..] = rest {
            let close = memchr::memchr(b'"', inside)?;
            rest = inside[close + 1..].trim_ascii_start();
        }
    }
    None
}

/// The bracketed group right after a modifier: `pub(crate)`.
fn skip_group(after: &[u8]) -> &[u8] {
    match (after.first(), memchr::memchr(b')', after)) {
        (Some(b'('), Some(close)) => &after[close + 1..],
        _ => after,
    }
}

/// A definition that is named by the rest of its line.
fn tail(head: &[u8], after: &[u8]) -> Option<String> {
    if !matches!(after.first(), Some(b' ' | b'\t' | b'<' | b'(')) {
        return None;
    }
    let end = memchr::memchr(b'{', after).unwrap_or(after.len());
    let name = trim(&after[..end]);
    let name = if head == b"#define" { word(name) } else { name };
    let name = name.strip_suffix(b" where").unwrap_or(name);
    let separator = if after.first() == Some(&b' ') { " " } else { "" };
    Some(title::pair(&text(head), separator, &text(name)))
}

fn named(head: &[u8], after: &[u8], rules: &Rules) -> Option<String> {
    let mut rest = after;
    if head == b"macro_rules" {
        rest = rest.strip_prefix(b"!")?;
    }
    let star = rest.trim_ascii_start().strip_prefix(b"*");
    if star.is_none() && !matches!(rest.first(), Some(b' ' | b'\t' | b'(')) {
        return None;
    }
    rest = star.unwrap_or(rest).trim_ascii_start();
    let mut owner = String::new();
    if let [b'(', inside @ ..] = rest {
        // Go: func (r *Receiver[T]) name(…)
        if head != b"func" {
            return None;
        }
        let close = memchr::memchr(b')', inside)?;
        let receiver = trim(&inside[..close]).rsplit(|byte| matches!(byte, b' ' | b'*')).next()?;
        owner = text(word(receiver));
        rest = inside[close + 1..].trim_ascii_start();
    }
    let sign = |byte: u8| matches!(byte, b'.' | b':' | b'~' | b'?' | b'!' | b'-' | b'\\');
    let end = rest.iter().position(|&byte| !is_word(byte) && !sign(byte)).unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    let name = name.strip_suffix(b":").unwrap_or(name);
    let name = name.strip_suffix(b":").unwrap_or(name);
    if !name.iter().any(|&byte| is_word(byte)) {
        return None;
    }
    let tail = tail.trim_ascii_start();
    let prose = tail.first().is_some_and(u8::is_ascii_alphabetic);
    let body = matches!(trim(tail).last(), Some(b'{' | b':' | b'('));
    if prose && !rules.loose && !body && !AFTER_NAME.contains(&word(tail)) {
        return None;
    }
    let name = title::pair(&owner, ".", &text(name));
    Some(title::pair(&text(head), " ", &name))
}

pub(super) fn text(bytes: &[u8]) -> String {
    title::clean_bytes(bytes, LABEL_CHARS)
}
