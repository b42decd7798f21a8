//! Where things are: the home directory, and the workspace root of this process.
//!
//! No variable of another program has a say in the root: an editor's or agent's variable names
//! the folder of whoever set it last, which need not be ours.

use std::{
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

/// The user's home directory: `$HOME`, else what the system's user list says.
pub(crate) fn home(variable: Option<OsString>) -> Option<PathBuf> {
    variable.map(PathBuf::from).filter(|home| is_home(home)).or_else(listed_home)
}

/// Users of services and containers often have the whole disk for a home, which is none.
fn is_home(path: &Path) -> bool {
    path.is_absolute() && path.parent().is_some()
}

/// The home directory that the system's user list says.
pub(crate) fn listed_home() -> Option<PathBuf> {
    listed(&fs::read_to_string("/etc/passwd").ok()?, rustix::process::getuid().as_raw())
}

/// A path as the kernel sees it, also where its end does not exist yet.
pub(crate) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => real(parent).join(name),
        (Some(parent), Some(Component::ParentDir)) => {
            let mut above = real(parent);
            above.pop();
            above
        }
        _ => path.to_owned(),
    }
}

fn listed(users: &str, uid: u32) -> Option<PathBuf> {
    let uid = uid.to_string();
    let line = users.lines().find(|line| line.split(':').nth(2) == Some(&uid))?;
    line.split(':').nth(5).map(PathBuf::from).filter(|home| is_home(home))
}

/// The workspace root and how it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    /// A canonical directory.
    pub(crate) path: PathBuf,
    /// Nobody named it and nobody works there (`/` or the home directory), so that a client's
    /// own folder is preferred to it.
    pub(crate) unlikely: bool,
}

/// The root: the one that was named, else the real working directory.
pub(crate) fn root(named: Option<&Path>, home: Option<&Path>) -> Result<Root> {
    if let Some(named) = named {
        let path = named
            .canonicalize()
            .with_context(|| format!("the root {} cannot be used", named.display()))?;
        if !path.is_dir() {
            bail!("the root {} is not a directory", named.display());
        }
        return Ok(Root { path, unlikely: false });
    }
    // Asked of the kernel: `$PWD` may say anything.
    let path = std::env::current_dir().context("the working directory cannot be used")?;
    let home = home.and_then(|home| home.canonicalize().ok());
    let unlikely = path.parent().is_none() || home.is_some_and(|home| home == path);
    Ok(Root { path, unlikely })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_the_variable_if_it_is_a_path_else_what_the_system_says() {
        assert_eq!(home(Some("/home/ada".into())), Some("/home/ada".into()));
        let users = "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:,,,:/home/ada:/bin/sh\nodd\n";
        assert_eq!(listed(users, 1000), Some("/home/ada".into()));
        assert_eq!(listed(users, 0), Some("/root".into()));
        assert_eq!(listed(users, 1), None);
        assert_eq!(listed("x:x:7:7::relative:/bin/sh", 7), None);
    }

    #[test]
    fn a_named_root_is_canonical_and_has_to_be_a_directory() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        fs::write(real.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        let wanted = Root { path: real.clone(), unlikely: false };
        for named in [real.clone(), real.join("link"), real.join("."), real.join("link/../")] {
            let parent = real.parent().unwrap();
            let found = root(Some(&named), None).unwrap();
            // `link/..` is where the link leads, one up.
            assert!(found == wanted || found.path == parent, "{}", named.display());
        }
        assert!(root(Some(&real.join("file")), None).is_err());
        assert!(root(Some(&real.join("missing")), None).is_err());
    }

    #[test]
    fn a_real_path_has_no_links_also_where_its_end_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir(base.join("a")).unwrap();
        std::os::unix::fs::symlink("a", base.join("link")).unwrap();
        for (path, want) in [
            ("link", "a"),
            ("link/new/deeper", "a/new/deeper"),
            ("link/new/../other", "a/other"),
            ("none/../a", "a"),
        ] {
            assert_eq!(real(&base.join(path)), base.join(want), "{path}");
        }
    }

    #[test]
    fn a_named_root_is_never_unlikely_even_where_it_is_the_home() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!root(Some(folder.path()), Some(folder.path())).unwrap().unlikely);
    }
}
