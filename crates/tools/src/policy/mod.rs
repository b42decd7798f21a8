//! Deny rules of Claude Code's settings, held as a second line behind the confinement.
//!
//! `Bash(…)` rules are held against every command of shell text; `Read(…)` rules say what is neither
//! opened nor indexed, and what is taken out of a program's view. Rules only ever take away, so those
//! of a repository count; rules that allow or ask do not, they are the client's business. What cannot
//! be told is refused.

mod commands;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod gate;
mod hidden;
mod pattern;
mod read;
mod settings;
mod shell;
mod wrappers;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use gate::{Authorized, Gate};

use crate::error::ToolError;
use crate::render::short;
use commands::{Commands, Objection};
use hidden::{Bounds, Listings};
use pattern::Pattern;
use settings::{Bases, Loaded, Stamps};
use shell::Dialect;

/// The deny rules of one workspace root. They are read when first asked for, and when a file changed.
#[derive(Debug)]
pub(crate) struct Policy {
    root: PathBuf,
    home: Option<PathBuf>,
    readable: Vec<PathBuf>,
    managed: PathBuf,
    boxed: bool,
    known: Mutex<Option<Known>>,
    listings: Mutex<Listings>,
}

/// Rules, and the files that they were read from as these were.
#[derive(Debug)]
struct Known {
    stamps: Stamps,
    rules: Result<Arc<Rules>, String>,
}

/// Rules as they stand now.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    loaded: Loaded,
}

impl Policy {
    /// The policy of a root. Touches nothing. `readable`: directories beyond the root for `index`;
    /// `boxed`: programs run in boxes, from which something can be hidden.
    pub(crate) fn new(root: &Path, home: Option<&Path>, readable: &[PathBuf], boxed: bool) -> Self {
        Self {
            boxed,
            root: root.to_owned(),
            home: home.map(Path::to_owned),
            readable: readable.to_owned(),
            managed: PathBuf::from(settings::MANAGED),
            known: Mutex::default(),
            listings: Mutex::default(),
        }
    }

    /// The rules as the files have them now.
    ///
    /// # Errors
    /// One line about a file that cannot be read or understood: nothing may be run or read then.
    pub(crate) fn rules(&self) -> Result<Arc<Rules>, ToolError> {
        let bases = Bases { root: &self.root, home: self.home.as_deref() };
        let stamps = settings::stamps(&bases, &self.managed).map_err(ToolError::Refused)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref()
            && known.stamps == stamps
        {
            return known.rules.clone().map_err(ToolError::Refused);
        }
        let rules = settings::load(&stamps, &bases).map(|loaded| Arc::new(Rules { loaded }));
        *self.listings.lock().unwrap_or_else(PoisonError::into_inner) = Listings::default();
        *known = Some(Known { stamps, rules: rules.clone() });
        rules.map_err(ToolError::Refused)
    }

    /// The files and directories that a box must not show; absolute, without links.
    ///
    /// # Errors
    /// One line: the rules deny more than can be hidden.
    fn hidden(&self, rules: &Rules) -> Result<Vec<PathBuf>, ToolError> {
        let bounds =
            Bounds { root: &self.root, home: self.home.as_deref(), readable: &self.readable };
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        hidden::paths(rules, &mut listings, &bounds).map_err(ToolError::Refused)
    }

    /// The programs that a box must not show, with the rule that denies each.
    fn programs(&self, rules: &Rules, executor: &Gate) -> Vec<(PathBuf, usize)> {
        hidden::programs(rules, &self.root, executor.search_path())
    }
}

impl Rules {
    /// The rule that denies to read a path; absolute and without links.
    pub(crate) fn reading(&self, path: &Path, directory: bool) -> Option<&str> {
        let mut rules = self.loaded.read.iter();
        rules.find(|rule| rule.rule.denies(path, directory)).map(|rule| rule.shown.as_str())
    }

    /// Whether any rule denies reading something.
    pub(crate) fn any_reading(&self) -> bool {
        !self.loaded.read.is_empty()
    }

    /// Whether shell text may run: one line if not.
    fn check_shell(&self, text: &str, dialect: Dialect, cwd: &Path) -> Result<(), String> {
        if self.loaded.bash.is_empty() {
            return Ok(());
        }
        let patterns: Vec<&Pattern> = self.loaded.bash.iter().map(|rule| &rule.rule).collect();
        let shown = |index: usize| self.loaded.bash.get(index).map_or("", |rule| &rule.shown);
        Commands { patterns: &patterns, cwd }.check(text, dialect).map_err(|objection| {
            match objection {
                Objection::Denied(rule, command) => {
                    format!("{} is denied by the rule {}", short(&command), shown(rule))
                }
                Objection::Unclear(command, why) => format!(
                    "{} cannot be held against the deny rules (such as {}): {why}; write commands literally",
                    short(&command),
                    shown(0)
                ),
            }
        })
    }
}
