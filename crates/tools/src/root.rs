//! Workspace roots: which are refused, and where a call may work below one.

use std::path::{Component, Path, PathBuf};

use crate::error::ToolError;
use crate::render::short;

/// Refuses `/`, the home directory and whatever contains it: too much would be run on or walked.
pub(crate) fn check_root(root: &Path, home: Option<&Path>) -> Result<(), ToolError> {
    let contains_home = home.is_some_and(|home| home.starts_with(root));
    if root.parent().is_none() || contains_home {
        return Err(ToolError::Refused(
            "the workspace root is / or a home directory: start the server in a project, or with --root"
                .into(),
        ));
    }
    Ok(())
}

/// The working directory of a call: the root, or an existing directory `cwd`.
pub(crate) fn working_directory(root: &Path, cwd: Option<&str>) -> Result<PathBuf, ToolError> {
    let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) else { return Ok(root.to_owned()) };
    let path = root.join(cwd);
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => path.canonicalize().map_err(|error| {
            ToolError::argument("cwd", format!("cannot be used: {}", reason(&error)))
        }),
        Ok(_) => Err(ToolError::argument("cwd", format!("{} is not a directory", short(cwd)))),
        Err(error) => {
            Err(ToolError::argument("cwd", format!("{} {}", short(cwd), missing(&error))))
        }
    }
}

/// A path as it is shown: relative to the root where it lies below it.
pub(crate) fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// The path below the root that `path` names, without touching the disk: no `..` that leaves it.
///
/// `None` when it leads out of the root.
pub(crate) fn beneath(root: &Path, path: &str) -> Option<PathBuf> {
    let given = Path::new(path);
    let relative = if given.is_absolute() { given.strip_prefix(root).ok()? } else { given };
    let mut clean = PathBuf::new();
    for component in relative.components() {
        match component {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(clean)
}

/// An I/O error as a few words, without paths.
pub(crate) fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::NotFound => "is not there".into(),
        K::PermissionDenied => "may not be read".into(),
        K::NotADirectory => "leads through something that is not a directory".into(),
        K::IsADirectory => "is a directory".into(),
        _ => error.to_string(),
    }
}

fn missing(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "is not there; give an existing directory".into(),
        _ => reason(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_home_and_what_contains_it_are_refused() {
        let home = Path::new("/home/ada");
        for refused in ["/", "/home", "/home/ada"] {
            assert!(check_root(Path::new(refused), Some(home)).is_err(), "{refused}");
        }
        for fine in ["/home/ada/project", "/srv/x", "/home/bob"] {
            assert!(check_root(Path::new(fine), Some(home)).is_ok(), "{fine}");
        }
    }

    #[test]
    fn paths_are_taken_beneath_the_root_or_not_at_all() {
        let root = Path::new("/w");
        for (path, want) in [
            ("a/b", Some("a/b")),
            ("./a//b/", Some("a/b")),
            ("a/../b", Some("b")),
            ("/w/a", Some("a")),
            (".", Some("")),
            ("../x", None),
            ("/etc/passwd", None),
            ("a/../../x", None),
            ("/proc/self/root/w/a", None),
        ] {
            assert_eq!(beneath(root, path), want.map(PathBuf::from), "{path}");
        }
    }
}
