//! Opens the user's files: beneath the root, without magic links, and checks what was opened.

use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use quietcontext_store::FileStamp;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::context::Context;
use crate::error::ToolError;
use crate::policy::Rules;
use crate::render::short;
use crate::root::{beneath, reason};
use crate::walk::Reason;

/// A regular file that was opened and then checked: what was checked is what is read.
#[derive(Debug)]
pub(crate) struct Opened {
    pub file: File,
    pub stamp: FileStamp,
    /// Its path below the root it was opened beneath.
    pub relative: PathBuf,
    /// Its full path, as the program is told.
    pub path: PathBuf,
}

/// What a path names.
#[derive(Debug)]
pub(crate) enum Named {
    File(Opened),
    Directory { relative: PathBuf, base: PathBuf },
}

impl Context {
    /// Opens `path` beneath the root, or beneath another directory that the user named.
    ///
    /// # Errors
    /// One line: it is missing, leads out, is neither a regular file nor a directory, or is denied.
    pub(crate) fn open(&self, path: &str) -> Result<Named, ToolError> {
        let rules = self.root.policy.rules()?;
        let named = open(&self.root.path, &self.shared.config.readable, path)?;
        match denied(&rules, &named) {
            Some(rule) => Err(ToolError::Refused(format!(
                "path {} is denied by the rule {rule}",
                short(path)
            ))),
            None => Ok(named),
        }
    }
}

/// The rule that denies what was opened, by the name it was given or by its own.
fn denied<'r>(rules: &'r Rules, named: &Named) -> Option<&'r str> {
    if !rules.any_reading() {
        return None;
    }
    match named {
        Named::Directory { relative, base } => rules.reading(&base.join(relative), true),
        Named::File(opened) => rules
            .reading(&opened.path, false)
            .or_else(|| rules.reading(&real_path(&opened.file)?, false)),
    }
}

/// Where an open file is, whatever links led to it.
fn real_path(file: &File) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Opens `path` beneath `root`, or beneath one of `also`. Links are followed as long as they stay inside.
///
/// # Errors
/// One line: it is missing, leads out, or is neither a regular file nor a directory.
fn open(root: &Path, also: &[PathBuf], path: &str) -> Result<Named, ToolError> {
    let error = |what: &str| ToolError::argument("path", format!("{} {what}", short(path)));
    if path.contains('\0') {
        return Err(ToolError::argument("path", "must not hold a NUL character"));
    }
    let mut bases = std::iter::once(root).chain(also.iter().map(PathBuf::as_path));
    let place = bases
        .find_map(|base| Some((base.to_owned(), beneath(base, path)?)))
        .or_else(|| real_place(root, also, path));
    let Some((base, relative)) = place else {
        return Err(error(
            "leads out of the workspace root; the user can add its folder to index.roots",
        ));
    };
    match open_beneath(&base, &relative) {
        Ok(file) => classify(file, &base, relative).map_err(|what| error(&what)),
        Err(Errno::XDEV) => Err(error("leads out of the workspace root through a link")),
        Err(Errno::LOOP) => Err(error("goes through a link that may not be followed")),
        Err(errno) => Err(error(&reason(&errno.into()))),
    }
}

/// An absolute path that names a place below a root by another way (a link to the root itself).
fn real_place(root: &Path, also: &[PathBuf], path: &str) -> Option<(PathBuf, PathBuf)> {
    let given = Path::new(path);
    if !given.is_absolute() || given.starts_with("/proc") {
        return None;
    }
    let real = given.canonicalize().ok()?;
    std::iter::once(root)
        .chain(also.iter().map(PathBuf::as_path))
        .find_map(|base| Some((base.to_owned(), real.strip_prefix(base).ok()?.to_owned())))
}

/// `openat2` beneath `base`: the kernel refuses every way out, at the time of the open.
fn open_beneath(base: &Path, relative: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let base = rustix::fs::openat(
        CWD,
        base,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let fd: OwnedFd =
        retry(|| rustix::fs::openat2(&base, relative, flags, Mode::empty(), resolve))?;
    Ok(File::from(fd))
}

/// The kernel may ask to try again while directories are being renamed.
fn retry<T>(mut open: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 0..16 {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            outcome => return outcome,
        }
    }
    open()
}

fn classify(file: File, base: &Path, relative: PathBuf) -> Result<Named, String> {
    let found = file.metadata().map_err(|error| reason(&error))?;
    if found.is_dir() {
        return Ok(Named::Directory { relative, base: base.to_owned() });
    }
    if !found.is_file() {
        return Err("is neither a regular file nor a directory".to_owned());
    }
    let path = base.join(&relative);
    Ok(Named::File(Opened { stamp: stamp(&found), file, relative, path }))
}

/// Opens a file that a walk found, unless it is denied or not a regular file any more.
pub(crate) fn reopen(rules: &Rules, base: &Path, relative: &Path) -> Result<Opened, Reason> {
    let file = open_beneath(base, relative).map_err(|_| Reason::Unreadable)?;
    match classify(file, base, relative.to_owned()) {
        Ok(named) if denied(rules, &named).is_some() => Err(Reason::Denied),
        Ok(Named::File(opened)) => Ok(opened),
        _ => Err(Reason::Unreadable),
    }
}

/// What tells whether a file changed.
pub(crate) fn stamp(found: &std::fs::Metadata) -> FileStamp {
    let ns = |seconds: i64, nanoseconds: i64| {
        i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
    };
    FileStamp {
        size: found.len(),
        modified_ns: ns(found.mtime(), found.mtime_nsec()),
        changed_ns: ns(found.ctime(), found.ctime_nsec()),
        inode: found.ino(),
        device: found.dev(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn outcome(root: &Path, path: &str) -> String {
        match open(root, &[], path) {
            Ok(Named::File(opened)) => format!("file {}", opened.relative.display()),
            Ok(Named::Directory { relative, .. }) => format!("directory {}", relative.display()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn only_regular_files_beneath_the_root_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/a.txt"), "a").unwrap();
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        symlink("d/a.txt", root.join("inside")).unwrap();
        symlink(outside.path().join("secret"), root.join("outside")).unwrap();
        symlink(outside.path(), root.join("link_out")).unwrap();
        rustix::fs::mkfifoat(CWD, root.join("fifo"), Mode::RUSR).unwrap();
        let linked_root = outside.path().join("root");
        symlink(&root, &linked_root).unwrap();
        let absolute = root.join("d/a.txt");
        let through_link = linked_root.join("d/a.txt");
        for (path, want) in [
            ("d/a.txt", "file d/a.txt"),
            ("./d//a.txt", "file d/a.txt"),
            (absolute.to_str().unwrap(), "file d/a.txt"),
            (through_link.to_str().unwrap(), "file d/a.txt"),
            ("inside", "file inside"),
            ("d", "directory d"),
            (".", "directory "),
            ("outside", "path \"outside\" leads out of the workspace root through a link"),
            (
                "link_out/new.txt",
                "path \"link_out/new.txt\" leads out of the workspace root through a link",
            ),
            ("missing", "path \"missing\" is not there"),
            ("fifo", "path \"fifo\" is neither a regular file nor a directory"),
            ("D/A.TXT", "path \"D/A.TXT\" is not there"),
        ] {
            assert_eq!(outcome(&root, path), want, "{path}");
        }
        for out in ["../x", "/etc/passwd", "/proc/self/root/etc/passwd"] {
            assert!(outcome(&root, out).contains("leads out of the workspace root;"), "{out}");
        }
    }
}
