//! Arguments of `fetch-index`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::index::check_source;
use super::{Fields, wrong};
use crate::error::ToolError;
use crate::limits;

pub(crate) const DESCRIPTION: &str = "\
Fetch web pages and index their text for search: url, or requests for several. concurrency \
1-8. Cached for ttl_ms (24 h) unless force.";

pub(crate) fn schema() -> Value {
    json!({"type": "object", "properties": {
        "url": {"type": "string"},
        "source": {"type": "string"},
        "requests": {"type": "array", "items": {"type": "object", "properties": {
            "url": {"type": "string"}, "source": {"type": "string"}}}},
        "concurrency": {"type": "integer"},
        "ttl_ms": {"type": "integer"},
        "force": {"type": "boolean"},
    }})
}

/// One page to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageArgs {
    pub url: String,
    pub source: Option<String>,
}

/// What `fetch-index` was asked for.
#[derive(Debug)]
pub(crate) struct Request {
    pub pages: Vec<PageArgs>,
    pub concurrency: usize,
    /// A cached page younger than this is not fetched again; zero with `force`.
    pub ttl: Duration,
}

pub(crate) fn parse(arguments: Map<String, Value>) -> Result<Request, ToolError> {
    let mut fields = Fields::read(arguments, &schema())?;
    let url = fields.string("url")?;
    let source = fields.string("source")?;
    let requests = fields.list("requests")?;
    let concurrency = fields.integer("concurrency", 1..=8)?.unwrap_or(4) as usize;
    let ttl_ms = fields.integer("ttl_ms", 0..=u64::MAX)?.unwrap_or(limits::TTL_MS);
    let force = fields.boolean("force")?.unwrap_or(false);
    let pages = match (url, requests) {
        (Some(_), Some(_)) => {
            return Err(ToolError::Argument("url and requests are both given: give one".into()));
        }
        (None, None) => {
            return Err(ToolError::Argument("url or requests is missing: give one".into()));
        }
        (Some(url), None) => vec![PageArgs { url, source }],
        (None, Some(_)) if source.is_some() => {
            return Err(ToolError::argument("source", "goes into each of requests"));
        }
        (None, Some(requests)) => pages(requests)?,
    };
    for page in &pages {
        if let Some(source) = &page.source {
            check_source(source)?;
        }
    }
    let ttl = if force { Duration::ZERO } else { Duration::from_millis(ttl_ms) };
    Ok(Request { pages, concurrency, ttl })
}

fn pages(value: Value) -> Result<Vec<PageArgs>, ToolError> {
    const FORM: &str = "an array of {url, source} objects or of URLs";
    let items = match value {
        Value::Array(items) if !items.is_empty() => items,
        one @ Value::Object(_) => vec![one],
        other => return Err(wrong("requests", FORM, &other)),
    };
    items
        .into_iter()
        .map(|item| match item {
            Value::String(url) => Ok(PageArgs { url, source: None }),
            Value::Object(mut object) => {
                let source = match object.remove("source") {
                    None | Some(Value::Null) => None,
                    Some(Value::String(source)) => Some(source),
                    Some(other) => return Err(wrong("requests[].source", "a string", &other)),
                };
                match (object.remove("url"), object.keys().next()) {
                    (Some(Value::String(url)), None) => Ok(PageArgs { url, source }),
                    (Some(Value::String(_)), Some(name)) => {
                        let name = crate::render::short(name);
                        Err(ToolError::argument("requests", format!("has an unknown key {name}")))
                    }
                    _ => Err(ToolError::argument("requests", "has an item without url")),
                }
            }
            other => Err(wrong("requests[]", "an object or a URL", &other)),
        })
        .collect()
}
