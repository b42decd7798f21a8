//! Finding the program that runs a language on the search path.

use std::path::PathBuf;

use crate::language::Language;

/// A runtime that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runtime {
    /// The language it runs.
    pub language: Language,
    /// Name of the candidate, such as `node` or `bun`.
    pub name: &'static str,
    /// Where it is.
    pub path: PathBuf,
}
