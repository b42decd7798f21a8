//! Finds the chunks worth reading: by the terms they hold, by the phrase they hold, and all those
//! that have no full-text rows yet.
//!
//! The index gives, for a term, the chunks and columns it stands in. That is read for rare terms
//! only, up to a budget: a chunk without any of the rare terms has little to win. Of common terms
//! the index is asked which of those chunks have them, too.

use std::collections::HashMap;

use rusqlite::Connection;

use super::expand::FastBuild;
use super::porter::stem_of;
use super::query::{Request, Term};
use super::rank::{FIELD_PATH, FIELD_TITLE, saturate};
use super::statistics::Statistics;
use super::tokens::{Run, Splitter, pairs, runs};
use crate::ids::ChunkRange;

/// Chunks read because of the terms they hold.
const BEST_BY_SCORE: usize = 80;
/// Chunks read because they hold the most of what was asked.
const BEST_BY_COVERAGE: usize = 30;
/// Chunks read because they hold the query, or a quoted part of it, word by word.
const BY_PHRASE: i64 = 30;
/// Entries of the index read in one search; about 0.1 µs each.
const BUDGET: u64 = 40_000;
/// Chunks taken, newest first, for a term that is too common to be read whole.
const NEWEST_OF_COMMON: i64 = 2_000;

/// Chunk numbers a search is limited to, ascending; `None` is all.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits(pub(super) Option<Vec<ChunkRange>>);

impl Limits {
    pub(super) fn contain(&self, id: u64) -> bool {
        let Some(ranges) = &self.0 else { return true };
        let at = ranges.partition_point(|range| range.last.0 < id);
        ranges.get(at).is_some_and(|range| range.first.0 <= id)
    }

    /// The numbers between which all of it lies.
    fn hull(&self) -> (i64, i64) {
        match self.0.as_deref() {
            None => (0, i64::MAX),
            Some(ranges) => (
                ranges.first().map_or(0, |range| range.first.0 as i64),
                ranges.last().map_or(-1, |range| range.last.0 as i64),
            ),
        }
    }

    /// How many chunks it may have, if it lies close together.
    fn narrow(&self) -> Option<u64> {
        let ranges = self.0.as_deref()?;
        let size: u64 = ranges.iter().map(|range| range.last.0 - range.first.0 + 1).sum();
        let (first, last) = self.hull();
        ((last - first) as u64 <= size.saturating_mul(4).saturating_add(1_000)).then_some(size)
    }
}

/// A chunk with the weighted number of places of a term, and the weight of its best form there.
type Find = (u64, (f64, f64));

/// One entry a chunk: the forms of a term may stand in the same one.
fn merge(mut found: Vec<Find>) -> Vec<Find> {
    found.sort_unstable_by_key(|(id, _)| *id);
    found.dedup_by(|(id, (places, weight)), (kept, into)| {
        let same = id == kept;
        if same {
            *into = (into.0 + *places, into.1.max(*weight));
        }
        same
    });
    found
}

#[derive(Clone, Copy, Default)]
struct Tally {
    score: f64,
    coverage: f64,
}

