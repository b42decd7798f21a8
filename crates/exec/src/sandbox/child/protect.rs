//! What is read-only inside the writable workspace: found and, where missing, held by a
//! placeholder before the box exists, because only outside can the placeholder be removed again.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::super::profile::{Mode, Profile};
use super::super::report::{Failure, InStep as _, Step};
use super::super::table::PROTECTED;
use super::mounts::Access;
use super::placeholder::{Kind, Placeholder};
use super::repository;

/// Modules of one repository that are looked at, nested ones included.
const MOST_MODULES: usize = 256;

/// What is covered in the view, parents before children, and what is removed afterwards.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Bound onto itself with this access: what is bound cannot be renamed or removed.
    pub(super) guards: Vec<(PathBuf, Access)>,
    /// The repository of a linked worktree or of a submodule, writable as well.
    pub(super) writable: Vec<PathBuf>,
    placeholders: Vec<Placeholder>,
}

/// Makes the plan for a profile. Placeholders of a plan that fails are removed.
pub(super) fn prepare(profile: &Profile) -> Result<Plan, Failure> {
    let mut plan = Plan::default();
    if profile.mode == Mode::ReadOnly {
        // Nothing is writable; a repository outside still has to be seen.
        plan.writable = outside(profile);
        return Ok(plan);
    }
    match plan.fill(profile) {
        Ok(()) => Ok(plan),
        Err(failure) => {
            plan.finish();
            Err(failure)
        }
    }
}

/// The repository outside the workspace that belongs to it, if there is one.
pub(super) fn outside(profile: &Profile) -> Vec<PathBuf> {
    repository::outside(&profile.root).map(|found| found.writable).into_iter().collect()
}

impl Plan {
    /// Removes the placeholders that nobody else holds and nothing was put into.
    pub(super) fn finish(&self) {
        for placeholder in self.placeholders.iter().rev() {
            placeholder.remove();
        }
    }

    fn fill(&mut self, profile: &Profile) -> Result<(), Failure> {
        let lifted = |name: &str| profile.unprotected.iter().any(|path| path == Path::new(name));
        for name in PROTECTED {
            if !lifted(name) {
                self.protect(&profile.root.join(name), Kind::Directory)?;
            }
        }
        if !lifted(".git") {
            self.protect_git(&profile.root)?;
        }
        for place in &profile.writable {
            for name in PROTECTED {
                self.protect_existing(&place.join(name))?;
            }
            if place.join(".git").is_dir() {
                self.protect_git(place)?;
            }
        }
        Ok(())
    }

    /// `.git` of a directory: a repository, the link to one, or nothing, which stays nothing.
    fn protect_git(&mut self, directory: &Path) -> Result<(), Failure> {
        let git = directory.join(".git");
        match look(&git)? {
            Some(found) if found.is_dir() && !Placeholder::is_one(&git, &found) => {
                self.guards.push((git.clone(), Access::Writable));
                self.protect_repository(&git, true)
            }
            _ => {
                self.protect(&git, Kind::Directory)?;
                if let Some(found) = repository::outside(directory) {
                    self.protect_repository(&found.writable, found.complete)?;
                    self.writable.push(found.writable);
                }
                Ok(())
            }
        }
    }

    /// Configuration and hooks of a repository, of its worktrees and of its modules: what makes
    /// git run a program. `complete` is false for a module, whose common directory is itself.
    fn protect_repository(&mut self, git: &Path, complete: bool) -> Result<(), Failure> {
        self.protect(&git.join("hooks"), Kind::Directory)?;
        self.protect(&git.join("config"), Kind::File(b""))?;
        // Names the directory that configuration and hooks are read from; by default this one.
        self.protect(&git.join("commondir"), Kind::File(b".\n"))?;
        self.protect_existing(&git.join("config.worktree"))?;
        if complete {
            self.protect_worktrees(&git.join("worktrees"))?;
        }
        let mut left = MOST_MODULES;
        self.protect_modules(&git.join("modules"), &mut left)
    }

    fn protect_worktrees(&mut self, worktrees: &Path) -> Result<(), Failure> {
        let names = directories(worktrees)?;
        if names.is_empty() {
            return Ok(());
        }
        self.guards.push((worktrees.to_path_buf(), Access::Writable));
        for worktree in names {
            self.guards.push((worktree.clone(), Access::Writable));
            for name in ["commondir", "gitdir", "config.worktree"] {
                self.protect_existing(&worktree.join(name))?;
            }
        }
        Ok(())
    }

    fn protect_modules(&mut self, modules: &Path, left: &mut usize) -> Result<(), Failure> {
        let names = directories(modules)?;
        if names.is_empty() {
            return Ok(());
        }
        self.guards.push((modules.to_path_buf(), Access::Writable));
        for module in names {
            *left = left
                .checked_sub(1)
                .ok_or_else(|| Failure::plain(Step::ProtectedPaths, "too many git modules"))?;
            if module.join("HEAD").is_file() {
                self.guards.push((module.clone(), Access::Writable));
                self.protect_existing(&module.join("config"))?;
                self.protect_existing(&module.join("config.worktree"))?;
                self.protect(&module.join("hooks"), Kind::Directory)?;
                self.protect(&module.join("commondir"), Kind::File(b".\n"))?;
                self.protect_modules(&module.join("modules"), left)?;
            } else {
                // A module's name may have slashes.
                self.protect_modules(&module, left)?;
            }
        }
        Ok(())
    }

    /// Makes a path read-only, and one that does not exist impossible to create.
    fn protect(&mut self, path: &Path, kind: Kind) -> Result<(), Failure> {
        let shown = path.display().to_string();
        if let Some(found) = look(path)? {
            if Placeholder::is_one(path, &found) {
                let held = Placeholder::hold(path, kind).step(Step::ProtectedPaths, &shown)?;
                self.placeholders.push(held);
            }
        } else {
            match Placeholder::hold(path, kind) {
                Ok(held) => self.placeholders.push(held),
                // Where we may not create it, the program may not either.
                Err(error) if is_forbidden(&error) => return Ok(()),
                Err(error) => return Err(Failure::new(Step::ProtectedPaths, shown, error)),
            }
        }
        self.guards.push((path.to_path_buf(), Access::ReadOnly));
        Ok(())
    }

    fn protect_existing(&mut self, path: &Path) -> Result<(), Failure> {
        if look(path)?.is_some() {
            self.guards.push((path.to_path_buf(), Access::ReadOnly));
        }
        Ok(())
    }
}

/// What is at a path. A symbolic link cannot be held: whoever may write its directory can replace
/// it, so a protected path that is one is refused.
fn look(path: &Path) -> Result<Option<Metadata>, Failure> {
    let shown = path.display().to_string();
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(Failure::plain(
            Step::ProtectedPaths,
            format!("{shown} is a symbolic link, which cannot be protected"),
        )),
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(Step::ProtectedPaths, shown, error)),
    }
}

/// The directories in a directory, sorted; none where it does not exist.
fn directories(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !look(path)?.is_some_and(|found| found.is_dir()) {
        return Ok(Vec::new());
    }
    let shown = path.display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).step(Step::ProtectedPaths, &shown)? {
        let entry = entry.step(Step::ProtectedPaths, &shown)?;
        if entry.file_type().step(Step::ProtectedPaths, &shown)?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
