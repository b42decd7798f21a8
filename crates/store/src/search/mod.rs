//! Full-text search: what is asked, what is found, and the tables it needs.
//!
//! One search: `query` takes the text apart, `statistics` asks the store how rare its terms are and
//! finds stand-ins for unknown ones (`typo`, with the vocabulary in `lexicon`), `candidates` finds
//! the chunks worth reading, `features` and `definition` read them, `rank` turns what was seen into
//! a score, `select` decides what is shown, `snippet` cuts the preview. `tokens` and `porter` say
//! what a word is, for stored text and queries alike; `expand` and `tables` store it.

mod candidates;
mod definition;
mod expand;
mod features;
mod lexicon;
mod porter;
mod postings;
mod query;
mod rank;
mod select;
mod snippet;
mod statistics;
mod tables;
mod tokens;
mod types;
mod typo;

use std::collections::HashSet;
use std::time::Instant;

use rusqlite::Connection;

use crate::Result;
use crate::ids::{ChunkId, ChunkRange};
use candidates::Finder;
use features::Reader;
use postings::Limits;
use query::Request;
use select::Rated;
use statistics::Statistics;

pub(crate) use lexicon::Memory;
pub(crate) use tables::{SCHEMA, index, purge_terms, unindex};
pub(crate) use types::{ChunkTexts, IndexRow, ScopedDocument};
pub use types::{Found, Hit, Query, Scope, Verdict};

/// Answers a query. `memory` is what searches of this store keep between calls (the vocabulary);
/// the store holds one and hands it to each search.
pub(crate) fn search(
    connection: &Connection,
    texts: &dyn ChunkTexts,
    memory: &Memory,
    query: &Query<'_>,
) -> Result<Found> {
    let nothing = |verdict| Found { hits: Vec::new(), verdict, incomplete: None };
    let mut request = Request::parse(query.text);
    if request.terms.is_empty() || texts.is_empty()? {
        return Ok(nothing(Verdict::NothingToSearch));
    }
    let limits = limits(texts, query)?;
    if limits.0.as_ref().is_some_and(Vec::is_empty) {
        return Ok(nothing(Verdict::NothingToSearch));
    }
    let mut statistics = Statistics::new(connection)?;
    let pending: Vec<ChunkRange> = texts.unindexed(&query.scope)?;
    statistics.resolve(&mut request, memory)?;
    let mut ids = Finder::new(connection, &limits).find(&request, &mut statistics)?;
    let mut seen: HashSet<u64> = ids.iter().copied().collect();
    for range in &pending {
        let inside = (range.first.0..=range.last.0).filter(|id| limits.contain(*id));
        ids.extend(inside.filter(|id| seen.insert(*id)));
    }
    let (rated, incomplete) = rate(texts, &request, &statistics, &ids, query.deadline)?;
    let (chosen, good) = select::select(rated, query.limit);
    let reader = Reader::new(&request, statistics.average_bytes);
    let hits: Vec<Hit> = chosen.into_iter().map(|hit| shown(hit, &reader)).collect();
    let verdict = match (hits.is_empty(), good) {
        (true, _) => Verdict::NoMatch,
        (false, true) => Verdict::Good,
        (false, false) => Verdict::Weak,
    };
    Ok(Found { hits, verdict, incomplete })
}

/// The chunk numbers a query is limited to.
fn limits(texts: &dyn ChunkTexts, query: &Query<'_>) -> Result<Limits> {
    let scope = match (query.kind, &query.scope) {
        (None, scope) => texts.scope(scope)?,
        (Some(_), Scope::All) => texts.scope(&Scope::Source("*"))?,
        (Some(_), scope) => texts.scope(scope)?,
    };
    let Some(documents) = scope else { return Ok(Limits(None)) };
    let mut ranges: Vec<ChunkRange> = documents
        .iter()
        .filter(|document| query.kind.is_none_or(|kind| kind == document.kind))
        .map(|document| document.range)
        .collect();
    ranges.sort_unstable_by_key(|range| range.first);
    ranges.dedup_by(|next, range| {
        let adjacent = next.first.0 <= range.last.0 + 1;
        if adjacent {
            range.last = range.last.max(next.last);
        }
        adjacent
    });
    Ok(Limits(Some(ranges)))
}

/// Reads and scores candidates until the deadline; says so when some were left unread.
fn rate(
    texts: &dyn ChunkTexts,
    request: &Request,
    statistics: &Statistics<'_>,
    ids: &[u64],
    deadline: Option<Instant>,
) -> Result<(Vec<Rated>, Option<String>)> {
    let mut reader = Reader::new(request, statistics.average_bytes);
    let mut rated = Vec::with_capacity(ids.len());
    for (at, id) in ids.iter().enumerate() {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let left = ids.len() - at;
            return Ok((rated, Some(format!("out of time: {left} candidates were not read"))));
        }
        let id = ChunkId(*id);
        let Some(chunk) = texts.chunk(id)? else { continue };
        let Some(document) = texts.document(chunk.document())? else { continue };
        let path = document.path.as_deref().unwrap_or(&document.label);
        let features = reader.read(chunk.title(), path, chunk.body());
        let score = rank::score(request, &features);
        rated.push(Rated { id, chunk, document, score, also: Vec::new() });
    }
    Ok((rated, None))
}

fn shown(hit: Rated, reader: &Reader<'_>) -> Hit {
    let document = &hit.document;
    Hit {
        chunk: hit.id,
        document: document.id,
        title: hit.chunk.title().to_owned(),
        source: document.label.clone(),
        also: hit.also,
        lines: hit.chunk.lines(),
        score: hit.score.value,
        snippet: snippet::snippet(reader, hit.chunk.body()),
        origin: document.origin,
        path: document.path.clone(),
        stamp: document.stamp,
    }
}
