//! Arguments of `batch`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fields, wrong};
use crate::error::ToolError;
use crate::limits;

pub(crate) const DESCRIPTION: &str = "\
Run several shell commands and search their output: a line each (exit, size, r: range), \
passages per query. concurrency 1-8 (default 1, in order; 8 if independent). query_scope \
batch (default) or global. max_bytes 256-12288.";

pub(crate) fn schema() -> Value {
    json!({"type": "object", "properties": {
        "commands": {"type": "array", "items": {"type": "object", "properties": {
            "label": {"type": "string"}, "command": {"type": "string"}}, "required": ["command"]}},
        "queries": {"type": "array", "items": {"type": "string"}},
        "cwd": {"type": "string"},
        "timeout_ms": {"type": "integer"},
        "concurrency": {"type": "integer"},
        "query_scope": {"type": "string"},
        "max_bytes": {"type": "integer"},
    }, "required": ["commands"]})
}

/// One command, exactly as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub label: Option<String>,
    pub command: String,
}

/// What the queries of a batch look through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryScope {
    Batch,
    Global,
}

/// What `batch` was asked for.
#[derive(Debug)]
pub(crate) struct Request {
    pub commands: Vec<Command>,
    pub queries: Vec<String>,
    pub cwd: Option<String>,
    pub timeout: Duration,
    pub concurrency: usize,
    pub scope: QueryScope,
    pub max_bytes: usize,
}

pub(crate) fn parse(arguments: Map<String, Value>) -> Result<Request, ToolError> {
    let mut fields = Fields::read(arguments, &schema())?;
    let max_bytes = fields.max_bytes(limits::BATCH_BYTES)?.unwrap_or(limits::BATCH_DEFAULT_BYTES);
    let commands = commands(fields.list("commands")?)?;
    let scope = match fields.one_of("query_scope", &["batch", "global"])? {
        Some("global") => QueryScope::Global,
        _ => QueryScope::Batch,
    };
    Ok(Request {
        commands,
        queries: fields.strings("queries")?.unwrap_or_default(),
        cwd: fields.string("cwd")?,
        timeout: Duration::from_millis(fields.timeout_ms()?.unwrap_or(limits::RUN_MS)),
        concurrency: fields.integer("concurrency", 1..=8)?.unwrap_or(1) as usize,
        scope,
        max_bytes,
    })
}

const FORM: &str = "an array of {label, command} objects or of command strings";

fn commands(value: Option<Value>) -> Result<Vec<Command>, ToolError> {
    let items = match value {
        Some(Value::Array(items)) if !items.is_empty() => items,
        Some(object @ Value::Object(_)) => vec![object],
        Some(other) => return Err(wrong("commands", FORM, &other)),
        None => return Err(ToolError::argument("commands", format!("is missing: give {FORM}"))),
    };
    items.into_iter().map(command).collect()
}

fn command(item: Value) -> Result<Command, ToolError> {
    let (label, command) = match item {
        Value::String(command) => (None, command),
        Value::Object(mut object) => {
            let label = match object.remove("label") {
                None | Some(Value::Null) => None,
                Some(Value::String(label)) => Some(label),
                Some(other) => return Err(wrong("commands[].label", "a string", &other)),
            };
            let command = match object.remove("command") {
                Some(Value::String(command)) => command,
                Some(other) => return Err(wrong("commands[].command", "a string", &other)),
                None => {
                    return Err(ToolError::argument("commands", "has an item without command"));
                }
            };
            if let Some(name) = object.keys().next() {
                let name = crate::render::short(name);
                return Err(ToolError::argument("commands", format!("has an unknown key {name}")));
            }
            (label, command)
        }
        other => return Err(wrong("commands[]", "an object or a string", &other)),
    };
    if command.trim().is_empty() {
        return Err(ToolError::argument("commands", "has an empty command"));
    }
    if command.contains('\0') {
        return Err(ToolError::argument("commands", "has a command with a NUL character"));
    }
    Ok(Command { label, command })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(commands: Value) -> Result<Vec<Command>, ToolError> {
        let arguments = json!({"commands": commands});
        parse(arguments.as_object().unwrap().clone()).map(|request| request.commands)
    }

    /// F-082: clear intent is accepted, anything else is refused by name and never run.
    #[test]
    fn commands_are_read_in_every_clear_form() {
        let a = Command { label: Some("a".into()), command: "echo A".into() };
        let bare = Command { label: None, command: "echo A".into() };
        for (sent, want) in [
            (json!([{"label": "a", "command": "echo A"}]), &a),
            (json!("[{\"label\":\"a\",\"command\":\"echo A\"}]"), &a),
            (json!({"label": "a", "command": "echo A"}), &a),
            (json!("{\"label\":\"a\",\"command\":\"echo A\"}"), &a),
            (json!(["echo A"]), &bare),
            (json!([{"command": "echo A"}]), &bare),
        ] {
            assert_eq!(parsed(sent).unwrap(), std::slice::from_ref(want));
        }
        for sent in [
            json!("echo A"),
            json!([{"label": "a", "cmd": "echo A"}]),
            json!([]),
            json!(null),
            json!([1]),
        ] {
            let message = parsed(sent.clone()).unwrap_err().to_string();
            assert!(message.starts_with("commands"), "{sent}: {message}");
        }
    }
}
