//! Whether the file behind a hit is still what was indexed; decided by the file, never by the clock.

use std::collections::HashSet;
use std::path::Path;

use quietcontext_store::{Hit, Origin};

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

/// What the disk says of a hit's file now.
pub(crate) fn of(context: &Context, hit: &Hit) -> Freshness {
    let (Origin::File, Some(path), Some(known)) = (hit.origin, &hit.path, hit.stamp) else {
        return Freshness::Fresh;
    };
    match std::fs::symlink_metadata(context.root.path.join(path)) {
        Ok(found) if found.file_type().is_symlink() => {
            match std::fs::metadata(context.root.path.join(path)) {
                Ok(found) if stamp(&found) == known => Freshness::Fresh,
                Ok(_) => Freshness::Changed,
                Err(_) => Freshness::Gone,
            }
        }
        Ok(found) if stamp(&found) == known => Freshness::Fresh,
        Ok(_) => Freshness::Changed,
        Err(_) => Freshness::Gone,
    }
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
            match refresh_file(context, &hit.source, Path::new(path)) {
                Ok(()) => any = true,
                Err(error) => tracing::warn!(%error, "a changed file was not indexed again"),
            }
        }
    }
    any
}
