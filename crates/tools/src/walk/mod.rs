//! Which files of a directory are indexed: git's rules, the caller's filters, and what is never wanted.

mod filters;
#[cfg(test)]
mod tests;
mod wanted;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder};
use quietcontext_store::FileStamp;

use crate::limits;
use crate::open::stamp;

pub(crate) use filters::Filters;
use wanted::{Entry, folder, in_git, link, plain_rules, unwanted_name};
pub(crate) use wanted::{Reason, unwanted_content};

/// A file to index.
#[derive(Debug)]
pub(crate) struct Found {
    pub path: PathBuf,
    pub stamp: FileStamp,
}

/// What was skipped, by reason, and what was left because enough was found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Skipped {
    counts: BTreeMap<Reason, u64>,
    pub left: u64,
}

impl Skipped {
    fn add(&mut self, reason: Reason) {
        *self.counts.entry(reason).or_default() += 1;
    }

    /// The reasons in words, with their counts.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(reason, count)| (reason.words(), *count))
    }
}

/// What a walk notes of the folders it comes through.
#[derive(Debug, Default)]
struct Folders {
    skipped: Skipped,
    /// Entries of the folders that were entered: those that were not offered, git's rules ignore.
    listed: u64,
    offered: u64,
}

impl Folders {
    fn enter(&mut self, folder: &Path) {
        self.listed +=
            std::fs::read_dir(folder).map_or(0, |entries| entries.flatten().count()) as u64;
    }
}

/// A sorted walk below a directory. Iterate, then [`Walk::finish`].
pub(crate) struct Walk<'a> {
    walker: ignore::Walk,
    filters: &'a Filters,
    start: PathBuf,
    skipped: Skipped,
    folders: Arc<Mutex<Folders>>,
    found: u64,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(base: &Path, relative: &Path, filters: &'a Filters) -> Self {
        let start = base.join(relative);
        let folders = Arc::new(Mutex::new(Folders::default()));
        let (counted, base) = (Arc::clone(&folders), base.to_owned());
        let rules = filters.respect_gitignore;
        let git = in_git(&start) && rules;
        let deepest = filters.max_depth.map_or(usize::MAX, |depth| depth.max(1));
        if git {
            folders.lock().unwrap_or_else(PoisonError::into_inner).enter(&start);
        }
        let readable = |entry: &DirEntry| {
            !entry.file_type().is_some_and(|kind| kind.is_dir()) || plain_rules(entry.path())
        };
        let mut builder = WalkBuilder::new(&start);
        builder
            .hidden(false)
            .ignore(false)
            .git_ignore(filters.respect_gitignore)
            .git_exclude(filters.respect_gitignore)
            .git_global(filters.respect_gitignore)
            .parents(filters.respect_gitignore)
            .require_git(true)
            .follow_links(filters.follow_symlinks)
            .max_depth(filters.max_depth.map(|depth| depth.max(1)))
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| {
                let verdict = match folder(entry, git) {
                    Entry::Visit if rules && !readable(entry) => Entry::Skip(Reason::Unreadable),
                    Entry::Visit => link(entry, &base),
                    other => other,
                };
                let mut folders = counted.lock().unwrap_or_else(PoisonError::into_inner);
                folders.offered += 1;
                if let Entry::Skip(reason) = verdict {
                    folders.skipped.add(reason);
                }
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                if git && verdict == Entry::Visit && is_folder && entry.depth() < deepest {
                    folders.enter(entry.path());
                }
                verdict == Entry::Visit
            });
        Self {
            walker: builder.build(),
            filters,
            start,
            skipped: Skipped::default(),
            folders,
            found: 0,
        }
    }

    /// Counts a file that was found and then not wanted.
    pub(crate) fn pass_over(&mut self, reason: Reason) {
        self.skipped.add(reason);
    }

    /// What was skipped; the files that no room was left for are counted.
    pub(crate) fn finish(mut self) -> Skipped {
        let folders =
            std::mem::take(&mut *self.folders.lock().unwrap_or_else(PoisonError::into_inner));
        let ignored = folders.listed.saturating_sub(folders.offered);
        if ignored > 0 {
            self.skipped.counts.insert(Reason::Ignored, ignored);
        }
        for (reason, count) in folders.skipped.counts {
            *self.skipped.counts.entry(reason).or_default() += count;
        }
        self.skipped
    }

    /// The file of an entry, if it is one that is wanted.
    fn look(&mut self, entry: Result<DirEntry, ignore::Error>) -> Option<Found> {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // A rule file with a bad pattern is no unreadable entry.
                if error.io_error().is_some() || matches!(error, ignore::Error::Loop { .. }) {
                    self.skipped.add(Reason::Unreadable);
                }
                return None;
            }
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            return None;
        }
        let path = entry.path();
        let below = path.strip_prefix(&self.start).unwrap_or(path).to_owned();
        if !self.filters.wants(&below) {
            return None;
        }
        if kind.is_symlink() {
            self.skipped.add(Reason::LinkOut);
            return None;
        }
        match judge(path, kind.is_file()) {
            Ok(stamp) => Some(Found { path: path.to_owned(), stamp }),
            Err(reason) => {
                self.skipped.add(reason);
                None
            }
        }
    }
}

/// The first directory, of the one that is walked and those above, whose rules cannot be read.
pub(crate) fn odd_rules(start: &Path) -> Option<&Path> {
    start.ancestors().find(|directory| !plain_rules(directory))
}

/// The stamp of a file that is wanted, else why it is not.
fn judge(path: &Path, regular: bool) -> Result<FileStamp, Reason> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if let Some(reason) = unwanted_name(name) {
        return Err(reason);
    }
    if !regular {
        return Err(Reason::NotAFile);
    }
    let found = std::fs::metadata(path).map_err(|_| Reason::Unreadable)?;
    match found.len() {
        0 => return Err(Reason::Empty),
        size if size > limits::DIRECTORY_FILE_BYTES => return Err(Reason::TooLarge),
        _ => {}
    }
    Ok(stamp(&found))
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let entry = self.walker.next()?;
            let Some(found) = self.look(entry) else { continue };
            if self.found == self.filters.max_files {
                self.skipped.left += 1;
                continue;
            }
            self.found += 1;
            return Some(found);
        }
    }
}
