//! Words of a text and what they are indexed as: identifiers with their parts and joined form,
//! runs of Chinese, Japanese and Korean as pairs of characters.
//!
//! Stored text, queries and the engine meet here: all three see the tokens of `expand`.

use super::fold::{fold_into, is_mark};

/// Longer words are cut: nobody asks for the end of a base64 line, and each one would be a term.
const MAX_WORD_BYTES: usize = 64;

/// A stretch of text that is searched for as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run<'a> {
    /// Letters, digits and underscores of scripts that put blanks between words.
    Word(&'a str),
    /// Han, kana or hangul: no blanks, or words too short for stemming to mean anything.
    Cjk(&'a str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other = 0,
    Word = 1,
    Cjk = 2,
}

pub(super) fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{3005}' | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3131}'..='\u{318e}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{3134f}')
}

fn class_of(character: char) -> Class {
    if is_cjk(character) {
        Class::Cjk
    } else if character == '_' || character.is_alphanumeric() || is_mark(character) {
        Class::Word
    } else {
        Class::Other
    }
}

/// The runs of a text, each with the byte it starts at.
pub(super) struct Runs<'a> {
    text: &'a str,
    at: usize,
}

pub(super) fn runs(text: &str) -> Runs<'_> {
    Runs { text, at: 0 }
}

/// Beside the classes: the byte is part of a longer character.
const BEYOND_ASCII: u8 = 3;

/// Texts are mostly ASCII, and this is the innermost loop of indexing and searching alike.
const CLASSES: [u8; 256] = {
    let mut classes = [BEYOND_ASCII; 256];
    let mut byte = 0;
    while byte < 128 {
        let word = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        classes[byte] = if word { Class::Word as u8 } else { Class::Other as u8 };
        byte += 1;
    }
    classes
};

impl Runs<'_> {
    /// Goes on from `at` while characters are of a class; answers where they end.
    fn end_of(&self, class: Class, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(at) {
            let found = CLASSES[usize::from(*byte)];
            if found == class as u8 {
                at += 1;
            } else if found == BEYOND_ASCII
                && let Some(character) = self.text.get(at..).and_then(|rest| rest.chars().next())
                && class_of(character) == class
            {
                at += character.len_utf8();
            } else {
                break;
            }
        }
        at
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = (usize, Run<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.end_of(Class::Other, self.at);
        let end = self.end_of(Class::Word, start);
        if end > start {
            self.at = end;
            return Some((start, Run::Word(self.text.get(start..end)?)));
        }
        let end = self.end_of(Class::Cjk, start);
        self.at = end;
        if end > start { Some((start, Run::Cjk(self.text.get(start..end)?))) } else { None }
    }
}

/// The parts of an identifier: `parseHTTPHeader2` is parse, HTTP, Header, 2. A word with one part,
/// and a hash or other noise that has no parts anyone would ask for, gives itself.
pub(super) fn parts(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for piece in word.split('_').filter(|piece| !piece.is_empty()) {
        let cuts = Cuts::of(piece);
        found.extend(cuts.parts(piece));
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    Upper,
    Lower,
    Digit,
}

fn letter(character: char) -> Letter {
    if character.is_ascii_digit() || character.is_numeric() {
        Letter::Digit
    } else if character.is_uppercase() {
        Letter::Upper
    } else {
        Letter::Lower
    }
}

/// Where a piece without underscores falls apart: the ends of its parts but the last.
struct Cuts {
    at: [u8; MAX_WORD_BYTES],
    count: usize,
}

impl Cuts {
    fn of(piece: &str) -> Self {
        let mut cuts = Cuts { at: [0; MAX_WORD_BYTES], count: 0 };
        if is_plain(piece) || is_hexadecimal_noise(piece) {
            return cuts;
        }
        let mut previous: Option<(usize, Letter)> = None;
        let mut upper_run = 0;
        for (at, character) in piece.char_indices().take_while(|(at, _)| *at < MAX_WORD_BYTES) {
            let now = letter(character);
            let cut = previous.and_then(|(last_at, last)| match (last, now) {
                (Letter::Upper, Letter::Lower) if upper_run > 1 => Some(last_at),
                (Letter::Lower, Letter::Upper) => Some(at),
                (last, now) if (last == Letter::Digit) != (now == Letter::Digit) => Some(at),
                _ => None,
            });
            if let Some(cut) = cut {
                cuts.at[cuts.count] = cut as u8;
                cuts.count += 1;
            }
            upper_run = if now == Letter::Upper { upper_run + 1 } else { 0 };
            previous = Some((at, now));
        }
        // base64 and its like: many parts, none of them a word.
        if cuts.count > 5 && piece.len() < (cuts.count + 1) * 3 {
            cuts.count = 0;
        }
        cuts
    }

    fn parts<'a>(&self, piece: &'a str) -> impl Iterator<Item = &'a str> {
        let ends = self.at[..self.count].iter().map(|at| usize::from(*at)).chain([piece.len()]);
        ends.scan(0, move |start, end| {
            let part = piece.get(*start..end);
            *start = end;
            part
        })
    }
}

