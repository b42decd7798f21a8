//! The tool directories that a project brings along: `.venv/bin` and `node_modules/.bin`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The tool directories that a project brings along.
#[derive(Debug, Default)]
pub(crate) struct ProjectTools {
    directories: Vec<PathBuf>,
    pub(crate) virtual_environment: Option<PathBuf>,
}

impl ProjectTools {
    /// Looks for them in the root, and in the working directory when it is another one.
    pub(crate) fn find(root: &Path, cwd: &Path) -> Self {
        let mut found = Self::default();
        let bases = if cwd == root { &[root][..] } else { &[cwd, root][..] };
        for base in bases {
            let environment = base.join(".venv");
            let binaries = environment.join("bin");
            if found.virtual_environment.is_none() && binaries.is_dir() {
                found.virtual_environment = Some(environment);
                found.directories.push(binaries);
            }
        }
        for base in bases {
            let binaries = base.join("node_modules/.bin");
            if binaries.is_dir() {
                found.directories.push(binaries);
            }
        }
        found
    }

    /// The directories, best first.
    pub(crate) fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    pub(crate) fn path_before(&self, path: &OsStr) -> OsString {
        let mut joined = Vec::new();
        for directory in &self.directories {
            // A colon cannot be written in a search path.
            if !directory.as_os_str().as_bytes().contains(&b':') {
                joined.extend_from_slice(directory.as_os_str().as_bytes());
                joined.push(b':');
            }
        }
        joined.extend_from_slice(path.as_bytes());
        OsStr::from_bytes(&joined).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_tools_come_first_on_the_path() {
        let root = tempfile::tempdir().unwrap();
        let sub = root.path().join("sub");
        std::fs::create_dir_all(root.path().join(".venv/bin")).unwrap();
        std::fs::create_dir_all(root.path().join("node_modules/.bin")).unwrap();
        std::fs::create_dir_all(sub.join("node_modules/.bin")).unwrap();
        let project = ProjectTools::find(root.path(), &sub);
        let path = project.path_before(OsStr::new("/usr/bin"));
        let expected = format!(
            "{0}/.venv/bin:{0}/sub/node_modules/.bin:{0}/node_modules/.bin:/usr/bin",
            root.path().display()
        );
        assert_eq!(path.to_str().unwrap(), expected);
        assert_eq!(project.virtual_environment, Some(root.path().join(".venv")));
        assert!(ProjectTools::find(&sub, &sub).virtual_environment.is_none());
    }
}
