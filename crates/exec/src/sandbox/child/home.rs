//! What of the hidden home comes back: rows of the table, bound read-only or copied clean.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::super::profile::Profile;
use super::super::report::{Failure, InStep as _, Step};
use super::super::table::{Show, TOOLCHAINS};
use super::caches::{self, Caches};
use super::clean::clean;
use super::mounts::Access;
use super::view::View;

/// Largest configuration file that is copied; a larger one is none.
const CONFIGURATION_BYTES: u64 = 256 * 1024;
/// Symbolic links followed on the way to one row.
const LINKS: usize = 40;

/// Brings every row of the table that exists back into a home.
pub(super) fn furnish(
    view: &View,
    profile: &Profile,
    caches: Option<&Caches>,
    home: &Path,
) -> Result<(), Failure> {
    if let Some(caches) = caches {
        caches.show(view, home)?;
    }
    // One look at the home spares one at each row that is not there.
    let Ok(entries) = std::fs::read_dir(home) else { return Ok(()) };
    let there: HashSet<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    for (name, show) in TOOLCHAINS {
        let first = name.split('/').next().unwrap_or(name);
        if !there.contains(OsStr::new(first)) {
            continue;
        }
        let target = home.join(name);
        // A link on the way that a program could have written is not followed: it would show
        // whatever the program wishes to see.
        let Some(source) = resolve(&target, &profile.root, &profile.writable) else { continue };
        match show {
            Show::ReadOnly => view.bind(Step::Home, &source, &target, Access::ReadOnly)?,
            Show::Layered if !profile.layers => {
                view.bind(Step::Home, &source, &target, Access::ReadOnly)?;
            }
            Show::Layered => caches::layer(view, caches, (&source, &target), name)?,
            Show::Cleaned => copy(view, &source, &target).step(Step::Home, name)?,
        }
    }
    Ok(())
}

/// Copies a configuration file without its credentials. Not a plain, small text file: left out.
fn copy(view: &View, source: &Path, target: &Path) -> io::Result<()> {
    // Without links also now: what was resolved may lie where programs write.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat2(CWD, source, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let Ok(mut file) = opened.map(File::from) else { return Ok(()) };
    let found = file.metadata()?;
    if !found.is_file() || found.len() > CONFIGURATION_BYTES {
        return Ok(());
    }
    let mut text = String::new();
    if file.read_to_string(&mut text).is_err() {
        return Ok(());
    }
    let Some((parent, name)) = target.parent().zip(target.file_name()) else { return Ok(()) };
    let parent = view.make(parent, true)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&parent, name, flags, Mode::RUSR | Mode::WUSR)?;
    let text = clean(&text);
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// The canonical path of an entry, or `None` when it does not exist or a symbolic link on the way
/// lies where programs may write.
pub(super) fn resolve(path: &Path, root: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    // Mostly there is no link, and one call tells.
    match openat2(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    ) {
        Ok(_) => return Some(path.to_path_buf()),
        Err(rustix::io::Errno::LOOP) => {}
        Err(_) => return None,
    }
    let mut resolved = PathBuf::from("/");
    let mut todo = parts(path);
    let mut links = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&part);
        if !std::fs::symlink_metadata(&next).ok()?.is_symlink() {
            resolved = next;
            continue;
        }
        links += 1;
        let untrusted =
            resolved.starts_with(root) || writable.iter().any(|place| resolved.starts_with(place));
        if untrusted || links > LINKS {
            return None;
        }
        let link = std::fs::read_link(&next).ok()?;
        if link.is_absolute() {
            resolved = PathBuf::from("/");
        }
        todo.extend(parts(&link));
    }
    Some(resolved)
}

/// The parts of a path, last first.
fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from_vec(b"..".to_vec())),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_a_program_could_write_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        let (home, root) = (base.join("home"), base.join("home/dotfiles"));
        std::fs::create_dir_all(root.join("cargo")).unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(base.join("data/rustup")).unwrap();
        symlink("../data/rustup", home.join(".rustup")).unwrap();
        symlink("dotfiles/cargo", home.join(".cargo")).unwrap();
        symlink("dotfiles/evil", home.join(".pyenv")).unwrap();
        symlink("../.ssh", root.join("evil")).unwrap();
        symlink("loop", home.join("loop")).unwrap();
        for (name, want) in [
            (".rustup", Some(base.join("data/rustup"))),
            (".cargo", Some(root.join("cargo"))),
            (".pyenv", None),
            ("loop", None),
            (".nvm", None),
            (".ssh", Some(home.join(".ssh"))),
        ] {
            assert_eq!(resolve(&home.join(name), &root, &[]), want, "{name}");
        }
        // Positive control: the same link is followed when nobody in a box could have written it.
        let elsewhere = base.join("elsewhere");
        assert_eq!(resolve(&home.join(".pyenv"), &elsewhere, &[]), Some(home.join(".ssh")));
        assert_eq!(resolve(&home.join(".pyenv"), &elsewhere, &[root]), None);
    }
}
