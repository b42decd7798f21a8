//! Finds the chunks worth reading: by the terms they hold, and by the phrase they hold.
//!
//! Lists of rare terms are read with columns and repetitions, longer ones as chunk numbers only.
//! Past a budget a term is common: it only counts for the chunks found so far that have it,
//! too, since a chunk without any of the rarer terms has little to win.

use rusqlite::Connection;

use super::porter::stem_of;
use super::postings::{Find, Limits, Postings, any, merge, quoted};
use super::query::{Request, Term};
use super::rank::FIELD_TITLE;
use super::shared::{LONGEST_KEPT, Shared};
use super::statistics::Statistics;
use super::tally::{self, BEST_BY_COVERAGE, BEST_BY_SCORE, Tally};
use super::tokens::{Run, Splitter, pairs, runs};

/// Chunks read because they hold the query, or a quoted part of it, word by word.
pub(super) const BY_PHRASE: usize = 30;
/// Places up to which a list is read with columns and repetitions.
const DETAILED: u64 = 1_500;
/// Chunk numbers read of the rarest term, unless a quarter of all chunks have it.
const RAREST: u64 = 15_000;
/// Chunk numbers read in one search before further terms count as common.
const BUDGET: u64 = 4_000;
/// Chunks taken, newest first, for a term that is too common to be read whole.
const NEWEST_OF_COMMON: usize = 2_000;

/// The candidates of one search, best first by what the index alone can tell.
pub(super) struct Finder<'a> {
    postings: Postings<'a>,
    /// By chunk, ascending.
    tallies: Vec<(u64, Tally)>,
    /// Those of one term less, to be overwritten.
    before: Vec<(u64, Tally)>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(connection: &'a Connection, shared: &'a Shared, limits: &'a Limits) -> Self {
        Finder {
            postings: Postings { connection, shared, limits },
            tallies: Vec::new(),
            before: Vec::new(),
        }
    }

    /// Reads the index for a request; answers chunk numbers, each once.
    pub(super) fn find(
        mut self,
        request: &Request,
        statistics: &Statistics<'_>,
    ) -> rusqlite::Result<Vec<u64>> {
        let order = rarest_first(request, statistics)?;
        let alone = order.len() == 1;
        let narrow = self.postings.limits.narrow().is_some_and(|chunks| chunks < RAREST);
        let rarest = RAREST.min(statistics.chunks / 4).max(BUDGET);
        let mut left = BUDGET;
        let mut rare: Vec<&str> = Vec::new();
        let mut common = Vec::new();
        for size in order {
            let Size { places, chunks, term } = size;
            let found = if places <= DETAILED || (alone && places <= RAREST) {
                let mut found = Vec::new();
                for form in &term.forms {
                    found.extend_from_slice(&self.postings.places(&form.stem, form.weight)?);
                }
                if term.forms.len() > 1 { merge(found) } else { found }
            } else if narrow || chunks <= if rare.is_empty() { rarest } else { left } {
                self.postings.presence(&term.forms)?
            } else {
                common.push(size);
                continue;
            };
            left = left.saturating_sub(chunks);
            rare.extend(stems(term));
            self.count(term, found);
        }
        let all_are_common = rare.is_empty();
        for size in &common {
            if rare.is_empty() {
                rare.extend(stems(size.term));
                self.add_newest(size.term)?;
            } else {
                self.add_found_so_far(size, &rare)?;
            }
        }
        if common.len() > 1 && (all_are_common || self.tallies.len() < BEST_BY_SCORE) {
            self.all_of(&common)?;
        }
        let mut chosen = tally::best(&self.tallies);
        if self.may_hide_phrases(request) {
            for id in self.phrases(request)? {
                if !chosen.contains(&id) {
                    chosen.push(id);
                }
            }
        }
        Ok(chosen)
    }

    /// Adds a common term's newest chunks and those that have it in their title.
    fn add_newest(&mut self, term: &Term) -> rusqlite::Result<()> {
        let forms = any(stems(term));
        let titled = self.postings.newest(&format!("title : ({forms})"), NEWEST_OF_COMMON)?;
        let newest = self.postings.newest(&forms, NEWEST_OF_COMMON)?;
        let found = merge(once(titled, FIELD_TITLE).chain(once(newest, 1.0)).collect());
        self.count(term, found);
        Ok(())
    }

    /// Adds which of the chunks found so far have a common term, too.
    fn add_found_so_far(&mut self, size: &Size<'_>, rare: &[&str]) -> rusqlite::Result<()> {
        let Size { chunks, term, .. } = size;
        let mut both = Vec::new();
        if *chunks <= LONGEST_KEPT {
            for stem in stems(term) {
                self.found_in(&self.postings.chunks(&quoted(stem))?, &mut both);
            }
            both.sort_unstable();
            both.dedup();
        } else {
            let forms = any(stems(term));
            let with_rare = format!("({}) AND ({forms})", any(rare.iter().copied()));
            self.found_in(&self.postings.all(&with_rare)?, &mut both);
        }
        self.count(term, once(both, 1.0));
        Ok(())
    }

    /// Those of a list of chunks, ascending, that were found so far.
    fn found_in(&self, list: &[u64], both: &mut Vec<u64>) {
        let mut list = list.iter().peekable();
        for (id, _) in &self.tallies {
            while list.next_if(|other| *other < id).is_some() {}
            both.extend(list.next_if_eq(&id));
        }
    }

    /// Adds the newest chunks that have all of the common terms.
    fn all_of(&mut self, common: &[Size<'_>]) -> rusqlite::Result<()> {
        let expressions: Vec<String> =
            common.iter().map(|size| format!("({})", any(stems(size.term)))).collect();
        let ids = self.postings.newest(&expressions.join(" AND "), NEWEST_OF_COMMON)?;
        let known = |id: &u64| self.tallies.binary_search_by_key(id, |(known, _)| *known).is_ok();
        let mut new: Vec<u64> = ids.into_iter().filter(|id| !known(id)).collect();
        new.sort_unstable();
        for Size { term, .. } in common {
            self.count(term, new.iter().map(|id| (*id, (1.0, 1.0))));
        }
        Ok(())
    }

    /// Adds one term's finds, by chunk, ascending.
    fn count(&mut self, term: &Term, found: impl IntoIterator<Item = Find>) {
        let found = found.into_iter();
        std::mem::swap(&mut self.tallies, &mut self.before);
        self.tallies.clear();
        self.tallies.reserve(self.before.len() + found.size_hint().0);
        let mut before = self.before.iter().copied().peekable();
        for (id, (places, weight)) in found {
            while let Some(entry) = before.next_if(|(other, _)| *other < id) {
                self.tallies.push(entry);
            }
            let known = before.next_if(|(other, _)| *other == id);
            let mut tally = known.map_or_else(Tally::default, |(_, tally)| tally);
            tally.add(term, places, weight);
            self.tallies.push((id, tally));
        }
        self.tallies.extend(before);
    }

    /// Whether chunks that hold the query word by word may not be among the best by coverage: when
    /// there are more that hold all its terms, or none (a quote may begin and end within a word).
    fn may_hide_phrases(&self, request: &Request) -> bool {
        let all: f64 = request.asked().map(|term| term.rarity).sum();
        let complete =
            self.tallies.iter().filter(|(_, tally)| tally.coverage >= all - 1e-6).count();
        complete > BEST_BY_COVERAGE || (complete == 0 && !request.phrases.is_empty())
    }

    /// Chunks that hold the whole query, or what is quoted in it, word by word.
    fn phrases(&self, request: &Request) -> rusqlite::Result<Vec<u64>> {
        let mut found = Vec::new();
        let whole = request.phrases.is_empty().then_some(&request.whole);
        for text in request.phrases.iter().chain(whole) {
            let tokens = phrase(text);
            let in_a_row =
                |tokens: &[String]| self.postings.newest(&quoted(&tokens.join(" ")), BY_PHRASE);
            let mut hits = match tokens.as_slice() {
                [] | [_] => Vec::new(),
                tokens => in_a_row(tokens)?,
            };
            // A quote may begin and end within a word.
            if let [_, inner @ .., _] = tokens.as_slice()
                && hits.is_empty()
                && inner.len() > 1
            {
                hits = in_a_row(inner)?;
            }
            found.extend(hits);
        }
        Ok(found)
    }
}

