//! Finding the program that runs a language on the search path.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cancel::Cancel;
use crate::executor::Shared;
use crate::language::Language;
use crate::plan::Plan;
use crate::request::{Input, Program, RunRequest, Streams, View};
use crate::run::Prepared;

/// A runtime that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// The language it runs.
    pub language: Language,
    /// Name of the candidate, such as `node` or `bun`.
    pub name: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// Major and minor version, for the candidates whose abilities depend on it.
    pub version: Option<(u32, u32)>,
    pub(crate) candidate: usize,
}

/// The first executable file of this name in the directories.
pub(crate) fn find_in<'a>(
    directories: impl IntoIterator<Item = &'a Path>,
    name: &str,
) -> Option<PathBuf> {
    directories
        .into_iter()
        // An empty or relative entry means the working directory, which is the project's.
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|path| is_executable(path))
}

/// The first executable file of this name on a search path.
pub(crate) fn find_on_path(search_path: &OsStr, name: &str) -> Option<PathBuf> {
    let directories: Vec<PathBuf> = std::env::split_paths(search_path).collect();
    find_in(directories.iter().map(PathBuf::as_path), name)
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The first number of the form `major.minor` in a version text such as `v20.20.2`.
pub(crate) fn parse_version(text: &str) -> Option<(u32, u32)> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let mut parts = text.get(start..)?.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// How long a runtime may take to tell its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

impl Shared {
    /// What a runtime says about its version. Asked only of programs on the user's own path.
    pub(crate) fn version_of(&self, program: &Path) -> Option<(u32, u32)> {
        let directory = self.scratch.run_directory().ok()?;
        let request = RunRequest {
            program: Program::Command("".into()),
            root: directory.path().to_owned(),
            cwd: directory.path().to_owned(),
            input: Input::Empty,
            deadline: Some(Instant::now() + VERSION_LIMIT),
            streams: Streams::Separate,
            view: View::default(),
        };
        let prepared = Prepared::of(directory, Plan::run(program, ["--version".into()]));
        let run = prepared.run(self, &request, &Cancel::new(), Instant::now()).ok()?;
        let text = String::from_utf8_lossy(run.stdout.bytes()?).into_owned();
        parse_version(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_runtimes_print() {
        assert_eq!(parse_version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_version("8.0.404"), Some((8, 0)));
        assert_eq!(parse_version("none"), None);
        assert_eq!(parse_version("v7"), None);
    }

    #[test]
    fn relative_entries_of_a_search_path_are_ignored() {
        assert_eq!(find_on_path(OsStr::new(":.:bin"), "sh"), None);
        assert!(find_on_path(OsStr::new(".:/usr/bin:/bin"), "sh").is_some());
        assert_eq!(find_on_path(OsStr::new("/usr/bin"), "no-such-program"), None);
    }
}
