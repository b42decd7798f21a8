//! `index`: a file, a directory or standard input into the store.

use std::path::Path;

use anyhow::Context as _;
use quietcontext_tools::Tool;
use serde_json::Map;

use super::call;
use crate::{
    args::Form,
    config::Flags,
    terminal::{Exit, Problem},
};

/// Indexes `path`, which people give as seen from their working directory.
pub(crate) fn run(
    flags: &Flags,
    path: &Path,
    source: Option<String>,
    form: Form,
) -> Result<Exit, Problem> {
    let mut arguments = Map::new();
    if path.as_os_str() == "-" {
        arguments.insert("content".to_owned(), call::read_input()?.into());
    } else {
        let path = path
            .canonicalize()
            .with_context(|| format!("{} cannot be used", path.display()))
            .map_err(Problem::usage)?;
        let path = path.to_str().context("the path must be UTF-8").map_err(Problem::usage)?;
        arguments.insert("path".to_owned(), path.into());
    }
    if let Some(source) = source {
        arguments.insert("source".to_owned(), source.into());
    }
    call::call(flags, Tool::Index, arguments, form)
}
