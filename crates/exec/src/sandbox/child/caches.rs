//! Caches of tools: a directory of the workspace's own in the home, and a writable layer over the
//! user's real ones, which are never written.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, mkdirat, openat};

use super::super::codec::wire_struct;
use super::super::profile::Profile;
use super::super::report::{Failure, Step};
use super::super::table::{CACHE_DIRECTORY, CACHES};
use super::mounts::Access;
use super::view::View;

/// The workspace's caches on the disk:
///
/// ```text
/// lock              held by the box that writes the layers
/// cache/            `~/.cache` of every box
/// layers/<name>/    `upper` and `work` of one layer
/// ```
#[derive(Debug)]
pub(super) struct Caches {
    directory: PathBuf,
    /// Two mounts must not write one layer: the first box has them, and one that runs beside it
    /// gets layers that end with it.
    lasting: bool,
}

wire_struct!(Caches { directory, lasting });

/// Held for as long as a box has the lasting layers.
#[derive(Debug)]
pub(super) struct Hold(#[expect(dead_code, reason = "the open file is the lock")] Option<File>);

/// The two directories of a writable layer.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) upper: PathBuf,
    pub(super) work: PathBuf,
    /// Keeps what the paths lead through open.
    _through: Option<OwnedFd>,
}

/// Prepares the caches, outside. Where that fails programs go without: nothing is less confined.
pub(super) fn prepare(profile: &Profile) -> Option<(Caches, Hold)> {
    let directory = profile.caches.clone()?;
    make(&directory.join("cache")).ok()?;
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join("lock"))
        .ok()
        .filter(|lock| flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok());
    Some((Caches { directory, lasting: lock.is_some() }, Hold(lock)))
}

fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

impl Caches {
    /// `~/.cache` on the host's disk.
    pub(super) fn directory(&self) -> PathBuf {
        self.directory.join("cache")
    }

    /// Shows the workspace's cache directory in a home.
    pub(super) fn show(&self, view: &View, home: &Path) -> Result<(), Failure> {
        view.bind(Step::Home, &self.directory(), &home.join(CACHE_DIRECTORY), Access::Writable)
    }

    /// The lasting layer over a row of the table, if this box is the one that may write it.
    fn lasting(&self, name: &str) -> Option<Layer> {
        if !self.lasting {
            return None;
        }
        let place = self.directory.join("layers").join(name.replace('/', "%"));
        let (upper, work) = (place.join("upper"), place.join("work"));
        make(&upper).and_then(|()| make(&work)).ok()?;
        Some(Layer { upper, work, _through: None })
    }
}

/// Puts the real cache at `source` into the view with a writable layer over it: the lasting one,
/// else one that ends with the box, else none.
pub(super) fn layer(
    view: &View,
    caches: Option<&Caches>,
    (source, target): (&Path, &Path),
    name: &str,
) -> Result<(), Failure> {
    let lasting = caches.and_then(|caches| caches.lasting(name));
    let layers = [lasting, passing(view, name).ok()];
    for layer in layers.into_iter().flatten() {
        if view.layer(source, target, &layer).is_ok() {
            return Ok(());
        }
    }
    view.bind(Step::Home, source, target, Access::ReadOnly)
}

/// A layer in the box's own space.
fn passing(view: &View, name: &str) -> rustix::io::Result<Layer> {
    let name = name.replace('/', "%");
    mkdirat(view.space(), &name, Mode::RWXU)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let place = openat(view.space(), &name, flags, Mode::empty())?;
    for part in ["upper", "work"] {
        mkdirat(&place, part, Mode::RWXU)?;
    }
    let path = PathBuf::from(format!("/proc/self/fd/{}", place.as_raw_fd()));
    Ok(Layer { upper: path.join("upper"), work: path.join("work"), _through: Some(place) })
}

/// Variables that lead tools to the cache directory, where their own place is not writable.
pub(super) fn variables(profile: &Profile, directory: &Path) -> Vec<(OsString, OsString)> {
    let missing = |real: &str| !real.is_empty() && profile.home.join(real).is_dir();
    let rows = CACHES.iter().filter(|(_, _, real)| !missing(real));
    rows.map(|(name, part, _)| ((*name).into(), directory.join(part).into_os_string())).collect()
}
