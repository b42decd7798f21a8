//! Arguments of `search`.

use serde_json::{Map, Value, json};

use super::{Fields, wrong};
use crate::error::ToolError;
use crate::limits;
use crate::reference::Reference;

pub(crate) const DESCRIPTION: &str = "\
Search stored output, files and pages (queries: words, identifiers, \"phrases\"), or read them \
(refs: r:7, r:7-12). limit 1-20, default 3. preview adds text. source: label, prefix* or \
part of a path. max_bytes 256-8192.";

pub(crate) fn schema() -> Value {
    json!({"type": "object", "properties": {
        "queries": {"type": "array", "items": {"type": "string"}},
        "refs": {"type": "array", "items": {"type": "string"}},
        "preview": {"type": "boolean"},
        "limit": {"type": "integer"},
        "source": {"type": "string"},
        "content_type": {"type": "string", "enum": ["code", "prose"]},
        "max_bytes": {"type": "integer"},
    }})
}

/// What `search` was asked for.
#[derive(Debug)]
pub(crate) enum Request {
    Queries(QueryArgs),
    Refs { refs: Vec<Result<Reference, String>>, max_bytes: usize },
}

/// Questions, and where to look.
#[derive(Debug)]
pub(crate) struct QueryArgs {
    pub queries: Vec<String>,
    pub preview: bool,
    pub limit: usize,
    pub source: Option<String>,
    pub kind: Option<quietcontext_store::Kind>,
    pub max_bytes: usize,
}

pub(crate) fn parse(arguments: Map<String, Value>) -> Result<Request, ToolError> {
    let mut fields = Fields::read(arguments, &schema())?;
    let max_bytes = fields.max_bytes(limits::ANSWER_BYTES)?.unwrap_or(limits::ANSWER_BYTES);
    let limit = fields.integer("limit", 1..=20)?.unwrap_or(3) as usize;
    let preview = fields.boolean("preview")?.unwrap_or(false);
    let source = fields.string("source")?.filter(|source| !source.is_empty());
    let kind = match fields.one_of("content_type", &["code", "prose"])? {
        Some("code") => Some(quietcontext_store::Kind::Code),
        Some(_) => Some(quietcontext_store::Kind::Prose),
        None => None,
    };
    let queries = fields.strings("queries")?;
    let refs = fields.list("refs")?;
    match (queries, refs) {
        (Some(_), Some(_)) => {
            Err(ToolError::Argument("queries and refs are both given: give one of them".into()))
        }
        (None, None) => Err(ToolError::Argument("queries or refs is missing: give one".into())),
        (Some(queries), None) if queries.is_empty() => {
            Err(ToolError::argument("queries", "must hold at least one query"))
        }
        (Some(queries), None) => {
            Ok(Request::Queries(QueryArgs { queries, preview, limit, source, kind, max_bytes }))
        }
        (None, Some(refs)) => Ok(Request::Refs { refs: references(refs)?, max_bytes }),
    }
}

/// Strings or bare numbers; several may stand in one string, as the `more:` line gives them.
fn references(value: Value) -> Result<Vec<Result<Reference, String>>, ToolError> {
    let items = match value {
        Value::Array(items) => items,
        one @ (Value::String(_) | Value::Number(_)) => vec![one],
        other => return Err(wrong("refs", "an array of references such as r:7 or r:7-12", &other)),
    };
    let mut parsed = Vec::new();
    for item in items {
        let text = match item {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            other => return Err(wrong("refs[]", "a reference such as r:7 or r:7-12", &other)),
        };
        parsed.extend(Reference::parse_list(&text));
    }
    if parsed.is_empty() {
        return Err(ToolError::argument("refs", "must hold at least one reference such as r:7"));
    }
    Ok(parsed)
}
