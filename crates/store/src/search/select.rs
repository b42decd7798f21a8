//! Decides what is shown: the best, each text once, nothing far below the best.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::expand::FastBuild;
use super::query::Request;
use super::rate::Rated;
use crate::document::Origin;

/// Hits below this share of the best score are left out.
const CUT: f64 = 0.4;
/// So are hits that hold less than this share of what the best one holds, unless the query is prose.
const CUT_COVERAGE: f64 = 0.6;
/// Share of common lines from which two texts are copies of each other.
const COPY: f64 = 0.7;
/// Hits compared with each other.
const COMPARED: usize = 40;

/// Puts hits in order, merges identical ones, and cuts the tail. True when the best is good enough.
pub(super) fn select(mut rated: Vec<Rated>, limit: usize, request: &Request) -> (Vec<Rated>, bool) {
    order(&mut rated);
    let Some(best) = rated.first() else { return (rated, false) };
    if !best.score.is_good {
        let mut rated = merge_identical(rated);
        rated.truncate(1);
        return (rated, false);
    }
    let least = best.score.relevance * CUT;
    let short = request.prose() <= 0.0;
    let covered = if short { best.score.coverage * CUT_COVERAGE } else { 0.0 };
    rated.retain(|hit| hit.score.relevance >= least && hit.score.coverage >= covered);
    (copies_last(merge_identical(rated), limit), true)
}

/// Best first; among equals the one nearer to the root, then the fresher.
fn order(rated: &mut [Rated]) {
    rated.sort_by(|a, b| b.score.value.total_cmp(&a.score.value).then_with(|| preference(a, b)));
}

fn preference(a: &Rated, b: &Rated) -> Ordering {
    depth(a).cmp(&depth(b)).then(b.document.created.cmp(&a.document.created)).then(b.id.cmp(&a.id))
}

/// How deep a file lies; what is no file lies at the root.
fn depth(hit: &Rated) -> usize {
    match (&hit.document.origin, &hit.document.path) {
        (Origin::File, Some(path)) => path.split('/').count(),
        _ => 0,
    }
}

/// Keeps the first of hits with identical text; the others become further labels of it.
fn merge_identical(rated: Vec<Rated>) -> Vec<Rated> {
    let mut kept: Vec<Rated> = Vec::new();
    for mut hit in rated {
        let mut labels = hit.document.labels.clone();
        labels.retain(|label| *label != hit.document.label);
        hit.also = labels;
        match kept.iter_mut().find(|other| other.chunk.body() == hit.chunk.body()) {
            Some(other) => {
                let labels = std::iter::once(hit.document.label.clone()).chain(hit.also);
                for label in labels {
                    if label != other.document.label && !other.also.contains(&label) {
                        other.also.push(label);
                    }
                }
            }
            None => kept.push(hit),
        }
    }
    kept
}

/// The first `limit` hits after near copies of better hits from other documents were moved to the end, so
/// that old versions of one file do not crowd out everything else.
fn copies_last(rated: Vec<Rated>, limit: usize) -> Vec<Rated> {
    type Lines<'a> = HashSet<&'a str, FastBuild>;
    let mut is_copy = vec![false; rated.len()];
    // Those that are no copies, with the lines of each.
    let mut kept: Vec<(usize, Lines<'_>)> = Vec::new();
    for (at, hit) in rated.iter().enumerate().take(COMPARED) {
        if kept.len() >= limit {
            break;
        }
        let lines = hit.chunk.body().lines().map(str::trim).filter(|line| line.len() > 3);
        let own: Lines<'_> = lines.collect();
        let copied = |(before, theirs): &(usize, Lines<'_>)| {
            let common = COPY * own.len().max(theirs.len()) as f64;
            rated[*before].document.id != hit.document.id
                && own.intersection(theirs).count() as f64 >= common
        };
        is_copy[at] = own.len() > 2 && kept.iter().any(copied);
        if !is_copy[at] {
            kept.push((at, own));
        }
    }
    drop(kept);
    let mut flags = is_copy.into_iter();
    let (copies, mut first): (Vec<Rated>, Vec<Rated>) =
        rated.into_iter().partition(|_| flags.next().unwrap_or(false));
    first.extend(copies);
    first.truncate(limit);
    first
}
