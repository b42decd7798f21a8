//! Arguments of `index`.

use serde_json::{Map, Value, json};

use super::Fields;
use crate::error::ToolError;
use crate::limits;

pub(crate) const DESCRIPTION: &str = "\
Index text (content), or a file or directory (path), for search. source labels it; again \
replaces. Directories by git ignore rules; max_files 10000.";

pub(crate) fn schema() -> Value {
    json!({"type": "object", "properties": {
        "content": {"type": "string"},
        "path": {"type": "string"},
        "source": {"type": "string"},
        "include": {"type": "array", "items": {"type": "string"}},
        "exclude": {"type": "array", "items": {"type": "string"}},
        "extensions": {"type": "array", "items": {"type": "string"}},
        "max_depth": {"type": "integer"},
        "max_files": {"type": "integer"},
        "respect_gitignore": {"type": "boolean"},
        "follow_symlinks": {"type": "boolean"},
    }})
}

/// What `index` was asked for.
#[derive(Debug)]
pub(crate) enum Request {
    Content { content: String, source: Option<String> },
    Path(PathArgs),
}

/// A file or directory to index, and which of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathArgs {
    pub path: String,
    pub source: Option<String>,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub extensions: Vec<String>,
    pub max_depth: Option<usize>,
    pub max_files: u64,
    pub respect_gitignore: bool,
    pub follow_symlinks: bool,
}

pub(crate) fn parse(arguments: Map<String, Value>) -> Result<Request, ToolError> {
    let mut fields = Fields::read(arguments, &schema())?;
    let content = fields.string("content")?;
    let path = fields.string("path")?;
    let source = fields.string("source")?;
    if let Some(source) = &source {
        check_source(source)?;
    }
    let walk = PathArgs {
        path: path.clone().unwrap_or_default(),
        source: source.clone(),
        include: fields.strings("include")?.unwrap_or_default(),
        exclude: fields.strings("exclude")?.unwrap_or_default(),
        extensions: fields.strings("extensions")?.unwrap_or_default(),
        max_depth: fields.integer("max_depth", 0..=u64::MAX)?.map(|depth| depth as usize),
        max_files: fields.integer("max_files", 1..=u64::MAX)?.unwrap_or(limits::FILES),
        respect_gitignore: fields.boolean("respect_gitignore")?.unwrap_or(true),
        follow_symlinks: fields.boolean("follow_symlinks")?.unwrap_or(false),
    };
    match (content, path) {
        (Some(_), Some(_)) => {
            Err(ToolError::Argument("content and path are both given: give one of them".into()))
        }
        (None, None) => Err(ToolError::Argument("content or path is missing: give one".into())),
        (Some(content), None) => Ok(Request::Content { content, source }),
        (None, Some(path)) if path.is_empty() => {
            Err(ToolError::argument("path", "is empty; \".\" is the root"))
        }
        (None, Some(_)) => Ok(Request::Path(walk)),
    }
}

/// A label is a name, not a text: bounded, visible, and no look-alike of a reference.
pub(crate) fn check_source(source: &str) -> Result<(), ToolError> {
    const LONGEST: usize = 1_024;
    if source.trim().is_empty() {
        return Err(ToolError::argument("source", "must not be empty"));
    }
    if source.len() > LONGEST {
        let got = source.len();
        return Err(ToolError::argument("source", format!("may have {LONGEST} bytes, got {got}")));
    }
    if source.chars().any(char::is_control) {
        return Err(ToolError::argument("source", "must be one line without control characters"));
    }
    Ok(())
}
