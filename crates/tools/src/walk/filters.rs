//! The caller's filters of a directory: globs, extensions, depth.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::args::index::PathArgs;

/// The caller's filters.
#[derive(Debug)]
pub(crate) struct Filters {
    include: Option<Gitignore>,
    exclude: Option<Gitignore>,
    extensions: Vec<String>,
    pub(super) max_depth: Option<usize>,
    pub(super) max_files: u64,
    pub(super) respect_gitignore: bool,
    pub(super) follow_symlinks: bool,
}

impl Filters {
    /// Compiles the filters of a call.
    ///
    /// # Errors
    /// A line that names a pattern which is not one.
    pub(crate) fn new(args: &PathArgs) -> Result<Self, String> {
        Ok(Self {
            include: globs("include", &args.include)?,
            exclude: globs("exclude", &args.exclude)?,
            extensions: args
                .extensions
                .iter()
                .map(|extension| extension.trim_start_matches('.').to_ascii_lowercase())
                .collect(),
            max_depth: args.max_depth,
            max_files: args.max_files,
            respect_gitignore: args.respect_gitignore,
            follow_symlinks: args.follow_symlinks,
        })
    }

    /// Whether the caller wants a file of that path below the start.
    pub(super) fn wants(&self, below: &Path) -> bool {
        let extension = || below.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let listed = self.extensions.is_empty()
            || extension().is_some_and(|extension| self.extensions.contains(&extension));
        let included = self
            .include
            .as_ref()
            .is_none_or(|globs| globs.matched_path_or_any_parents(below, false).is_ignore());
        let excluded = self
            .exclude
            .as_ref()
            .is_some_and(|globs| globs.matched_path_or_any_parents(below, false).is_ignore());
        listed && included && !excluded
    }

    /// Whether a walk from `start` with these filters could come to `path`.
    pub(crate) fn would_visit(&self, start: &Path, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(start) else { return false };
        let depth = below.components().count();
        self.max_depth.is_none_or(|most| depth <= most.max(1)) && self.wants(below)
    }
}

fn globs(name: &str, patterns: &[String]) -> Result<Option<Gitignore>, String> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        builder.add_line(None, pattern).map_err(|_| {
            format!("{name} holds {}, which is no glob", crate::render::short(pattern))
        })?;
    }
    builder.build().map(Some).map_err(|error| format!("{name} is not usable: {error}"))
}
