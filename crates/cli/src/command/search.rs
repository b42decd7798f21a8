//! `search`: one question to the store.

use quietcontext_tools::Tool;
use serde_json::{Map, Value};

use super::{call, hits};
use crate::{
    args::{Form, Kind},
    config::Flags,
    terminal::{self, Exit, Problem, look::Look},
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

/// Searches. A person gets the answer laid out anew, a pipe as an agent gets it.
pub(crate) fn run(flags: &Flags, query: Query, form: Form) -> Result<Exit, Problem> {
    let mut arguments = Map::new();
    let question = query.words.join(" ");
    arguments.insert("queries".to_owned(), Value::from(vec![question.clone()]));
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
    let look = Look::stdout();
    if form == Form::Json || !(look.person || look.colour) {
        return call::call(flags, Tool::Search, arguments, form);
    }
    let Some((answer, root)) = call::answer(flags, Tool::Search, arguments)? else {
        return Ok(Exit::Interrupted);
    };
    if answer.is_error {
        return call::show(&answer, form);
    }
    let text = answer.text.as_str();
    terminal::print(&hits::show(text, &question, &root, look))?;
    if text.contains("nothing there to search") {
        terminal::hint(
            "quietcontext sources lists what is stored, quietcontext index docs stores a folder",
        );
    } else if let Some(reference) = first_reference(text) {
        terminal::hint(&format!("quietcontext cat {reference} prints the first passage whole"));
    }
    Ok(Exit::Fine)
}

/// `r:7` of the first result.
fn first_reference(answer: &str) -> Option<String> {
    let line = answer.lines().find_map(|line| line.strip_prefix("[r:"))?;
    let number: u64 = line.split_once(']')?.0.parse().ok()?;
    Some(format!("r:{number}"))
}
