//! Whether a file is still what was indexed; decided by the file, never by the clock.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use quietcontext_store::{FileStamp, Hit, Origin};

use crate::context::Context;
use crate::index::refresh_file;
use crate::open::stamp;

/// The state of a hit's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Unchanged, or not from a file.
    Fresh,
    /// The file differs from what is shown, and could not be indexed again.
    Changed,
    /// The file is not there any more.
    Gone,
}

impl Freshness {
    /// What stands behind the result line.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Fresh => "",
            Self::Changed => " changed",
            Self::Gone => " gone",
        }
    }
}

/// How long the files that have changed are indexed again for one call; the next one goes on.
const SWEEP: Duration = Duration::from_secs(2);

/// What the disk says of a hit's file now.
pub(crate) fn of(context: &Context, hit: &Hit) -> Freshness {
    match (hit.origin, &hit.path, hit.stamp) {
        (Origin::File, Some(path), Some(known)) => now(&context.root.path.join(path), known),
        _ => Freshness::Fresh,
    }
}

/// A link counts as what it leads to.
fn now(path: &Path, known: FileStamp) -> Freshness {
    match std::fs::metadata(path) {
        Ok(found) if stamp(&found) == known => Freshness::Fresh,
        Ok(_) => Freshness::Changed,
        Err(_) => Freshness::Gone,
    }
}

/// Indexes again all known files that have changed: what has come into a file leads no query to it. The
/// first time in a call; `true` when the store holds newer text since.
pub(crate) fn sweep(context: &Context) -> bool {
    *context.swept.get_or_init(|| {
        let until = Instant::now() + SWEEP;
        context.root.set_ran(false);
        let known = context.root.store.known_files("").unwrap_or_default();
        let changed = known.into_iter().filter(|file| {
            now(&context.root.path.join(&file.path), file.stamp) == Freshness::Changed
        });
        let mut any = false;
        for file in changed {
            if context.cancel.is_cancelled() || Instant::now() > until {
                context.root.set_ran(true);
                break;
            }
            any |= again(context, &file.label, &file.path);
        }
        any
    })
}

/// Indexes again the changed files behind `hits`; `true` when the store holds newer text now.
pub(crate) fn refresh(context: &Context, hits: &[Hit]) -> bool {
    let mut done = HashSet::new();
    let mut any = false;
    for hit in hits {
        if context.late() || of(context, hit) != Freshness::Changed {
            continue;
        }
        let Some(path) = &hit.path else { continue };
        if done.insert(hit.source.clone()) {
            any |= again(context, &hit.source, path);
        }
    }
    any
}

fn again(context: &Context, label: &str, path: &str) -> bool {
    refresh_file(context, label, Path::new(path))
        .inspect_err(|error| tracing::warn!(%error, "a changed file was not indexed again"))
        .is_ok()
}
