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
    Other,
    Word,
    Cjk,
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

// Kinds of bytes. Texts are mostly ASCII, and the loops over them are the innermost ones of indexing and
// searching alike.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;
/// Part of a longer character.
const BEYOND_ASCII: u8 = 16;

/// The kind of a byte; 0 when it belongs to no word.
const KINDS: [u8; 256] = {
    let mut kinds = [BEYOND_ASCII; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

/// The runs of a text, each with the byte it starts at.
pub(super) struct Runs<'a> {
    text: &'a str,
    at: usize,
    /// The kinds of bytes in the last word.
    kinds: u8,
}

pub(super) fn runs(text: &str) -> Runs<'_> {
    Runs { text, at: 0, kinds: 0 }
}

impl Runs<'_> {
    /// See [`is_plain`], of the word that came last.
    pub(super) fn was_plain(&self, word: &str) -> bool {
        match self.kinds {
            LOWER | UPPER | DIGIT => true,
            kinds => kinds == LOWER | UPPER && is_plain(word),
        }
    }

    /// The length of the character at `at` if it is of that class.
    fn beyond_ascii(&self, class: Class, at: usize) -> Option<usize> {
        let character = self.text.get(at..)?.chars().next()?;
        (class_of(character) == class).then_some(character.len_utf8())
    }

    /// Where the next word or run begins.
    fn next_start(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(at) {
            at += match KINDS[usize::from(*byte)] {
                0 => 1,
                BEYOND_ASCII => match self.beyond_ascii(Class::Other, at) {
                    Some(length) => length,
                    None => break,
                },
                _ => break,
            };
        }
        at
    }

    /// Where the word at `at` ends, and the kinds of its bytes.
    fn end_of_word(&self, mut at: usize) -> (usize, u8) {
        let bytes = self.text.as_bytes();
        let mut kinds = 0;
        while let Some(byte) = bytes.get(at) {
            let kind = KINDS[usize::from(*byte)];
            at += match kind {
                0 => break,
                BEYOND_ASCII => match self.beyond_ascii(Class::Word, at) {
                    Some(length) => length,
                    None => break,
                },
                _ => 1,
            };
            kinds |= kind;
        }
        (at, kinds)
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = (usize, Run<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next_start(self.at);
        let (mut end, kinds) = self.end_of_word(start);
        self.kinds = kinds;
        if end > start {
            self.at = end;
            return Some((start, Run::Word(self.text.get(start..end)?)));
        }
        while let Some(length) = self.beyond_ascii(Class::Cjk, end) {
            end += length;
        }
        self.at = end;
        if end > start { Some((start, Run::Cjk(self.text.get(start..end)?))) } else { None }
    }
}

/// What stands between the underscores of a word.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let start = rest.bytes().position(|byte| byte != b'_')?;
        let piece = rest.get(start..)?;
        let end = piece.bytes().position(|byte| byte == b'_').unwrap_or(piece.len());
        let (piece, after) = piece.split_at_checked(end)?;
        rest = after;
        Some(piece)
    })
}

/// The parts of an identifier: `parseHTTPHeader2` is parse, HTTP, Header, 2. A word with one part,
/// and a hash or other noise that has no parts anyone would ask for, gives itself.
pub(super) fn parts(word: &str) -> impl Iterator<Item = &str> {
    pieces(word).flat_map(|piece| Cuts::of(piece).parts(piece))
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

/// The same of an ASCII letter or digit.
fn letter_of_byte(byte: u8) -> Letter {
    match KINDS[usize::from(byte)] {
        DIGIT => Letter::Digit,
        UPPER => Letter::Upper,
        _ => Letter::Lower,
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
        if piece.is_ascii() {
            cuts.between(piece.bytes().map(letter_of_byte).enumerate());
        } else {
            cuts.between(piece.char_indices().map(|(at, character)| (at, letter(character))));
        }
        // base64 and its like: many parts, none of them a word.
        if cuts.count > 5 && piece.len() < (cuts.count + 1) * 3 {
            cuts.count = 0;
        }
        cuts
    }

    /// Notes where letters with their places fall apart.
    fn between(&mut self, letters: impl Iterator<Item = (usize, Letter)>) {
        let mut previous: Option<(usize, Letter)> = None;
        let mut upper_run = 0;
        for (at, now) in letters.take_while(|(at, _)| *at < MAX_WORD_BYTES) {
            let cut = previous.and_then(|(last_at, last)| match (last, now) {
                (Letter::Upper, Letter::Lower) if upper_run > 1 => Some(last_at),
                (Letter::Lower, Letter::Upper) => Some(at),
                (last, now) if (last == Letter::Digit) != (now == Letter::Digit) => Some(at),
                _ => None,
            });
            if let Some(cut) = cut {
                self.at[self.count] = cut as u8;
                self.count += 1;
            }
            upper_run = if now == Letter::Upper { upper_run + 1 } else { 0 };
            previous = Some((at, now));
        }
    }

    fn parts(self, piece: &str) -> impl Iterator<Item = &str> {
        let ends = (0..self.count).map(move |at| usize::from(self.at[at])).chain([piece.len()]);
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
        self.pieces(word, &|_| true, each);
    }

    /// The same of a word that is not plain. In place of a token for which `wanted` is false, `each` is called
    /// with nothing. `wanted` is asked of tokens not yet folded, or of their first four letters, in ASCII only.
    pub(super) fn compound(
        &mut self,
        word: &str,
        wanted: &dyn Fn(&[u8]) -> bool,
        each: &mut dyn FnMut(&str),
    ) {
        let word = word.get(..word.floor_char_boundary(MAX_WORD_BYTES)).unwrap_or(word);
        self.pieces(word, &|part: &[u8]| !part.is_ascii() || wanted(part), each);
    }

    fn pieces(&mut self, word: &str, wanted: &dyn Fn(&[u8]) -> bool, each: &mut dyn FnMut(&str)) {
        let mut count = 0;
        for piece in pieces(word) {
            count += 1;
            let cuts = Cuts::of(piece);
            if cuts.count > 0 {
                for part in cuts.parts(piece) {
                    if wanted(part.as_bytes()) { self.give(part, each) } else { each("") }
                }
            }
            if wanted(piece.as_bytes()) { self.give(piece, each) } else { each("") }
        }
        if count > 1 {
            // Enough to tell how the pieces begin together.
            let mut head = [0; 4];
            let letters = word.bytes().filter(|byte| *byte != b'_');
            let length = head.iter_mut().zip(letters).map(|(slot, byte)| *slot = byte).count();
            if !wanted(head.get(..length).unwrap_or_default()) {
                each("");
                return;
            }
            self.folded.clear();
            for piece in pieces(word) {
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
