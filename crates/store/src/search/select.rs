//! Decides what is shown: the best, each text once, nothing far below the best.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::rate::Rated;
use crate::document::Origin;

/// Hits below this share of the best score are left out.
const CUT: f64 = 0.4;
/// Below this share of what was asked even the best hit is no good match.
const GOOD_COVERAGE: f64 = 0.5;
/// Share of common lines from which two texts are copies of each other.
const COPY: f64 = 0.7;
/// What a copy of a better hit keeps of its score.
const COPY_WORTH: f64 = 0.5;
/// Hits compared with each other.
const COMPARED: usize = 40;

/// Puts hits in order, merges identical ones, and cuts the tail. True when the best is good enough.
pub(super) fn select(mut rated: Vec<Rated>, limit: usize) -> (Vec<Rated>, bool) {
    order(&mut rated);
    // What is far below the best is not shown, whatever else it is.
    if let Some(best) = rated.first() {
        let least = best.score.value * CUT;
        rated.retain(|hit| hit.score.value >= least);
    }
    let mut rated = merge_identical(rated);
    demote_copies(&mut rated);
    let Some(best) = rated.first() else { return (rated, false) };
    if best.score.coverage < GOOD_COVERAGE {
        rated.truncate(1);
        return (rated, false);
    }
    let least = best.score.value * CUT;
    rated.retain(|hit| hit.score.value >= least);
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

/// Moves near copies of better hits from other documents down, so that old versions of one file do
/// not crowd out everything else.
fn demote_copies(rated: &mut [Rated]) {
    let lines: Vec<HashSet<&str>> = rated
        .iter()
        .take(COMPARED)
        .map(|hit| hit.chunk.body().lines().map(str::trim).filter(|line| line.len() > 3).collect())
        .collect();
    let mut copies = Vec::new();
    for (at, (hit, own)) in rated.iter().zip(&lines).enumerate() {
        let copy =
            rated.iter().zip(&lines).take(at).enumerate().any(|(before, (other, theirs))| {
                !copies.contains(&before)
                    && other.document.id != hit.document.id
                    && own.len() > 2
                    && own.intersection(theirs).count() as f64
                        >= COPY * own.len().max(theirs.len()) as f64
            });
        if copy {
            copies.push(at);
        }
    }
    if copies.is_empty() {
        return;
    }
    for at in copies {
        rated[at].score.value *= COPY_WORTH;
    }
    rated.sort_by(|a, b| b.score.value.total_cmp(&a.score.value));
}
