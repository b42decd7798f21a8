//! Arguments of `execute`.

use std::time::Duration;

use quietcontext_exec::Language;
use serde_json::{Map, Value, json};

use super::Fields;
use crate::error::ToolError;
use crate::limits;
use crate::program::{self, ScriptSource};

pub(crate) const DESCRIPTION: &str = "\
Run code: shell commands or a program (tests, builds, git, data). Output over max_bytes \
(256-8192) is stored whole: digest with r: refs for search. Give language+code or script_ref \
([s:..] of an answer). intent: matches instead. timeout_ms 120000. background: answers after \
timeout_ms (1000), runs on until stop: its label.";

pub(crate) fn schema() -> Value {
    json!({"type": "object", "properties": {
        "language": {"type": "string", "enum": Language::all().map(Language::name).collect::<Vec<_>>()},
        "code": {"type": "string"},
        "script_ref": {"type": "string"},
        "cwd": {"type": "string"},
        "timeout_ms": {"type": "integer"},
        "background": {"type": "boolean"},
        "stop": {"type": "string"},
        "intent": {"type": "string"},
        "max_bytes": {"type": "integer"},
    }})
}

/// What `execute` was asked for, consistent by construction.
#[derive(Debug)]
pub(crate) enum Request {
    /// Run a program.
    Run(RunArgs),
    /// Stop a background job and answer its final digest.
    Stop { label: String, max_bytes: Option<usize> },
}

/// A program to run.
#[derive(Debug)]
pub(crate) struct RunArgs {
    pub script: ScriptSource,
    pub cwd: Option<String>,
    /// Deadline of the call; for a background run the wait before it answers.
    pub timeout: Duration,
    pub background: bool,
    pub intent: Option<String>,
    /// `None`: the default budget, with the digest at its default size.
    pub max_bytes: Option<usize>,
}

pub(crate) fn parse(arguments: Map<String, Value>) -> Result<Request, ToolError> {
    let mut fields = Fields::read(arguments, &schema())?;
    let max_bytes = fields.max_bytes(limits::ANSWER_BYTES)?;
    if let Some(label) = fields.string("stop")? {
        for name in ["language", "code", "script_ref", "cwd", "background", "intent"] {
            if fields.has(name) {
                return Err(ToolError::argument("stop", format!("stands alone; take {name} out")));
            }
        }
        fields.timeout_ms()?;
        return Ok(Request::Stop { label, max_bytes });
    }
    let background = fields.boolean("background")?.unwrap_or(false);
    let default = if background { limits::BACKGROUND_MS } else { limits::RUN_MS };
    let timeout = Duration::from_millis(fields.timeout_ms()?.unwrap_or(default));
    let script = program::source(&mut fields)?;
    Ok(Request::Run(RunArgs {
        script,
        cwd: fields.string("cwd")?,
        timeout,
        background,
        intent: fields.string("intent")?.filter(|text| !text.trim().is_empty()),
        max_bytes,
    }))
}
