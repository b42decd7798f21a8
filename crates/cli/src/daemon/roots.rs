//! The registered roots: the only directories in which sessions of the daemon work.
//!
//! They stand in a file of the user's configuration, one path a line, read anew for each call, so
//! that a running daemon follows at once.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    config::{self, Surroundings},
    network::write_whole,
    place,
};

/// What a new file begins with.
const HEAD: &str = "\
# Directories in which sessions of the daemon may work, and all below them.
# One absolute path a line; change it with: quietcontext roots add|remove DIRECTORY
";

/// How much of a path is repeated in an answer, in characters.
const SHOWN: usize = 160;

/// The registered roots.
#[derive(Debug)]
pub(crate) struct Roots {
    file: PathBuf,
    data_dir: PathBuf,
    surroundings: Surroundings,
}

/// What became of a root that was to be registered or taken back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// As was wanted.
    Done,
    /// It was so before.
    Already,
    /// This one above it is registered.
    Below(PathBuf),
}

impl Roots {
    /// The roots of this user.
    pub(crate) fn new(surroundings: &Surroundings, data_dir: &Path) -> Self {
        let folder = config::folder(surroundings).unwrap_or_else(|| data_dir.to_owned());
        Self {
            file: folder.join("roots"),
            data_dir: data_dir.to_owned(),
            surroundings: surroundings.clone(),
        }
    }

    /// All of them, in the order of the file.
    pub(crate) fn list(&self) -> Result<Vec<PathBuf>> {
        let lines = self.lines()?;
        Ok(lines.iter().filter_map(|line| entry(line)).map(PathBuf::from).collect())
    }

    /// The canonical root that a session may work in when it names `path`; else a line that says
    /// why it may not.
    pub(crate) fn resolve(&self, path: &Path) -> Result<PathBuf, String> {
        let shown = shown(path);
        // Where links lead is decided here, once; what is checked is what is used.
        let real = path.canonicalize().ok().filter(|real| real.is_dir());
        let real = real.ok_or_else(|| {
            format!("error: the workspace root {shown} is not a directory that can be used")
        })?;
        let registered = self.list().map_err(|error| {
            tracing::warn!(error = %format_args!("{error:#}"), "the registered roots cannot be read");
            "error: the list of registered roots cannot be read; the user can look at it: quietcontext \
             roots list"
                .to_owned()
        })?;
        if !registered.iter().any(|root| real.starts_with(root)) {
            return Err(format!(
                "error: {shown} is not below a registered root; the user can register it: quietcontext \
                 roots add {shown}"
            ));
        }
        self.check(&real).map_err(|error| format!("error: {error}"))?;
        Ok(real)
    }

    /// Registers a directory.
    pub(crate) fn add(&self, path: &Path) -> Result<Change> {
        let root = self.acceptable(path)?;
        let mut change = Change::Done;
        self.change(|lines| {
            let known: Vec<_> = lines.iter().filter_map(|line| entry(line)).collect();
            if known.contains(&root.as_path()) {
                change = Change::Already;
            } else if let Some(above) = known.into_iter().find(|known| root.starts_with(known)) {
                change = Change::Below(above.to_owned());
            } else {
                lines.push(root.display().to_string());
            }
        })?;
        Ok(change)
    }

    /// Takes a directory back; it need not be there any more.
    pub(crate) fn remove(&self, path: &Path) -> Result<Change> {
        let absolute = std::path::absolute(path)?;
        let real = place::real(&absolute);
        let mut change = Change::Already;
        self.change(|lines| {
            let before = lines.len();
            lines.retain(|line| entry(line).is_none_or(|root| root != real && root != absolute));
            if lines.len() < before {
                change = Change::Done;
            }
            let mut left = lines.iter().filter_map(|line| entry(line));
            if let Some(above) = left.find(|root| real.starts_with(root)) {
                change = Change::Below(above.to_owned());
            }
        })?;
        Ok(change)
    }

    /// The canonical form of a directory that may be registered.
    pub(crate) fn acceptable(&self, path: &Path) -> Result<PathBuf> {
        let root = path
            .canonicalize()
            .with_context(|| format!("the root {} cannot be used", path.display()))?;
        if !root.is_dir() {
            bail!("the root {} is not a directory", path.display());
        }
        if root
            .to_str()
            .is_none_or(|text| text.chars().any(char::is_control) || text.trim() != text)
        {
            bail!("the root {} has a name that does not fit in a line", shown(&root));
        }
        let home = self.surroundings.home.as_deref().map(place::real);
        if root.parent().is_none() || home.is_some_and(|home| home.starts_with(&root)) {
            bail!(
                "{} is / or holds your home directory: name a project, or a folder of projects",
                root.display()
            );
        }
        self.check(&root)?;
        Ok(root)
    }

    /// Refuses what holds, or lies in, what decides about sessions: their token, these roots.
    fn check(&self, root: &Path) -> Result<()> {
        let own = [Some(self.data_dir.as_path()), self.file.parent()];
        for folder in own.into_iter().flatten().map(place::real) {
            if root.starts_with(&folder) || folder.starts_with(root) {
                bail!("{} holds files of quietcontext itself and is no workspace", shown(root));
            }
        }
        config::check_place(&self.surroundings, root)
    }

