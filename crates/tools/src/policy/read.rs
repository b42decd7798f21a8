//! The specifier of a `Read(…)` rule: a pattern as in `.gitignore`, and what it is relative to.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::settings::{Bases, Source};

/// What a rule denies to read.
#[derive(Debug)]
pub(super) struct ReadRule {
    pub places: Vec<Place>,
}

/// One reading of a pattern.
#[derive(Debug)]
pub(super) struct Place {
    /// The pattern is relative to this directory.
    base: PathBuf,
    glob: Gitignore,
    /// The one path below which everything is meant, where no search is needed.
    pub exact: Option<PathBuf>,
    /// Where a search begins.
    pub start: PathBuf,
}

impl ReadRule {
    /// Reads `//absolute`, `~/home`, `/anchored`, `./relative` and plain patterns.
    pub(super) fn new(specifier: &str, source: &Source, bases: &Bases<'_>) -> Result<Self, String> {
        let specifier = if specifier.trim().is_empty() { "//**" } else { specifier.trim() };
        let root = || vec![bases.root.to_owned()];
        let (bases, pattern, anchored) = if let Some(rest) = specifier.strip_prefix("//") {
            (vec![PathBuf::from("/")], rest, true)
        } else if let Some(rest) = specifier.strip_prefix("~/") {
            (bases.home.iter().map(|home| (*home).to_owned()).collect(), rest, true)
        } else if let Some(rest) = specifier.strip_prefix('/') {
            (source.anchors.clone(), rest, true)
        } else {
            // `./name` means `name`, in any directory below: so the client takes it.
            (root(), specifier.strip_prefix("./").unwrap_or(specifier), false)
        };
        let mut places = Vec::new();
        for base in bases {
            let (base, pattern, up) = upwards(&base, pattern)?;
            let anchored = anchored || up;
            let place = Place::new(&base, pattern, anchored)?;
            // The directory may be reached through links; both ways are meant.
            if let Ok(real) = place.start.canonicalize()
                && real != place.start
                && let Ok(below) = place.start.strip_prefix(&base)
            {
                let count = below.components().count();
                let rest: Vec<&str> = components(pattern).skip(count).collect();
                let name = real.file_name().map(|name| escaped(&name.to_string_lossy()));
                if let (Some(parent), Some(name)) = (real.parent(), name) {
                    let rest = rest.into_iter().fold(name, |path, part| path + "/" + part);
                    places.push(Place::new(parent, &rest, true)?);
                }
            }
            places.push(place);
        }
        Ok(Self { places })
    }

    /// Whether a path is meant; absolute and without links.
    pub(super) fn denies(&self, path: &Path, directory: bool) -> bool {
        self.places.iter().any(|place| place.denies(path, directory))
    }
}

impl Place {
    fn new(base: &Path, pattern: &str, anchored: bool) -> Result<Self, String> {
        let anchored = anchored || pattern.trim_end_matches('/').contains('/');
        // A leading `!` would allow, `#` would be a comment.
        let line = match pattern.chars().next() {
            _ if anchored => format!("/{pattern}"),
            Some('!' | '#') => format!("\\{pattern}"),
            _ => pattern.to_owned(),
        };
        let mut builder = GitignoreBuilder::new(base);
        let add = |builder: &mut GitignoreBuilder| -> Result<Gitignore, ignore::Error> {
            builder.case_insensitive(true)?;
            builder.add_line(None, &line)?;
            builder.build()
        };
        let glob = add(&mut builder).map_err(|_| "is no pattern".to_owned())?;
        if glob.is_empty() {
            return Err("is no pattern".to_owned());
        }
        let parts: Vec<&str> = components(pattern).collect();
        let literal =
            if anchored { parts.iter().take_while(|part| plain(part)).count() } else { 0 };
        let start = parts.iter().take(literal).fold(base.to_owned(), |path, part| path.join(part));
        let all = parts.iter().skip(literal).all(|part| matches!(*part, "**" | "*"));
        let exact = (literal > 0 && all).then(|| start.clone());
        Ok(Self { base: base.to_owned(), glob, exact, start })
    }

    /// Whether a path is meant, by itself or by a directory above it.
    pub(super) fn denies(&self, path: &Path, directory: bool) -> bool {
        let Ok(below) = path.strip_prefix(&self.base) else { return false };
        let exact = self.exact.as_ref().is_some_and(|exact| path.starts_with(exact));
        exact
            || (!below.as_os_str().is_empty()
                && self.glob.matched_path_or_any_parents(below, directory).is_ignore())
    }

    /// As [`Self::denies`], where the directories above are known not to be meant.
    pub(super) fn denies_entry(&self, path: &Path, directory: bool) -> bool {
        path.strip_prefix(&self.base)
            .is_ok_and(|below| self.glob.matched(below, directory).is_ignore())
    }
}

/// The base and the pattern without leading `..`, and whether there were any.
fn upwards<'p>(base: &Path, mut pattern: &'p str) -> Result<(PathBuf, &'p str, bool), String> {
    let mut above = base.to_owned();
    let mut up = false;
    while let Some(rest) = pattern.strip_prefix("../") {
        above.pop();
        pattern = rest;
        up = true;
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err("has .. in its middle; the path can be written without it".to_owned());
    }
    Ok((above, pattern, up))
}

fn components(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Whether a part of a pattern is a name.
fn plain(part: &str) -> bool {
    !part.contains(['*', '?', '[', ']', '\\', '{', '}', '!'])
}

/// A name as a pattern that means it.
fn escaped(name: &str) -> String {
    let mut pattern = String::new();
    for character in name.chars() {
        if "*?[]\\{}!#".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}
