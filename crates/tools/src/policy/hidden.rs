//! What the rules take out of a program's view: files and directories, and programs.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Rules;
use super::read::Place;

/// Most entries that are looked at for one set of rules.
const ENTRIES: usize = 400_000;
/// Most paths that are hidden: each is a mount in the box.
const PATHS: usize = 1_024;
/// A directory that changed this short ago may change again without its time stamp saying so.
const SETTLED: Duration = Duration::from_millis(100);

/// Where programs are besides the search path.
const DIRECTORIES: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/snap/bin"];
/// A project's own programs, below the root.
const PROJECT: &[&str] = &[".venv/bin", "node_modules/.bin"];
/// Programs that are many programs: without them far more than the named one would be gone.
const MANY: &[&str] =
    &["asdf", "busybox", "coreutils", "mise", "proto", "rustup", "snap", "toybox", "volta-shim"];

/// What was found in directories, each as it was when last looked at.
#[derive(Debug, Default)]
pub(super) struct Listings(HashMap<PathBuf, Listing>);

#[derive(Debug, Clone)]
struct Listing {
    stamp: (u64, u64, i64, i64, i64, i64),
    settled: bool,
    /// Directories to go on with.
    directories: Vec<OsString>,
    /// What is denied here.
    denied: Vec<OsString>,
    entries: usize,
}

/// Where a search may go.
pub(super) struct Bounds<'a> {
    pub root: &'a Path,
    pub home: Option<&'a Path>,
    /// Directories beyond the root that may be read.
    pub readable: &'a [PathBuf],
}

/// The existing paths that the rules deny to read, without links.
///
/// # Errors
/// One line: more than can be hidden or looked at, or the workspace itself is denied.
pub(super) fn paths(
    rules: &Rules,
    listings: &mut Listings,
    bounds: &Bounds<'_>,
) -> Result<Vec<PathBuf>, String> {
    let mut found = BTreeSet::new();
    let mut searches: HashMap<PathBuf, Vec<&Place>> = HashMap::new();
    for place in rules.loaded.read.iter().flat_map(|rule| &rule.rule.places) {
        if let Some(exact) = &place.exact {
            found.extend(exact.canonicalize().ok());
        } else if too_wide(&place.start, bounds) {
            for start in
                std::iter::once(bounds.root).chain(bounds.readable.iter().map(AsRef::as_ref))
            {
                searches.entry(start.to_owned()).or_default().push(place);
            }
        } else {
            searches.entry(place.start.clone()).or_default().push(place);
        }
    }
    let mut seen = HashMap::new();
    let mut entries = 0;
    for (start, places) in searches {
        let Ok(start) = start.canonicalize() else { continue };
        if places.iter().any(|place| place.denies(&start, true)) {
            found.insert(start);
            continue;
        }
        let mut open = vec![start];
        while let Some(directory) = open.pop() {
            let Some(listing) = listing(listings, &directory, &places) else { continue };
            entries += listing.entries;
            if entries > ENTRIES {
                return Err(format!(
                    "the Read deny rules would need more than {ENTRIES} files looked at: the user can name a directory in them"
                ));
            }
            open.extend(listing.directories.iter().map(|name| directory.join(name)));
            let denied = listing.denied.iter().map(|name| directory.join(name));
            found.extend(denied.filter_map(|path| path.canonicalize().ok()));
            seen.insert(directory, listing);
        }
    }
    listings.0 = seen;
    if let Some(above) = found.iter().find(|path| bounds.root.starts_with(path)) {
        let rule = rules.reading(above, true).unwrap_or("a Read rule");
        return Err(format!("{rule} denies the whole workspace, so no program can run in it"));
    }
    if found.len() > PATHS {
        return Err(format!(
            "the Read deny rules mean {} paths here, at most {PATHS} can be hidden: the user can name a directory in them",
            found.len()
        ));
    }
    Ok(found.into_iter().collect())
}

/// Whether a search from here would go through the home or the whole disk.
fn too_wide(start: &Path, bounds: &Bounds<'_>) -> bool {
    let above_home = bounds.home.is_some_and(|home| home.starts_with(start));
    above_home || (bounds.root.starts_with(start) && bounds.root != start)
}

fn listing(listings: &mut Listings, directory: &Path, places: &[&Place]) -> Option<Listing> {
    let found = std::fs::symlink_metadata(directory).ok().filter(Metadata::is_dir)?;
    let stamp = (
        found.dev(),
        found.ino(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    );
    if let Some(known) = listings.0.remove(directory)
        && known.settled
        && known.stamp == stamp
    {
        return Some(known);
    }
    let age = found.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    let settled = age.is_some_and(|age| age > SETTLED);
    let (mut directories, mut denied, mut entries) = (Vec::new(), Vec::new(), 0);
    // Git's own objects are no files that a rule means.
    let objects = directory.file_name() == Some(OsStr::new(".git"));
    for entry in std::fs::read_dir(directory).ok()?.flatten() {
        entries += 1;
        let name = entry.file_name();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let path = directory.join(&name);
        // A pattern for directories means a link to one as well.
        let link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let as_directory = is_directory || (link && path.is_dir());
        if places.iter().any(|place| place.denies_entry(&path, as_directory)) {
            denied.push(name);
        } else if is_directory && !(objects && name == "objects") {
            directories.push(name);
        }
    }
    Some(Listing { stamp, settled, directories, denied, entries })
}

/// The programs that rules deny whatever their arguments are: real paths, with the index of the rule.
pub(super) fn programs(rules: &Rules, root: &Path, search_path: &OsStr) -> Vec<(PathBuf, usize)> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .chain(DIRECTORIES.iter().map(PathBuf::from))
        .chain(PROJECT.iter().map(|folder| root.join(folder)))
        .collect();
    folders.sort_unstable();
    folders.dedup();
    for (index, rule) in rules.loaded.bash.iter().enumerate() {
        let Some(name) = rule.rule.program() else { continue };
        let candidates: Vec<PathBuf> = if name.contains('/') {
            let absolute = Path::new(name).is_absolute();
            absolute.then(|| PathBuf::from(name)).into_iter().collect()
        } else {
            folders.iter().map(|folder| folder.join(name)).collect()
        };
        for candidate in candidates {
            let Ok(real) = candidate.canonicalize() else { continue };
            let many = real.file_name().is_some_and(|n| MANY.iter().any(|many| n == *many));
            if !many && real.is_file() && !found.iter().any(|(known, _)| *known == real) {
                found.push((real, index));
            }
        }
    }
    found
}