    fn lines(&self) -> Result<Vec<String>> {
        match fs::read_to_string(&self.file) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error).with_context(|| self.file.display().to_string()),
        }
    }

    /// Changes the lines of the file; it is not written where they stay the same.
    fn change(&self, change: impl FnOnce(&mut Vec<String>)) -> Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        // Two commands at one time write one after the other.
        let lock = fs::File::open(folder).with_context(|| folder.display().to_string())?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
        let before = self.lines()?;
        let mut lines = before.clone();
        change(&mut lines);
        if lines == before {
            return Ok(());
        }
        if before.is_empty() {
            lines.splice(0..0, HEAD.lines().map(str::to_owned));
        }
        // A list that is a link into a folder of dotfiles stays one.
        let path = self.file.canonicalize().unwrap_or_else(|_| self.file.clone());
        let text = lines.join("\n") + "\n";
        write_whole(&path, text.as_bytes()).with_context(|| path.display().to_string())
    }
}

/// The path of a line; `None` for an empty one, a comment, and what is no absolute path.
fn entry(line: &str) -> Option<&Path> {
    Some(Path::new(line.trim())).filter(|path| path.is_absolute())
}

/// A path in one bounded line.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A home with a data directory and some projects.
    fn roots(folder: &Path) -> Roots {
        let home = folder.canonicalize().unwrap().join("home");
        for name in ["a/sub", "b", ".local/share/quietcontext/daemon"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        let data_dir = home.join(".local/share/quietcontext");
        Roots::new(&Surroundings { home: Some(home), variables: Vec::new() }, &data_dir)
    }

    #[test]
    fn a_session_works_in_a_registered_root_or_below_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(folder.path());
        let home = roots.surroundings.home.clone().unwrap();
        assert!(roots.resolve(&home.join("a")).unwrap_err().contains("roots add"), "none yet");
        assert_eq!(roots.add(&home.join("a")).unwrap(), Change::Done);
        symlink(home.join("b"), home.join("a/out")).unwrap();
        symlink("sub", home.join("a/in")).unwrap();
        symlink(home.join("a"), home.join("alias")).unwrap();
        fs::create_dir(home.join("ab")).unwrap();
        fs::write(home.join("a/file"), "").unwrap();
        for (path, wanted) in [
            ("a", Some("a")),
            ("a/", Some("a")),
            ("a/sub", Some("a/sub")),
            ("a/sub/..", Some("a")),
            ("a/in", Some("a/sub")),
            ("alias/sub", Some("a/sub")),
            ("a/out", None),
            ("a/../b", None),
            ("a/sub/../../b", None),
            ("ab", None),
            ("b", None),
            ("a/file", None),
            ("a/missing", None),
            ("", None),
            ("..", None),
        ] {
            let found = roots.resolve(&home.join(path));
            assert_eq!(found.clone().ok(), wanted.map(|path| home.join(path)), "{path}: {found:?}");
        }
        for path in ["/", "/proc/self/root", "/proc/self/cwd", "/dev/null"] {
            assert!(roots.resolve(Path::new(path)).is_err(), "{path}");
        }
        // Where the registered directory itself becomes a link, it leads nowhere new.
        fs::rename(home.join("a"), home.join("moved")).unwrap();
        symlink(home.join("b"), home.join("a")).unwrap();
        assert!(roots.resolve(&home.join("a")).is_err());
    }

    #[test]
    fn what_is_no_workspace_is_not_registered() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(folder.path());
        let home = roots.surroundings.home.clone().unwrap();
        for path in [
            home.clone(),
            home.parent().unwrap().to_owned(),
            "/".into(),
            home.join(".local"),
            home.join(".local/share/quietcontext"),
            home.join(".local/share/quietcontext/daemon"),
            home.join("missing"),
        ] {
            assert!(roots.add(&path).is_err(), "{}", path.display());
        }
        assert!(roots.list().unwrap().is_empty());
        // Nor does it become one by hand.
        fs::create_dir_all(home.join(".config/quietcontext")).unwrap();
        fs::write(&roots.file, format!("{}\n", home.display())).unwrap();
        let error = roots.resolve(&home.join(".local/share/quietcontext/daemon")).unwrap_err();
        assert!(error.contains("quietcontext itself"), "{error}");
        assert!(roots.resolve(&home.join("a")).is_ok(), "positive control");
    }

    #[test]
    fn adding_and_removing_keep_what_they_do_not_change() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(folder.path());
        let home = roots.surroundings.home.clone().unwrap();
        assert_eq!(roots.add(&home.join("a")).unwrap(), Change::Done);
        assert_eq!(roots.add(&home.join("a/sub/..")).unwrap(), Change::Already);
        assert_eq!(roots.add(&home.join("a/sub")).unwrap(), Change::Below(home.join("a")));
        assert_eq!(roots.add(&home.join("b")).unwrap(), Change::Done);
        assert_eq!(roots.list().unwrap(), [home.join("a"), home.join("b")]);
        fs::remove_dir(home.join("b")).unwrap();
        assert_eq!(roots.remove(&home.join("b")).unwrap(), Change::Done);
        assert_eq!(roots.remove(&home.join("b")).unwrap(), Change::Already);
        assert_eq!(roots.remove(&home.join("a/sub")).unwrap(), Change::Below(home.join("a")));
        let text = fs::read_to_string(&roots.file).unwrap();
        assert_eq!(text, format!("{HEAD}{}\n", home.join("a").display()));
    }
}
