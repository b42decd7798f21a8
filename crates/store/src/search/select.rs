//! Decides what is shown: the best, each text once, nothing far below the best.

use std::cmp::Ordering;
use std::collections::HashSet;

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
    let mut rated = copies_last(merge_identical(rated));
    rated.truncate(limit);
    (rated, true)
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

/// Moves near copies of better hits from other documents to the end, so that old versions of one
/// file do not crowd out everything else.
fn copies_last(rated: Vec<Rated>) -> Vec<Rated> {
    let lines: Vec<HashSet<&str>> = rated
        .iter()
        .take(COMPARED)
        .map(|hit| hit.chunk.body().lines().map(str::trim).filter(|line| line.len() > 3).collect())
        .collect();
    let mut is_copy = vec![false; rated.len()];
    for (at, own) in lines.iter().enumerate() {
        is_copy[at] = lines.iter().take(at).enumerate().any(|(before, theirs)| {
            let common = COPY * own.len().max(theirs.len()) as f64;
            !is_copy[before]
                && rated[before].document.id != rated[at].document.id
                && own.len() > 2
                && own.intersection(theirs).count() as f64 >= common
        });
    }
    drop(lines);
    let mut flags = is_copy.into_iter();
    let (copies, mut first): (Vec<Rated>, Vec<Rated>) =
        rated.into_iter().partition(|_| flags.next().unwrap_or(false));
    first.extend(copies);
    first
}
