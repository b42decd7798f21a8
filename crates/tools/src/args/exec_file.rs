//! Arguments of `exec-file`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Fields;
use crate::error::ToolError;
use crate::limits;
use crate::program::{self, ScriptSource};

pub(crate) const DESCRIPTION: &str = "\
Run code over one file (log, CSV, JSON): stdin is the file, FILE_PATH its name, FILE_CONTENT \
its text. path: a file, or stored output (r:7-9, label). Else as execute.";

pub(crate) fn schema() -> Value {
    json!({"type": "object", "properties": {
        "path": {"type": "string"},
        "language": {"type": "string"},
        "code": {"type": "string"},
        "script_ref": {"type": "string"},
        "timeout_ms": {"type": "integer"},
        "intent": {"type": "string"},
        "max_bytes": {"type": "integer"},
    }, "required": ["path"]})
}

/// What `exec-file` was asked for.
#[derive(Debug)]
pub(crate) struct Request {
    pub path: String,
    pub script: ScriptSource,
    pub timeout: Duration,
    pub intent: Option<String>,
    pub max_bytes: Option<usize>,
}

pub(crate) fn parse(arguments: Map<String, Value>) -> Result<Request, ToolError> {
    let mut fields = Fields::read(arguments, &schema())?;
    let max_bytes = fields.max_bytes(limits::ANSWER_BYTES)?;
    let timeout = Duration::from_millis(fields.timeout_ms()?.unwrap_or(limits::RUN_MS));
    let path = fields.string("path")?.filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| {
        ToolError::argument("path", "is missing: name a file below the root, r:n-m, or a label")
    })?;
    let script = program::source(&mut fields)?;
    let intent = fields.string("intent")?.filter(|text| !text.trim().is_empty());
    Ok(Request { path, script, timeout, intent, max_bytes })
}
