//! Text on its way into the index: its tokens, stemmed, one blank between two.
//!
//! The engine sees nothing else, so its tokenizer has nothing to decide, and each distinct word is
//! folded, stemmed and judged once a call instead of once an occurrence.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::lexicon::is_word;
use super::porter::stem;
use super::tokens::{Run, Splitter, pairs, runs};

/// Mixes a few bytes of short words; the words come from the user's own text.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}

/// Hashes words and numbers.
pub(crate) type FastBuild = BuildHasherDefault<WordHasher>;

/// Expands texts, and tells which of their words are new to it.
#[derive(Debug, Default)]
pub(crate) struct Expander {
    splitter: Splitter,
    stems: Stems,
}

/// The stem of every word met, worked out once.
#[derive(Debug, Default)]
struct Stems {
    known: HashMap<Box<str>, Box<str>, FastBuild>,
    scratch: Vec<u8>,
    /// Words met for the first time that belong in the vocabulary, each ended by a line feed.
    new: String,
}

impl Stems {
    fn push(&mut self, token: &str, out: &mut String) {
        if is_number(token) {
            // Numbers, times and hashes: many, hardly ever the same one again.
            out.push_str(stem(token, &mut self.scratch));
        } else if let Some(stem) = self.known.get(token) {
            out.push_str(stem);
        } else {
            let stem = stem(token, &mut self.scratch);
            out.push_str(stem);
            self.known.insert(token.into(), stem.into());
            if is_word(token) {
                self.new.push_str(token);
                self.new.push('\n');
            }
        }
        out.push(' ');
    }
}

/// Whether a token is surely no word: a digit is its first letter or its last, and it is no word.
fn is_number(token: &str) -> bool {
    let bytes = token.as_bytes();
    let ends_in_digit = |end: Option<&u8>| end.is_some_and(u8::is_ascii_digit);
    (ends_in_digit(bytes.first()) || ends_in_digit(bytes.last())) && !is_word(token)
}

impl Expander {
    /// Adds what is indexed in place of `text` to `out`.
    pub(super) fn expand(&mut self, text: &str, out: &mut String) {
        let Expander { splitter, stems } = self;
        for (_, run) in runs(text) {
            match run {
                Run::Word(word) => splitter.word(word, &mut |token| {
                    stems.push(token, out);
                }),
                Run::Cjk(run) => pairs(run, &mut |pair| {
                    out.push_str(pair);
                    out.push(' ');
                }),
            }
        }
    }

    /// The words that belong in the vocabulary and are new since this was last asked.
    pub(super) fn new_words(&mut self) -> String {
        std::mem::take(&mut self.stems.new)
    }

    /// Forgets all words: they are new once more.
    pub(crate) fn forget(&mut self) {
        self.stems.known.clear();
        self.stems.new.clear();
    }
}
