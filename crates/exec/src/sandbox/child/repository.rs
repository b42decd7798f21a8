//! A `.git` file: the repository outside the workspace that a linked worktree or a submodule
//! belongs to, believed only when the repository itself says so.

use std::path::{Path, PathBuf};

/// Longest of git's one-line files that is read.
const LONGEST: u64 = 16 * 1024;

/// A repository outside the workspace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outside {
    /// The directory that git has to write: the common directory, or the module's.
    pub(super) writable: PathBuf,
    /// Whether it is a whole repository with worktrees.
    pub(super) complete: bool,
}

/// The repository that `<directory>/.git` names, if that is a file and the repository names the
/// directory in turn. The file alone proves nothing: whoever can write it could name any directory.
pub(super) fn outside(directory: &Path) -> Option<Outside> {
    let git_file = directory.join(".git");
    if !std::fs::symlink_metadata(&git_file).ok()?.is_file() {
        return None;
    }
    let text = read(&git_file)?;
    let git_dir = canonical(directory, text.strip_prefix("gitdir: ")?.trim_end())?;
    linked_worktree(&git_file, &git_dir).or_else(|| submodule(directory, &git_dir))
}

/// `<common>/worktrees/<name>`, whose `gitdir` names our `.git` file.
fn linked_worktree(git_file: &Path, git_dir: &Path) -> Option<Outside> {
    let back = canonical(git_dir, read(&git_dir.join("gitdir"))?.trim_end())?;
    let common = canonical(git_dir, read(&git_dir.join("commondir"))?.trim_end())?;
    let genuine = back == git_file
        && git_dir.parent() == Some(&common.join("worktrees"))
        && common.join("HEAD").is_file()
        && common.join("objects").is_dir();
    genuine.then_some(Outside { writable: common, complete: true })
}

/// A module's git directory, whose configuration names our directory as its work tree.
fn submodule(directory: &Path, git_dir: &Path) -> Option<Outside> {
    let config = read(&git_dir.join("config"))?;
    let mut in_core = false;
    let mut work_tree = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            in_core = line.eq_ignore_ascii_case("[core]");
        } else if let Some((key, value)) = line.split_once('=')
            && in_core
            && key.trim().eq_ignore_ascii_case("worktree")
        {
            work_tree = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    let genuine = canonical(git_dir, &work_tree?)? == directory
        && git_dir.join("HEAD").is_file()
        && git_dir.join("objects").is_dir();
    genuine.then(|| Outside { writable: git_dir.to_path_buf(), complete: false })
}

fn read(path: &Path) -> Option<String> {
    let found = std::fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > LONGEST {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

fn canonical(base: &Path, path: &str) -> Option<PathBuf> {
    base.join(path).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_repository_that_answers_is_believed() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        let (main, tree) = (base.join("main/.git"), base.join("tree"));
        let admin = main.join("worktrees/tree");
        for directory in [&admin, &main.join("objects"), &tree, &base.join("secret")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::fs::write(main.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(admin.join("commondir"), "../..\n").unwrap();
        let set = |file: &Path, text: String| std::fs::write(file, text).unwrap();
        set(&tree.join(".git"), format!("gitdir: {}\n", admin.display()));
        assert_eq!(outside(&tree), None, "no back link yet");
        set(&admin.join("gitdir"), format!("{}\n", tree.join(".git").display()));
        assert_eq!(outside(&tree), Some(Outside { writable: main, complete: true }));
        set(&tree.join(".git"), format!("gitdir: {}\n", base.join("secret").display()));
        assert_eq!(outside(&tree), None);

        let module = base.join("main/.git/modules/sub");
        std::fs::create_dir_all(module.join("objects")).unwrap();
        set(&module.join("HEAD"), "ref: refs/heads/main\n".into());
        set(&tree.join(".git"), format!("gitdir: {}\n", module.display()));
        set(&module.join("config"), "[core]\n\tworktree = ../../../../elsewhere\n".into());
        assert_eq!(outside(&tree), None);
        set(&module.join("config"), "[core]\n\tworktree = ../../../../tree\n".into());
        assert_eq!(outside(&tree), Some(Outside { writable: module, complete: false }));
    }
}