/// One ASCII word (lower case, capitalized, capitals) or number: by far the most pieces.
pub(super) fn is_plain(piece: &str) -> bool {
    let bytes = piece.as_bytes();
    let Some((first, rest)) = bytes.split_first() else { return true };
    if first.is_ascii_digit() {
        rest.iter().all(u8::is_ascii_digit)
    } else {
        first.is_ascii_alphabetic()
            && (rest.iter().all(u8::is_ascii_lowercase)
                || (first.is_ascii_uppercase() && rest.iter().all(u8::is_ascii_uppercase)))
    }
}

/// A commit, a digest, an address: hexadecimal, seven digits or more, letters among them.
fn is_hexadecimal_noise(piece: &str) -> bool {
    piece.len() >= 7
        && piece.bytes().all(|byte| byte.is_ascii_hexdigit())
        && piece.bytes().any(|byte| byte.is_ascii_digit())
        && piece.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Reads the tokens of a word run, folded, in order: the parts of each piece and the piece joined,
/// then the whole joined.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    folded: String,
}

impl Splitter {
    /// Calls `each` with every token of `word`.
    pub(super) fn word(&mut self, word: &str, each: &mut dyn FnMut(&str)) {
        let word = word.get(..word.floor_char_boundary(MAX_WORD_BYTES)).unwrap_or(word);
        if is_plain(word) {
            if word.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase()) {
                self.give(word, each);
            } else {
                each(word);
            }
            return;
        }
        let mut pieces = 0;
        for piece in word.split('_').filter(|piece| !piece.is_empty()) {
            pieces += 1;
            let cuts = Cuts::of(piece);
            if cuts.count > 0 {
                cuts.parts(piece).for_each(|part| self.give(part, each));
            }
            self.give(piece, each);
        }
        if pieces > 1 {
            self.folded.clear();
            for piece in word.split('_') {
                fold_into(piece, &mut self.folded);
            }
            if !self.folded.is_empty() {
                each(&self.folded);
            }
        }
    }

    fn give(&mut self, part: &str, each: &mut dyn FnMut(&str)) {
        self.folded.clear();
        fold_into(part, &mut self.folded);
        if !self.folded.is_empty() {
            each(&self.folded);
        }
    }
}

/// Calls `each` with every pair of neighbours in a CJK run, then with its last character alone: so
/// that a single character is the beginning of some token wherever it stands.
pub(super) fn pairs<'a>(run: &'a str, each: &mut dyn FnMut(&'a str)) {
    let mut starts = run.char_indices().map(|(at, _)| at).chain([run.len()]);
    let (mut first, Some(mut second)) = (starts.next().unwrap_or(0), starts.next()) else { return };
    for third in starts {
        run.get(first..third).into_iter().for_each(&mut *each);
        (first, second) = (second, third);
    }
    run.get(first..second).into_iter().for_each(each);
}
