//! What the store knows about terms: in how many chunks they stand, and so how rare they are.

use rusqlite::{Connection, OptionalExtension as _};

use super::kin::kin;
use super::memory::Memory;
use super::porter::stem_of;
use super::postings::frequency_within;
use super::query::{Alternative, Request, TermKind};
use super::shared::Shared;
use super::typo::{Repair, repairs};
use super::word_lists::Counts;
use crate::ids::ChunkRange;

/// Terms begun with more letters or digits than this are looked up by their beginning when the
/// store does not know them whole: a short commit, a cut identifier.
const MIN_PREFIX_CHARACTERS: usize = 4;
/// Stand-ins taken from words that contain a term.
const MAX_CONTAINING: usize = 8;

/// Adds a form whose stem is not there yet.
fn add(forms: &mut Vec<Alternative>, form: Alternative) {
    if !forms.iter().any(|other| other.stem == form.stem) {
        forms.push(form);
    }
}

fn size(range: &ChunkRange) -> u64 {
    range.last.0 - range.first.0 + 1
}

/// How often a stem stands in the store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frequency {
    /// Chunks that have it.
    pub(super) chunks: u64,
    /// Places where it stands.
    pub(super) places: u64,
}

impl Frequency {
    /// The sum of both.
    pub(super) fn and(self, other: Self) -> Self {
        Frequency { chunks: self.chunks + other.chunks, places: self.places + other.places }
    }
}

/// Frequencies as one search sees them.
pub(super) struct Statistics<'a> {
    connection: &'a Connection,
    shared: &'a Shared,
    /// Chunks in the store.
    pub(super) chunks: u64,
    /// Bytes of an average chunk.
    pub(super) average_bytes: f64,
}

impl<'a> Statistics<'a> {
    /// `pending` are chunks the index does not know yet.
    pub(super) fn new(
        connection: &'a Connection,
        shared: &'a Shared,
        pending: &[ChunkRange],
    ) -> Self {
        let Counts { chunks, seen, bytes } = shared.counts;
        Statistics {
            connection,
            shared,
            chunks: (chunks.max(1) as u64) + pending.iter().map(size).sum::<u64>(),
            average_bytes: if seen > 0 { bytes as f64 / seen as f64 } else { 1_000.0 },
        }
    }

    /// How often a stem stands in the store.
    pub(super) fn frequency(&self, stem: &str) -> rusqlite::Result<Frequency> {
        self.shared.frequency(stem, |added| {
            if let Some(added) = added {
                return frequency_within(self.connection, stem, added);
            }
            let found = self
                .connection
                .prepare_cached("SELECT doc, cnt FROM word_rows WHERE term = ?1")?
                .query_row([stem], |row| {
                    Ok(Frequency {
                        chunks: row.get::<_, i64>(0)? as u64,
                        places: row.get::<_, i64>(1)? as u64,
                    })
                })
                .optional()?;
            Ok(found.unwrap_or_default())
        })
    }

    /// Gives every term the forms it may have, and its rarity.
    pub(super) fn resolve(&self, request: &mut Request, memory: &Memory) -> rusqlite::Result<()> {
        for term in &mut request.terms {
            let own = term.forms.first().map_or("", |form| form.stem.as_str()).to_owned();
            if term.kind == TermKind::Word {
                for (word, weight) in kin(&term.text) {
                    let form = Alternative::of_word(&word, weight);
                    if self.frequency(&form.stem)?.chunks > 0 {
                        add(&mut term.forms, form);
                    }
                }
            }
            if term.forms.len() == 1 && self.frequency(&own)?.chunks == 0 {
                let slips = self.slips(&term.text, term.kind, memory)?;
                let forms = if slips.is_empty() {
                    self.stand_ins(&term.text, term.kind, memory)?
                } else {
                    slips.iter().map(|slip| Alternative::of_word(&slip.word, slip.weight)).collect()
                };
                for form in forms {
                    add(&mut term.forms, form);
                }
                term.read_as = slips.into_iter().map(|slip| slip.word).collect();
            }
            let mut most = 0;
            for form in term.forms.iter().filter(|form| form.weight >= 0.4) {
                most = most.max(self.frequency(&form.stem)?.chunks);
            }
            term.rarity = self.rarity(most);
        }
        Ok(())
    }

    /// The logarithm of how few chunks have a term. A term that none has counts a little more than
    /// half of what one chunk would: it may be a slip that was not repaired.
    fn rarity(&self, chunks: u64) -> f64 {
        let all = self.chunks.max(chunks) as f64;
        if chunks == 0 {
            return (1.0 + all).ln() * 0.6;
        }
        let chunks = chunks as f64;
        (1.0 + (all - chunks + 0.5) / (chunks + 0.5)).ln()
    }

    /// Known words that one the store does not know may be a slip of.
    fn slips(&self, word: &str, kind: TermKind, memory: &Memory) -> rusqlite::Result<Vec<Repair>> {
        let least = match kind {
            TermKind::Cjk => return Ok(Vec::new()),
            TermKind::Joined => 6,
            TermKind::Word | TermKind::Part => 4,
        };
        if word.chars().count() < least || word.chars().all(char::is_numeric) {
            return Ok(Vec::new());
        }
        let lexicon = memory.lexicon(self.connection)?;
        repairs(&lexicon, word, |known| Ok(self.frequency(&stem_of(known))?.chunks))
    }

    /// What else may stand for a word the store does not know: known ones that begin with it, else those
    /// it is a part of.
    fn stand_ins(
        &self,
        word: &str,
        kind: TermKind,
        memory: &Memory,
    ) -> rusqlite::Result<Vec<Alternative>> {
        if kind == TermKind::Cjk {
            return self.beginning_with(word, 1.0);
        }
        if kind == TermKind::Joined || word.chars().count() < MIN_PREFIX_CHARACTERS {
            return Ok(Vec::new());
        }
        let mut found = self.beginning_with(word, 0.5)?;
        if found.is_empty() {
            let lexicon = memory.lexicon(self.connection)?;
            for word in lexicon.containing(word, 4 * MAX_CONTAINING) {
                // Some stand in no text any more.
                let form = Alternative::of_word(word, 0.5);
                if found.len() < MAX_CONTAINING && self.frequency(&form.stem)?.chunks > 0 {
                    found.push(form);
                }
            }
        }
        Ok(found)
    }

    /// The most frequent terms of the index that begin with a word.
    fn beginning_with(&self, word: &str, weight: f64) -> rusqlite::Result<Vec<Alternative>> {
        let beyond = format!("{word}\u{10ffff}");
        self.connection
            .prepare_cached(
                "SELECT term FROM (SELECT term, doc FROM word_rows WHERE term >= ?1 AND term < ?2
                 LIMIT 64) ORDER BY doc DESC LIMIT 8",
            )?
            .query_map([word, &beyond], |row| Ok(Alternative::of_stem(row.get(0)?, weight)))?
            .collect()
    }
}
