//! The view: the host's tree read-only, hidden directories empty, and what comes back on top.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, UnmountFlags, unmount};
use rustix::process::pivot_root;

use super::super::profile::Profile;
use super::super::report::{Failure, InStep as _, Step};
use super::caches::Layer;
use super::mounts::{self, Access};

/// The tree under construction, mounted over the host's root and not yet entered.
#[derive(Debug)]
pub(super) struct View {
    root: OwnedFd,
    /// The box's own space: one small file system whose directories become home, `/tmp` and so on.
    space: OwnedFd,
}

/// Directory of [`View::space`] that holds what stands in for hidden things.
const NOTHING: &str = "nothing";

impl View {
    /// Copies the tree, makes it read-only and attaches it; makes the box's own space.
    pub(super) fn new(profile: &Profile) -> Result<Self, Failure> {
        let root = mounts::copy_root().step(Step::View, "copy of /")?;
        mounts::restrict(&root, Access::ReadOnly).step(Step::View, "read-only /")?;
        let host = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .step(Step::View, "/")?;
        mounts::attach(&root, &host).step(Step::View, "/")?;
        let bytes = profile.limits.temporary_bytes;
        let size = if bytes == 0 { "50%".to_owned() } else { bytes.to_string() };
        let space = mounts::new(
            c"tmpfs",
            &[(c"size", &size), (c"nr_inodes", "1000000"), (c"mode", "0755")],
            MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
        )
        .step(Step::View, "temporary space")?;
        let view = Self { root, space };
        // It has to be attached somewhere before its directories can be bound; `/dev` is covered
        // by the box's own later.
        mounts::attach(&view.space, view.find(Path::new("/dev")).step(Step::View, "/dev")?)
            .step(Step::View, "temporary space")?;
        mkdirat(&view.space, NOTHING, Mode::RWXU).step(Step::View, NOTHING)?;
        let nothing = openat(&view.space, NOTHING, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .step(Step::View, NOTHING)?;
        mkdirat(&nothing, "directory", Mode::empty()).step(Step::View, NOTHING)?;
        openat(&nothing, "file", OFlags::CREATE | OFlags::CLOEXEC, Mode::empty())
            .step(Step::View, NOTHING)?;
        Ok(view)
    }

    /// The thing at an absolute path in the new tree; links are followed inside it.
    pub(super) fn find(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        self.open(path, ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
    }

    /// The same where no part may be a symbolic link.
    pub(super) fn find_exact(&self, path: &Path) -> rustix::io::Result<OwnedFd> {
        self.open(path, ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS)
    }

    fn open(&self, path: &Path, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        openat2(&self.root, path, flags, Mode::empty(), resolve)
    }

    /// Makes a directory of the box's own space and puts it at `path`; false where there is no such
    /// place.
    pub(super) fn empty(&self, path: &Path, name: &str, mode: Mode) -> Result<bool, Failure> {
        let shown = path.display().to_string();
        // A home below an emptied directory is made anew; one that is nowhere stays so.
        let place = match self.make(path, true) {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ROFS | Errno::ACCESS) => return Ok(false),
            Err(error) => return Err(Failure::new(Step::View, shown, error)),
        };
        mkdirat(&self.space, name, mode).step(Step::View, &shown)?;
        let directory = openat(
            &self.space,
            name,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .step(Step::View, &shown)?;
        let tree = mounts::copy_tree(directory.as_fd()).step(Step::View, &shown)?;
        mounts::attach(&tree, &place).step(Step::View, &shown)?;
        Ok(true)
    }

    /// Binds what the host has at `source` to the same or another path of the view, which is made
    /// where it does not exist.
    pub(super) fn bind(
        &self,
        step: Step,
        source: &Path,
        target: &Path,
        access: Access,
    ) -> Result<(), Failure> {
        let shown = target.display().to_string();
        let from = host(source).step(step, &shown)?;
        let tree = mounts::copy_tree(from.as_fd()).step(step, &shown)?;
        mounts::restrict(&tree, access).step(step, &shown)?;
        let is_directory = rustix::fs::FileType::from_raw_mode(
            rustix::fs::fstat(&from).step(step, &shown)?.st_mode,
        )
        .is_dir();
        let place = self.make(target, is_directory).step(step, &shown)?;
        mounts::attach(&tree, &place).step(step, &shown)
    }

    /// Puts the host's directory at `source` to `target` with a writable layer over it.
    pub(super) fn layer(&self, source: &Path, target: &Path, layer: &Layer) -> io::Result<()> {
        // A colon separates layers.
        let escaped = |path: &Path| {
            let text = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
            Ok::<_, io::Error>(text.replace('\\', "\\\\").replace(':', "\\:"))
        };
        let (lower, upper, work) =
            (escaped(source)?, escaped(&layer.upper)?, escaped(&layer.work)?);
        let options: &[(&CStr, &str)] = &[
            (c"lowerdir", &lower),
            (c"upperdir", &upper),
            (c"workdir", &work),
            (c"userxattr", ""),
        ];
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let tree = mounts::new(c"overlay", options, attributes)?;
        let place = self.make(target, true)?;
        Ok(mounts::attach(&tree, &place)?)
    }

    /// Covers what the view has at `path` by itself, with the given access. What is not in the
    /// view is left alone.
    pub(super) fn cover_by_itself(&self, path: &Path, access: Access) -> Result<(), Failure> {
        let shown = path.display().to_string();
        let place = self.find_exact(path).step(Step::ProtectedPaths, &shown)?;
        let tree = mounts::copy_tree(place.as_fd()).step(Step::ProtectedPaths, &shown)?;
        mounts::restrict(&tree, access).step(Step::ProtectedPaths, &shown)?;
        mounts::attach(&tree, &place).step(Step::ProtectedPaths, &shown)
    }

    /// Takes what is at `path` out of the view: something unreadable stands there instead.
    pub(super) fn remove(&self, path: &Path) -> Result<(), Failure> {
        let shown = path.display().to_string();
        let place = match self.find_exact(path) {
            Ok(place) => place,
            // Not there, or under something hidden already.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(Failure::new(Step::View, shown, error)),
        };
        let mode = rustix::fs::fstat(&place).step(Step::View, &shown)?.st_mode;
        let kind = rustix::fs::FileType::from_raw_mode(mode);
        let stand_in = if kind.is_dir() { "nothing/directory" } else { "nothing/file" };
        let nothing = openat(&self.space, stand_in, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .step(Step::View, &shown)?;
        let tree = mounts::copy_tree(nothing.as_fd()).step(Step::View, &shown)?;
        mounts::restrict(&tree, Access::ReadOnly).step(Step::View, &shown)?;
        mounts::attach(&tree, &place).step(Step::View, &shown)
    }

    /// The place `path` of the view, made with its parents where it is missing (which only the
    /// box's own space allows).
    pub(super) fn make(&self, path: &Path, directory: bool) -> rustix::io::Result<OwnedFd> {
        match self.find_exact(path) {
            Err(Errno::NOENT) => {}
            found => return found,
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::NOENT);
        };
        let parent = self.make(parent, true)?;
        if directory {
            mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
        } else {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            openat(&parent, name, flags, Mode::from_raw_mode(0o644))?;
        }
        self.find_exact(path)
    }

    /// The box's own space, to make more in it.
    pub(super) fn space(&self) -> &OwnedFd {
        &self.space
    }

    /// Enters the view and lets go of the host's tree.
    pub(super) fn enter(self) -> Result<(), Failure> {
        rustix::process::fchdir(&self.root).step(Step::PivotRoot, "")?;
        pivot_root(".", ".").step(Step::PivotRoot, "")?;
        unmount(".", UnmountFlags::DETACH).step(Step::PivotRoot, "detaching the old root")?;
        rustix::process::chdir("/").step(Step::PivotRoot, "")
    }
}

/// The host's thing at an absolute path without symbolic links.
fn host(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// One thing done to the view; the order of all is by depth, so that what lies deeper wins.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// An empty, private directory.
    Empty,
    /// The host's own, read-only.
    ReadOnly,
    /// The host's own, writable.
    Writable,
}

/// Sorts changes so that parents come before children, and at one place what hides before what
/// shows. The same place twice keeps the last.
pub(super) fn in_order(mut changes: Vec<(PathBuf, Change)>) -> Vec<(PathBuf, Change)> {
    changes.sort_by(|(path, change), (other, other_change)| {
        let depth = |path: &Path| path.components().count();
        (depth(path), path, change).cmp(&(depth(other), other, other_change))
    });
    changes.dedup_by(|(path, change), (other, before)| path == other && change == before);
    changes
}

/// The canonical form of a system directory, if it is one.
pub(super) fn system_directory(path: &str) -> io::Result<Option<PathBuf>> {
    match std::fs::canonicalize(path) {
        Ok(path) if path.is_dir() && path != Path::new("/") => Ok(Some(path)),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeper_wins_and_showing_comes_after_hiding() {
        let path = PathBuf::from;
        let got = in_order(vec![
            (path("/tmp/root"), Change::Writable),
            (path("/home/u"), Change::Empty),
            (path("/tmp"), Change::ReadOnly),
            (path("/home/u/.cargo"), Change::ReadOnly),
            (path("/tmp"), Change::Empty),
            (path("/tmp"), Change::Empty),
        ]);
        let want = vec![
            (path("/tmp"), Change::Empty),
            (path("/tmp"), Change::ReadOnly),
            (path("/home/u"), Change::Empty),
            (path("/tmp/root"), Change::Writable),
            (path("/home/u/.cargo"), Change::ReadOnly),
        ];
        assert_eq!(got, want);
    }
}
