//! Full-text search: what is asked, what is found, and the tables it needs.
//!
//! One search: `query` takes the text apart (`term`), `statistics` asks the store how rare its terms are and
//! finds their other forms (`kin`) and stand-ins for unknown ones (`typo`, with the vocabulary in
//! `lexicon`, stored as `word_lists`; `memory` keeps it), `candidates` finds the chunks worth reading in the
//! index (`postings`; the engine counts with `occurrences`), and `noted` those in text that has no full-text
//! rows yet (by a `glance`, where a `sketch` does not deny it); a `tally` tells which. `rate` reads them.
//! `features` notes what matters in a chunk (`beginnings`, `forms`, `lines`, `names`, `nearness`,
//! `definition`, `passage`), `rank` turns that into a score, `select`
//! decides what is shown, `snippet` cuts the preview. `tokens` and `porter` say what a word is, for
//! stored text and queries alike; `expand` and `tables` store it.

mod beginnings;
mod candidates;
mod definition;
mod expand;
mod features;
mod fold;
mod forms;
mod glance;
mod kin;
mod lexicon;
mod lines;
mod memory;
mod names;
mod nearness;
mod noted;
mod occurrences;
mod passage;
mod porter;
mod postings;
mod query;
mod rank;
mod rate;
mod select;
mod shared;
mod sketch;
mod snippet;
mod statistics;
mod stop;
mod tables;
mod tally;
mod term;
#[cfg(test)]
mod tests;
mod tokens;
mod types;
mod typo;
mod word_lists;

use std::sync::{Arc, OnceLock};

use rusqlite::Connection;

use crate::Result;
use candidates::Finder;
use postings::Limits;
use query::Request;
use rate::{Rated, Rater};
use shared::Shared;
use statistics::Statistics;

pub(crate) use beginnings::Beginnings;
pub(crate) use expand::{Expander, FastBuild};
pub(crate) use memory::Memory;
pub(crate) use sketch::{Sketch, Sketcher};
pub use snippet::SNIPPET_CHARS;
pub(crate) use tables::{
    PACE, Rows, SCHEMA, Vocabulary, index, merge_all, merge_some, merge_step, unindex,
};
pub(crate) use types::{ChunkTexts, ScopedDocument};
pub use types::{Found, Hit, Query, Scope, Verdict};
pub(crate) use word_lists::ripe;

/// Documents of which the beginning is read because the query is their path: a little more than an answer
/// can show.
const BEGINNINGS: usize = 24;

/// What the queries of one call share that are limited alike: lists of the state the first one saw.
#[derive(Debug, Default)]
pub(crate) struct InCall(OnceLock<Arc<Shared>>);

impl InCall {
    fn lists(&self, everything: &Shared) -> Arc<Shared> {
        let new = || Arc::new(Shared::new(everything.state, everything.counts));
        let lists = self.0.get_or_init(new);
        if lists.state == everything.state { Arc::clone(lists) } else { new() }
    }
}

/// Answers a query. `memory` is what searches of this store keep between calls; the store holds one and
/// hands it to each search.
pub(crate) fn search(
    connection: &Connection,
    texts: &dyn ChunkTexts,
    memory: &Memory,
    in_call: &InCall,
    query: &Query<'_>,
) -> Result<Found> {
    let nothing =
        |verdict| Found { hits: Vec::new(), verdict, incomplete: None, read_as: Vec::new() };
    let mut request = Request::parse(query.text);
    if request.terms.is_empty() || texts.is_empty()? {
        return Ok(nothing(Verdict::NothingToSearch));
    }
    let limits = limits(texts, query)?;
    if limits.0.as_ref().is_some_and(Vec::is_empty) {
        return Ok(nothing(Verdict::NothingToSearch));
    }
    let pending = texts.unindexed(&query.scope)?;
    let everything = memory.shared(connection, &pending)?;
    let lists =
        if limits.0.is_none() { Arc::clone(&everything) } else { in_call.lists(&everything) };
    let statistics = Statistics::new(connection, &everything, &pending);
    statistics.resolve(&mut request, memory)?;
    let mut ids = Finder::new(connection, &lists, &limits).find(&request, &statistics)?;
    if let Some(path) = &request.path {
        ids.extend(texts.beginnings(path, &|id| limits.contain(id), BEGINNINGS)?);
    }
    // In the order they are stored: then each block of text is decoded once.
    ids.sort_unstable();
    ids.dedup();
    let mut rater = Rater::new(texts, &request, statistics.average_bytes, query.deadline);
    rater.read_all(&ids)?;
    rater.scan(&pending, &limits)?;
    let Rater { mut reader, rated, left, .. } = rater;
    let incomplete = (left > 0).then(|| format!("out of time: {left} chunks were not searched"));
    let (chosen, good) = select::select(rated, query.limit, &request);
    let hits: Vec<Hit> = chosen
        .into_iter()
        .map(|hit| {
            let snippet = query.snippets.then(|| snippet::snippet(&mut reader, hit.chunk.body()));
            shown(hit, snippet.unwrap_or_default())
        })
        .collect();
    let verdict = match (hits.is_empty(), good) {
        (true, _) => Verdict::NoMatch,
        (false, true) => Verdict::Good,
        (false, false) => Verdict::Weak,
    };
    // Text that waits may have the very words.
    let read_as = if pending.is_empty() { read_as(&request) } else { Vec::new() };
    Ok(Found { hits, verdict, incomplete, read_as })
}

/// What was asked for and taken for slips.
fn read_as(request: &Request) -> Vec<(String, Vec<String>)> {
    let slips = request.asked().filter(|term| !term.read_as.is_empty());
    slips.map(|term| (term.text.clone(), term.read_as.clone())).collect()
}

/// The chunk numbers a query is limited to.
fn limits(texts: &dyn ChunkTexts, query: &Query<'_>) -> Result<Limits> {
    let everything = Scope::Source("*");
    let by_kind = query.kind.is_some() && matches!(query.scope, Scope::All);
    let scope = texts.scope(if by_kind { &everything } else { &query.scope })?;
    let Some(documents) = scope else { return Ok(Limits(None)) };
    let ranges = documents
        .iter()
        .filter(|document| query.kind.is_none_or(|kind| kind == document.kind))
        .map(|document| document.range);
    Ok(Limits::of(ranges.collect()))
}

fn shown(hit: Rated, snippet: String) -> Hit {
    let document = &hit.document;
    Hit {
        chunk: hit.id,
        document: document.id,
        title: hit.chunk.title().to_owned(),
        source: document.label.clone(),
        also: hit.also,
        lines: hit.chunk.lines(),
        score: hit.score.value,
        snippet,
        origin: document.origin,
        path: document.path.clone(),
        stamp: document.stamp,
    }
}
