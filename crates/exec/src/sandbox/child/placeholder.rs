//! Something that stands where nothing may be created, for as long as boxes run.
//!
//! A mount needs something to cover. It is marked (sticky bit, nothing but its own content), so
//! that one left by a crash is known and removed by the next run; and locked, so that of several
//! boxes on one workspace the last removes it.

use std::fs::Metadata;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, ResolveFlags, fchmod, flock, fstat, mkdirat, openat,
    openat2, statat, unlinkat,
};

/// What a placeholder is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An empty directory, which git does not see; also in place of a file.
    Directory,
    /// A file with a content that changes nothing for its readers.
    File(&'static [u8]),
}

/// Marks a placeholder: nobody sets it on such things otherwise.
const STICKY: u32 = 0o1000;
/// Longest content of a placeholder file.
const LONGEST: u64 = 8;
/// Times that making one may lose against another box that removes it.
const TRIES: usize = 100;

/// One placeholder, held.
#[derive(Debug)]
pub(super) struct Placeholder {
    parent: OwnedFd,
    name: PathBuf,
    kind: Kind,
    held: OwnedFd,
}

impl Placeholder {
    /// Whether what was found at a path is a placeholder: of a box that runs, or left over.
    pub(super) fn is_one(path: &Path, found: &Metadata) -> bool {
        if found.permissions().mode() & STICKY == 0
            || found.uid() != rustix::process::geteuid().as_raw()
        {
            return false;
        }
        if found.is_dir() {
            std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
        } else {
            found.is_file() && found.len() <= LONGEST
        }
    }

    /// Makes one, or holds the one that is there.
    pub(super) fn hold(path: &Path, kind: Kind) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let parent = openat2(
            rustix::fs::CWD,
            parent,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        )?;
        for _ in 0..TRIES {
            let made = match kind {
                Kind::Directory => mkdirat(&parent, name, Mode::from_raw_mode(0o1755)),
                Kind::File(content) => make_file(&parent, name.as_ref(), content),
            };
            match made {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let held = match openat(&parent, name, flags, Mode::empty()) {
                Ok(held) => held,
                Err(rustix::io::Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            rustix::io::retry_on_intr(|| flock(&held, FlockOperation::LockShared))?;
            // Whoever removed it before we had the lock took away what we hold.
            if is_there(&parent, name.as_ref(), &held) {
                return Ok(Self { parent, name: name.into(), kind, held });
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Removes it, unless another box holds it or somebody made something of it. Letting go of it
    /// afterwards is what takes time.
    pub(super) fn remove(&self) {
        if flock(&self.held, FlockOperation::NonBlockingLockExclusive).is_err()
            || !is_there(&self.parent, &self.name, &self.held)
        {
            return;
        }
        let _ = match self.kind {
            // Only an empty one goes.
            Kind::Directory => unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR),
            Kind::File(content) => {
                let mut found = [0; LONGEST as usize + 1];
                match rustix::io::pread(&self.held, &mut found, 0) {
                    Ok(length) if found.get(..length) == Some(content) => {
                        unlinkat(&self.parent, &self.name, AtFlags::empty())
                    }
                    _ => Ok(()),
                }
            }
        };
    }
}

fn make_file(parent: &OwnedFd, name: &Path, content: &[u8]) -> rustix::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(parent, name, flags, Mode::from_raw_mode(0o600))?;
    rustix::io::write(&file, content)?;
    // `open` does not take the mark.
    fchmod(&file, Mode::from_raw_mode(0o1644))
}

/// Whether a name still stands for what is held.
fn is_there(parent: &OwnedFd, name: &Path, held: &OwnedFd) -> bool {
    let at = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    matches!((at, fstat(held)), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &Path) -> Option<Metadata> {
        std::fs::symlink_metadata(path).ok()
    }

    #[test]
    fn the_last_holder_removes_it() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for kind in [Kind::Directory, Kind::File(b".\n")] {
            let path = base.join("x");
            let first = Placeholder::hold(&path, kind).unwrap();
            assert!(Placeholder::is_one(&path, &found(&path).unwrap()));
            let second = Placeholder::hold(&path, kind).unwrap();
            first.remove();
            assert!(found(&path).is_some(), "the second still holds it");
            second.remove();
            assert!(found(&path).is_none());
        }
    }

    #[test]
    fn what_somebody_made_of_it_stays() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        let directory = Placeholder::hold(&base.join("d"), Kind::Directory).unwrap();
        std::fs::write(base.join("d/settings.json"), "{}").unwrap();
        assert!(!Placeholder::is_one(&base.join("d"), &found(&base.join("d")).unwrap()));
        directory.remove();
        assert!(base.join("d/settings.json").exists());
        let file = Placeholder::hold(&base.join("f"), Kind::File(b".\n")).unwrap();
        std::fs::write(base.join("f"), "other").unwrap();
        file.remove();
        assert!(base.join("f").exists());
    }

    #[test]
    fn an_ordinary_empty_directory_is_none() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("plain");
        std::fs::create_dir(&path).unwrap();
        assert!(!Placeholder::is_one(&path, &found(&path).unwrap()));
    }

    #[test]
    fn a_crowd_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        let path = &base.join("x");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(move || {
                    for _ in 0..50 {
                        let held = Placeholder::hold(path, Kind::Directory).unwrap();
                        assert!(found(path).is_some());
                        held.remove();
                    }
                });
            }
        });
        assert!(found(path).is_none());
    }
}
