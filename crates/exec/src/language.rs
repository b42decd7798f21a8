//! The table of languages: one row adds a language.

use std::fmt;
use std::hash::{Hash, Hasher};

/// One language: everything the crate knows about it.
#[derive(Debug)]
pub struct LanguageRow {
    /// Name in requests and answers.
    pub name: &'static str,
    /// Other spellings that are accepted, in lower case.
    pub aliases: &'static [&'static str],
}

/// The languages, in the order in which they are listed to users.
pub static LANGUAGES: &[LanguageRow] = &[
    LanguageRow { name: "shell", aliases: &["bash", "sh"] },
    LanguageRow { name: "python", aliases: &["py", "python3"] },
    LanguageRow { name: "javascript", aliases: &["js", "node", "nodejs", "mjs", "cjs"] },
    LanguageRow { name: "typescript", aliases: &["ts", "mts", "cts"] },
    LanguageRow { name: "ruby", aliases: &["rb"] },
    LanguageRow { name: "go", aliases: &["golang"] },
    LanguageRow { name: "rust", aliases: &["rs"] },
    LanguageRow { name: "php", aliases: &["php8"] },
    LanguageRow { name: "perl", aliases: &["pl"] },
    LanguageRow { name: "r", aliases: &["rscript"] },
    LanguageRow { name: "elixir", aliases: &["ex", "exs"] },
    LanguageRow { name: "csharp", aliases: &["c#", "cs", "csx"] },
];

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
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
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
