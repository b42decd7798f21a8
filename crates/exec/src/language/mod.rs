//! The table of languages: one row adds a language.
//!
//! A row says what the language is called, which programs can run it, how, and carries a smoke
//! program that the test suite runs wherever one of these programs is installed.

mod csharp;
mod go;
mod javascript;
mod mask;
mod module_system;
mod python;
mod relative;
mod rust;
mod scripts;
mod shell;
mod table;
mod typescript;
mod words;

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::error::ExecError;
use crate::plan::{Plan, Planning};

pub use table::LANGUAGES;

/// One language: everything the crate knows about it.
#[derive(Debug)]
pub struct LanguageRow {
    /// Name in requests and answers.
    pub name: &'static str,
    /// Other spellings that are accepted, in lower case.
    pub aliases: &'static [&'static str],
    /// Extension of a program's file, without the dot.
    pub extension: &'static str,
    /// Names under which the program finds its file's text.
    pub content_names: &'static [&'static str],
    /// What to install, for the line about a missing runtime.
    pub install: &'static str,
    /// Proves that a runtime works.
    pub smoke: Smoke,
    /// Programs that can run it, best first.
    pub(crate) candidates: &'static [Candidate],
}

/// A small program and exactly what it prints.
#[derive(Debug)]
pub struct Smoke {
    /// The program.
    pub program: &'static str,
    /// Its standard output.
    pub output: &'static str,
}

/// One program that can run a language.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// Its name.
    pub(crate) name: &'static str,
    /// Names of its executable, best first.
    pub(crate) binaries: &'static [&'static str],
    /// Whether a project's own tool directories may provide it.
    pub(crate) from_project: bool,
    /// What version it must have.
    pub(crate) needs: Needs,
    /// How it runs a program.
    pub(crate) plan: fn(&Planning<'_>) -> Result<Plan, ExecError>,
}

/// What a candidate must be able to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needs {
    /// It is there: that is enough, and nothing is started to find out.
    Nothing,
    /// Its `--version` says at least this.
    Version(u32, u32),
    /// Another executable beside it.
    Companion(&'static str),
}

/// A language: a handle to a row of [`LANGUAGES`].
#[derive(Clone, Copy)]
pub struct Language(&'static LanguageRow);

impl Language {
    /// The language of this name or alias, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        let wanted = name.trim().to_lowercase();
        LANGUAGES
            .iter()
            .find(|row| row.name == wanted || row.aliases.contains(&wanted.as_str()))
            .map(Language)
    }

    /// Its name in requests and answers.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Its row of the table.
    pub fn row(self) -> &'static LanguageRow {
        self.0
    }

    /// All languages in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        LANGUAGES.iter().map(Language)
    }

    /// The first row: batch commands are shell text.
    pub(crate) fn shell() -> Self {
        Self(&LANGUAGES[0])
    }

    /// Whether the program's text names its file's content.
    pub(crate) fn mentions_content(self, code: &str) -> bool {
        self.0.content_names.iter().any(|name| words::has_word(code, name))
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Language {}

impl Hash for Language {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Language").field(&self.0.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_aliases_are_unique_and_parse_in_any_case() {
        let mut seen = HashSet::new();
        for language in Language::all() {
            let row = language.row();
            for name in row.aliases.iter().chain([&row.name]) {
                assert!(seen.insert(*name), "{name} comes twice");
                assert_eq!(*name, name.to_lowercase());
                assert_eq!(Language::parse(&name.to_uppercase()), Some(language));
                assert_eq!(Language::parse(&format!(" {name} ")), Some(language));
            }
            assert!(!row.candidates.is_empty() && !row.install.is_empty());
            assert!(!row.smoke.program.is_empty() && row.smoke.output.ends_with('\n'));
        }
        assert_eq!(LANGUAGES.len(), 12);
        assert_eq!(Language::parse("cobol"), None);
        assert_eq!(Language::parse(""), None);
    }

    #[test]
    fn the_content_name_counts_only_as_a_word() {
        let python = Language::parse("python").unwrap();
        assert!(python.mentions_content("print(FILE_CONTENT)"));
        assert!(!python.mentions_content("print(MY_FILE_CONTENTS, FILE_CONTENT_2)"));
        assert!(Language::parse("elixir").unwrap().mentions_content("IO.puts file_content"));
    }
}
