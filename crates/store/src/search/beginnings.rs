//! How the tokens of a text begin, noted once: a query then looks at no word but those that may be its own.
//!
//! Reading every word of a candidate took more than a quarter of a search. The notes belong to the text
//! alone, so they are kept with its decoded block and serve every query.

use std::cell::Cell;

use super::definition::tells;
use super::tokens::{Run, Splitter, runs};

/// Letters have a code of five bits, the same in either case, and so have all other bytes, several the same one.
pub(super) const CODE_BITS: u32 = 5;
/// How many beginnings of two bytes there are.
pub(super) const PAIRS: usize = 1 << (2 * CODE_BITS);
/// Behind the three codes: the word is one that stands before a name.
const TELLING: u32 = 1 << (3 * CODE_BITS);
const START_BITS: u32 = 16;

/// The code of a byte. Stemming may make y an i.
const CODES: [u8; 256] = {
    let mut codes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        codes[byte] = match (byte as u8).to_ascii_lowercase() {
            b'y' => b'i' & 31,
            letter @ b'a'..=b'z' => letter & 31,
            b'0'..=b'4' => 27,
            b'5'..=b'9' => 28,
            other if other >= 128 => 29 + other % 3,
            _ => 0,
        };
        byte += 1;
    }
    codes
};

/// How a token begins: the codes of its first three bytes. Stems of four bytes and more have the first
/// three bytes of their words; 0 stands for what is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beginning(u32);

impl Beginning {
    pub(super) fn of(token: &[u8]) -> Self {
        let code = |at: usize| token.get(at).map_or(0, |byte| CODES[usize::from(*byte)]);
        Beginning(
            u32::from(code(0)) << (2 * CODE_BITS)
                | u32::from(code(1)) << CODE_BITS
                | u32::from(code(2)),
        )
    }

    /// The first two codes as a number below [`PAIRS`], and the third.
    pub(super) fn parts(self) -> (usize, u32) {
        ((self.0 >> CODE_BITS) as usize % PAIRS, self.0 % (1 << CODE_BITS))
    }
}

/// The beginning of a token, whether its word stands before a name, and where that word starts.
#[derive(Clone, Copy, Debug)]
struct Note(u32);

impl Note {
    /// Texts that are searched (chunks, titles, paths) are shorter than 64 KiB; behind that all seems to
    /// stand in one place.
    fn new(beginning: Beginning, telling: bool, start: usize) -> Self {
        let telling = if telling { TELLING } else { 0 };
        Note(
            (beginning.0 | telling) << START_BITS
                | u32::from(u16::try_from(start).unwrap_or(u16::MAX)),
        )
    }

    fn beginning(self) -> Beginning {
        Beginning(self.0 >> START_BITS & (TELLING - 1))
    }

    fn is_telling(self) -> bool {
        self.0 >> START_BITS & TELLING != 0
    }

    fn start(self) -> usize {
        self.0 as usize % (1 << START_BITS)
    }
}

/// The notes on a text: one for each token.
#[derive(Debug, Default)]
pub(crate) struct Beginnings(Vec<Note>);

/// A word, or a run of Chinese, Japanese or Korean: its tokens stand in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The byte it starts at.
    pub(super) start: usize,
    /// The place of its first token.
    pub(super) first: usize,
    /// The place behind its last token.
    pub(super) end: usize,
    /// See [`tells`].
    pub(super) telling: bool,
}

impl Beginnings {
    /// Those of a text without a word.
    pub(crate) const NONE: &Self = &Beginnings(Vec::new());

    pub(crate) fn of(text: &str) -> Self {
        let mut beginnings = Beginnings(Vec::with_capacity(text.len() / 4));
        beginnings.note(text, &mut Splitter::default());
        beginnings.0.shrink_to_fit();
        beginnings
    }

    /// Makes these the notes on another text.
    pub(super) fn note(&mut self, text: &str, splitter: &mut Splitter) {
        let Beginnings(notes) = self;
        notes.clear();
        let mut runs = runs(text);
        while let Some((start, run)) = runs.next() {
            match run {
                Run::Word(word) if runs.was_plain(word) => {
                    notes.push(Note::new(Beginning::of(word.as_bytes()), tells(word), start));
                }
                Run::Word(word) => {
                    let telling = tells(word);
                    let seen = Cell::new(Beginning(0));
                    // None is wanted: ASCII is not even folded.
                    let look = |part: &[u8]| {
                        seen.set(Beginning::of(part));
                        false
                    };
                    splitter.compound(word, &look, &mut |token| {
                        let begins = if token.is_empty() {
                            seen.get()
                        } else {
                            Beginning::of(token.as_bytes())
                        };
                        notes.push(Note::new(begins, telling, start));
                    });
                }
                Run::Cjk(run) => notes.extend(run.char_indices().map(|(at, _)| {
                    let character = run.as_bytes().get(at..).unwrap_or_default();
                    Note::new(Beginning::of(character), false, start)
                })),
            }
        }
    }

    /// The number of tokens.
    pub(super) fn tokens(&self) -> usize {
        self.0.len()
    }

    /// The first stretch from a place on that `wanted` says yes to, for its beginning, or that stands
    /// before a name.
    pub(super) fn next(&self, from: usize, wanted: impl Fn(Beginning) -> bool) -> Option<Stretch> {
        let rest = self.0.get(from..)?;
        let found = rest.iter().position(|note| note.is_telling() || wanted(note.beginning()))?;
        let note = rest.get(found)?;
        let (start, telling) = (note.start(), note.is_telling());
        let same = |note: &&Note| note.start() == start;
        let before = rest.get(..found)?.iter().rev().take_while(same).count();
        let after = rest.get(found..)?.iter().take_while(same).count();
        Some(Stretch { start, first: from + found - before, end: from + found + after, telling })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts and places of what may begin like a word.
    fn found(text: &str, word: &str) -> Vec<(usize, usize, usize)> {
        let (beginnings, wanted) = (Beginnings::of(text), Beginning::of(word.as_bytes()));
        let mut stretches = Vec::new();
        let mut from = 0;
        while let Some(stretch) = beginnings.next(from, |beginning| beginning == wanted) {
            stretches.push((stretch.start, stretch.first, stretch.end));
            from = stretch.end;
        }
        stretches
    }

    #[test]
    fn a_word_is_found_by_each_of_its_tokens() {
        // parse, Header, parseHeader are one word; so are http, url and all of it.
        let text = "A parseHeader of http_url, Parser";
        assert_eq!(found(text, "parser"), [(2, 1, 4), (27, 8, 9)]);
        assert_eq!(found(text, "header"), [(2, 1, 4)]);
        assert_eq!(found(text, "url"), [(17, 5, 8)]);
        assert_eq!(found(text, "zebra"), []);
        assert_eq!(Beginnings::of(text).tokens(), 9);
    }

    #[test]
    fn words_before_a_name_are_found_by_every_query() {
        assert_eq!(found("the fn of a class", "zebra"), [(4, 1, 2), (12, 4, 5)]);
    }

    #[test]
    fn characters_without_blanks_are_tokens_of_one_run() {
        assert_eq!(found("x 全文検索 y", "検"), [(2, 1, 5)]);
        assert_eq!(found("Élan vital", "elan"), [(0, 0, 1)]);
    }
}