/// The candidates of one search, best first by what the index alone can tell.
pub(super) struct Finder<'a> {
    connection: &'a Connection,
    limits: &'a Limits,
    tallies: HashMap<u64, Tally, FastBuild>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(connection: &'a Connection, limits: &'a Limits) -> Self {
        Finder { connection, limits, tallies: HashMap::default() }
    }

    /// Reads the index for a request; answers chunk numbers, each once.
    pub(super) fn find(
        mut self,
        request: &Request,
        statistics: &mut Statistics<'_>,
    ) -> rusqlite::Result<Vec<u64>> {
        let mut order = Vec::new();
        for (at, term) in request.terms.iter().enumerate() {
            let mut places = 0;
            for form in &term.forms {
                places += statistics.frequency(&form.stem)?.places;
            }
            if places > 0 {
                order.push((places, at));
            }
        }
        order.sort_unstable();
        let narrow = self.limits.narrow().is_some_and(|chunks| chunks < NEWEST_OF_COMMON as u64);
        let mut left = BUDGET;
        let mut rare: Vec<&str> = Vec::new();
        let mut common = Vec::new();
        for (places, at) in order {
            let Some(term) = request.terms.get(at) else { continue };
            if !narrow && places > left && !(rare.is_empty() && places <= 2 * BUDGET) {
                common.push(term);
                continue;
            }
            left = left.saturating_sub(places);
            let mut found = Vec::new();
            for form in &term.forms {
                if narrow {
                    let ids = self.matching(&quoted(&form.stem), i64::MAX)?;
                    found.extend(ids.into_iter().map(|id| (id, (form.weight, form.weight))));
                } else {
                    self.places(&form.stem, form.weight, &mut found)?;
                }
                rare.push(&form.stem);
            }
            if term.forms.len() > 1 {
                found = merge(found);
            }
            self.count(term.rarity, term.counts(), found);
        }
        for term in &common {
            let forms = any(term.forms.iter().map(|form| form.stem.as_str()));
            let both = if rare.is_empty() {
                self.matching(&forms, NEWEST_OF_COMMON)?
            } else {
                self.matching(&format!("({}) AND ({forms})", any(rare.iter().copied())), i64::MAX)?
            };
            if rare.is_empty() {
                rare.extend(term.forms.iter().map(|form| form.stem.as_str()));
                let titled = self.matching(&format!("title : ({forms})"), NEWEST_OF_COMMON)?;
                self.count(
                    term.rarity,
                    term.counts(),
                    titled.into_iter().map(|id| (id, (2.0, 1.0))),
                );
            }
            self.count(term.rarity, term.counts(), both.into_iter().map(|id| (id, (1.0, 1.0))));
        }
        if self.tallies.len() < BEST_BY_SCORE && common.len() > 1 {
            self.all_of(&common)?;
        }
        let mut chosen = self.best();
        for phrase in self.phrases(request)? {
            if !chosen.contains(&phrase) {
                chosen.push(phrase);
            }
        }
        Ok(chosen)
    }

    /// Adds the newest chunks that have all of the common terms.
    fn all_of(&mut self, common: &[&Term]) -> rusqlite::Result<()> {
        let expressions: Vec<String> = common
            .iter()
            .map(|term| format!("({})", any(term.forms.iter().map(|form| form.stem.as_str()))))
            .collect();
        let ids = self.matching(&expressions.join(" AND "), NEWEST_OF_COMMON)?;
        let new: Vec<u64> = ids.into_iter().filter(|id| !self.tallies.contains_key(id)).collect();
        for term in common {
            let finds = new.iter().map(|id| (*id, (1.0, 1.0)));
            self.count(term.rarity, term.counts(), finds);
        }
        Ok(())
    }

    /// Adds one term's finds: the weighted number of places and the best weight, by chunk.
    fn count(&mut self, rarity: f64, counts: bool, found: impl IntoIterator<Item = Find>) {
        for (id, (places, weight)) in found {
            let tally = self.tallies.entry(id).or_default();
            tally.score += rarity * weight * saturate(places, 1.0);
            if counts {
                tally.coverage += rarity * weight;
            }
        }
    }

    /// Reads where a stem stands: by chunk, ascending.
    fn places(&self, stem: &str, weight: f64, found: &mut Vec<Find>) -> rusqlite::Result<()> {
        let mut statement =
            self.connection.prepare_cached("SELECT doc, col FROM word_places WHERE term = ?1")?;
        let mut rows = statement.query([stem])?;
        let (mut last, mut wanted, mut titled) = (u64::MAX, false, false);
        while let Some(row) = rows.next()? {
            let id = row.get::<_, i64>(0)? as u64;
            if id != last {
                (last, wanted, titled) = (id, self.limits.contain(id), false);
                if wanted {
                    found.push((id, (0.0, weight)));
                }
            }
            if !wanted {
                continue;
            }
            let field = match row.get_ref(1)?.as_bytes()? {
                b"title" if titled => 0.0,
                b"title" => {
                    titled = true;
                    FIELD_TITLE
                }
                b"path" => FIELD_PATH,
                _ => 1.0,
            };
            if let Some((_, (places, _))) = found.last_mut() {
                *places += weight * field;
            }
        }
        Ok(())
    }

    /// The newest chunks within the limits that an expression matches.
    fn matching(&self, expression: &str, most: i64) -> rusqlite::Result<Vec<u64>> {
        let (first, last) = self.limits.hull();
        let mut statement = self.connection.prepare_cached(
            "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3
             ORDER BY rowid DESC LIMIT ?4",
        )?;
        let ids = statement
            .query_map((expression, first, last, most), |row| Ok(row.get::<_, i64>(0)? as u64))?
            .filter(|id| !matches!(id, Ok(id) if !self.limits.contain(*id)))
            .collect();
        ids
    }

    fn best(&self) -> Vec<u64> {
        let mut all: Vec<(u64, Tally)> =
            self.tallies.iter().map(|(id, tally)| (*id, *tally)).collect();
        let by_score = |a: &(u64, Tally), b: &(u64, Tally)| {
            b.1.score.total_cmp(&a.1.score).then(b.0.cmp(&a.0))
        };
        let by_coverage = |a: &(u64, Tally), b: &(u64, Tally)| {
            b.1.coverage.total_cmp(&a.1.coverage).then_with(|| by_score(a, b))
        };
        let take =
            |all: &mut Vec<(u64, Tally)>,
             most: usize,
             order: &dyn Fn(&(u64, Tally), &(u64, Tally)) -> std::cmp::Ordering| {
                if all.len() > most {
                    all.select_nth_unstable_by(most, order);
                }
                let mut taken: Vec<_> = all.iter().take(most).copied().collect();
                taken.sort_unstable_by(order);
                taken
            };
        let mut chosen: Vec<u64> =
            take(&mut all, BEST_BY_SCORE, &by_score).into_iter().map(|(id, _)| id).collect();
        for (id, _) in take(&mut all, BEST_BY_COVERAGE, &by_coverage) {
            if !chosen.contains(&id) {
                chosen.push(id);
            }
        }
        chosen
    }

    /// Chunks that hold the whole query, or what is quoted in it, word by word.
    fn phrases(&self, request: &Request) -> rusqlite::Result<Vec<u64>> {
        let mut found = Vec::new();
        let whole = request.phrases.is_empty().then_some(&request.whole);
        for text in request.phrases.iter().chain(whole) {
            let tokens = phrase(text);
            let mut hits = match tokens.as_slice() {
                [] | [_] => Vec::new(),
                tokens => self.matching(&words(tokens), BY_PHRASE)?,
            };
            // A quote may begin and end within a word.
            if let [_, inner @ .., _] = tokens.as_slice()
                && hits.is_empty()
                && inner.len() > 1
            {
                hits = self.matching(&words(inner), BY_PHRASE)?;
            }
            found.extend(hits);
        }
        Ok(found)
    }
}

/// A term as an expression of the engine. Stems hold letters and digits only.
fn quoted(stem: &str) -> String {
    format!("\"{}\"", stem.replace('"', ""))
}

fn any<'a>(stems: impl Iterator<Item = &'a str>) -> String {
    stems.map(quoted).collect::<Vec<_>>().join(" OR ")
}

/// Tokens in a row as an expression of the engine.
fn words(tokens: &[String]) -> String {
    quoted(&tokens.join(" "))
}

/// The tokens of a text as they stand in a row in the index.
fn phrase(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut splitter = Splitter::default();
    let mut last_alone = false;
    for (_, run) in runs(text) {
        last_alone = false;
        match run {
            Run::Word(word) => splitter.word(word, &mut |token| tokens.push(stem_of(token))),
            Run::Cjk(run) => {
                pairs(run, &mut |pair| tokens.push(pair.to_owned()));
                last_alone = run.chars().nth(1).is_some();
            }
        }
    }
    // The text may go on where the query ends.
    if last_alone {
        tokens.pop();
    }
    tokens
}