/// The stems a term may stand as.
fn stems(term: &Term) -> impl Iterator<Item = &str> {
    term.forms.iter().map(|form| form.stem.as_str())
}

/// Chunks as finds of one place each, or of what that counts for.
fn once(ids: Vec<u64>, places: f64) -> impl Iterator<Item = Find> {
    ids.into_iter().map(move |id| (id, (places, 1.0)))
}

/// How long the lists of a term are.
struct Size<'q> {
    places: u64,
    chunks: u64,
    term: &'q Term,
}

/// The terms the store knows, those with short lists first.
fn rarest_first<'q>(
    request: &'q Request,
    statistics: &Statistics<'_>,
) -> rusqlite::Result<Vec<Size<'q>>> {
    let mut order = Vec::new();
    for term in &request.terms {
        let (mut places, mut chunks) = (0, 0);
        for form in &term.forms {
            let frequency = statistics.frequency(&form.stem)?;
            places += frequency.places;
            chunks += frequency.chunks;
        }
        if chunks > 0 {
            order.push(Size { places, chunks, term });
        }
    }
    order.sort_by_key(|size| size.chunks);
    Ok(order)
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

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::super::tables::SCHEMA;
    use super::super::word_lists::{State, counts};
    use super::*;

    /// Of the first common word only the newest chunks are read, so its list is no list of those chunks.
    #[test]
    fn an_old_chunk_with_all_words_is_found_where_each_stands_everywhere() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        connection
            .execute_batch(
                "WITH RECURSIVE ids(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 20000)
                 INSERT INTO words(rowid, title, body, path)
                     SELECT id, '', iif(id = 7, 'alpha x beta', iif(id % 2, 'alpha', 'beta')), ''
                     FROM ids;
                 INSERT INTO word_lists(level, chunks, seen, seen_bytes, words)
                     VALUES (0, 20000, 20000, 20000, '')",
            )
            .unwrap();
        let (shared, limits) =
            (Shared::new(State::default(), counts(&connection).unwrap()), Limits::default());
        let statistics = Statistics::new(&connection, &shared, &[]);
        let mut request = Request::parse("alpha beta");
        statistics.resolve(&mut request, &Memory::default()).unwrap();
        let found = Finder::new(&connection, &shared, &limits).find(&request, &statistics).unwrap();
        assert!(found.contains(&7), "{found:?}");
    }
}
