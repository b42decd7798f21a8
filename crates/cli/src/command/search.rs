//! `search`: one question to the store.

use quietcontext_tools::Tool;
use serde_json::{Map, Value};

use super::call;
use crate::{
    args::{Form, Kind},
    config::Flags,
    terminal::{Exit, Problem},
};

/// What is searched for, and where.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) words: Vec<String>,
    pub(crate) limit: Option<u8>,
    pub(crate) source: Option<String>,
    pub(crate) kind: Option<Kind>,
    pub(crate) brief: bool,
}

/// Searches.
pub(crate) fn run(flags: &Flags, query: Query, form: Form) -> Result<Exit, Problem> {
    let mut arguments = Map::new();
    let question = query.words.join(" ");
    arguments.insert("queries".to_owned(), Value::from(vec![question]));
    arguments.insert("preview".to_owned(), Value::from(!query.brief));
    if let Some(limit) = query.limit {
        arguments.insert("limit".to_owned(), limit.into());
    }
    if let Some(source) = query.source {
        arguments.insert("source".to_owned(), source.into());
    }
    if let Some(kind) = query.kind {
        let kind = match kind {
            Kind::Code => "code",
            Kind::Prose => "prose",
        };
        arguments.insert("content_type".to_owned(), kind.into());
    }
    call::call(flags, Tool::Search, arguments, form)
}
