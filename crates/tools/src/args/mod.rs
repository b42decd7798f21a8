//! Arguments: one file a tool, its schema beside its struct; [`Fields`] is the hand-held reader.
//!
//! Models stringify arguments: where a string *is* the wanted value in JSON it is read as such, and a
//! bare string where an array of strings is wanted is an array of one. After that a value must match.

pub(crate) mod batch;
pub(crate) mod exec_file;
pub(crate) mod execute;
pub(crate) mod fetch_index;
pub(crate) mod index;
pub(crate) mod search;

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::budget::ByteBudget;
use crate::error::ToolError;
use crate::limits;
use crate::render::{nearest, short};

/// Names that configurations written for an older server use, and what they are called here.
const ALIASES: &[(&str, &str)] = &[
    ("contentType", "content_type"),
    ("followSymlinks", "follow_symlinks"),
    ("maxDepth", "max_depth"),
    ("maxFiles", "max_files"),
    ("respectGitignore", "respect_gitignore"),
    ("timeout", "timeout_ms"),
    ("ttl", "ttl_ms"),
];

/// The arguments of one call, taken out one by one; what is left at the end is unknown.
#[derive(Debug)]
pub(crate) struct Fields {
    left: Map<String, Value>,
    known: Vec<String>,
}

impl Fields {
    /// Takes the arguments as sent, refusing names that `schema` does not know.
    pub(crate) fn read(arguments: Map<String, Value>, schema: &Value) -> Result<Self, ToolError> {
        let known: Vec<String> = schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| properties.keys().cloned().collect())
            .unwrap_or_default();
        let mut left = Map::new();
        for (name, value) in arguments {
            let name = canonical(&name, &known).ok_or_else(|| unknown(&name, &known))?;
            if value.is_null() {
                continue;
            }
            if left.insert(name.clone(), value).is_some() {
                return Err(ToolError::argument(&name, "is given twice, under two names"));
            }
        }
        Ok(Self { left, known })
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        debug_assert!(self.known.iter().any(|k| k == name), "{name} is not in the schema");
        self.left.remove(name)
    }

    /// Whether `name` was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.left.contains_key(name)
    }

    pub(crate) fn string(&mut self, name: &str) -> Result<Option<String>, ToolError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, "a string", &other)),
        }
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Result<Option<bool>, ToolError> {
        match self.take(name).map(unquote) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong(name, "true or false", &other)),
        }
    }

    pub(crate) fn integer(
        &mut self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ToolError> {
        let Some(value) = self.take(name).map(unquote) else { return Ok(None) };
        let must = if *range.end() == u64::MAX {
            format!("an integer of at least {}", range.start())
        } else {
            format!("an integer from {} to {}", range.start(), range.end())
        };
        match whole(&value) {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(wrong(name, &must, &value)),
        }
    }

    /// `max_bytes`, within the hard cap of the tool.
    pub(crate) fn max_bytes(&mut self, cap: usize) -> Result<Option<usize>, ToolError> {
        let range = limits::SMALLEST_BYTES as u64..=cap as u64;
        Ok(self.integer("max_bytes", range)?.map(|bytes| bytes as usize))
    }

    /// `timeout_ms`.
    pub(crate) fn timeout_ms(&mut self) -> Result<Option<u64>, ToolError> {
        self.integer("timeout_ms", limits::TIMEOUT_MS)
    }

    /// An array of strings; a bare string is an array of one.
    pub(crate) fn strings(&mut self, name: &str) -> Result<Option<Vec<String>>, ToolError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let items = match listed(value) {
            Value::Array(items) => items,
            text @ Value::String(_) => vec![text],
            other => return Err(wrong(name, "an array of strings", &other)),
        };
        check_count(name, items.len())?;
        items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(text),
                other => Err(wrong(name, "an array of strings", &other)),
            })
            .collect::<Result<Vec<_>, _>>()
            .map(Some)
    }

    /// An array of objects or strings, or one object, or either as JSON text. A bare string stays one.
    pub(crate) fn list(&mut self, name: &str) -> Result<Option<Value>, ToolError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let value = listed(value);
        if let Value::Array(items) = &value {
            check_count(name, items.len())?;
        }
        Ok(Some(value))
    }

    /// One of `allowed`.
    pub(crate) fn one_of(
        &mut self,
        name: &str,
        allowed: &[&'static str],
    ) -> Result<Option<&'static str>, ToolError> {
        let Some(text) = self.string(name)? else { return Ok(None) };
        match allowed.iter().find(|word| word.eq_ignore_ascii_case(text.trim())) {
            Some(word) => Ok(Some(word)),
            None => Err(wrong(name, &allowed.join(" or "), &Value::String(text))),
        }
    }
}

fn check_count(name: &str, count: usize) -> Result<(), ToolError> {
    if count > limits::ITEMS {
        return Err(ToolError::argument(
            name,
            format!("may hold at most {} items, got {count}", limits::ITEMS),
        ));
    }
    Ok(())
}

fn canonical(name: &str, known: &[String]) -> Option<String> {
    if known.iter().any(|k| k == name) {
        return Some(name.to_owned());
    }
    let (_, wanted) = ALIASES.iter().find(|(alias, _)| *alias == name)?;
    known.iter().find(|k| k == wanted).cloned()
}

fn unknown(name: &str, known: &[String]) -> ToolError {
    let mut message = format!("unknown argument {}", short(name));
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => message.push_str(&format!("; did you mean {near}?")),
        None => message.push_str(&format!("; known: {}", known.join(", "))),
    }
    ToolError::Argument(message)
}

/// A string that is a JSON number or boolean is that value.
fn unquote(value: Value) -> Value {
    match &value {
        Value::String(text) => match serde_json::from_str::<Value>(text.trim()) {
            Ok(inner @ (Value::Number(_) | Value::Bool(_))) => inner,
            _ => value,
        },
        _ => value,
    }
}

/// A string that is a JSON array or object is that value.
fn listed(value: Value) -> Value {
    match &value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Array(_) | Value::Object(_))) => inner,
            _ => value,
        },
        _ => value,
    }
}

/// An integral number of any JSON spelling: `2000`, `2000.0`, `2e3`.
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        (float >= 0.0 && float.fract() == 0.0 && float < 9.007_199_254_740_992e15)
            .then_some(float as u64)
    })
}

/// The budget a call asks for, as far as it can be known before the arguments are checked: errors
/// keep to it as well.
pub(crate) fn budget(arguments: &Map<String, Value>) -> ByteBudget {
    let asked = arguments.get("max_bytes").cloned().map(unquote).as_ref().and_then(whole);
    let most = limits::BATCH_BYTES as u64;
    ByteBudget::new(asked.map_or(limits::BATCH_BYTES, |bytes| bytes.min(most) as usize))
}

/// `name must be …, got …`; what was sent is named by its kind, not repeated.
pub(crate) fn wrong(name: &str, must: &str, got: &Value) -> ToolError {
    let got = match got {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() => "an empty string".to_owned(),
        Value::String(text) if text.len() <= 24 => format!("the string {}", short(text)),
        Value::String(text) => format!("a string of {} bytes", text.len()),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    };
    ToolError::argument(name, format!("must be {must}, got {got}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(arguments: Value) -> Result<Fields, ToolError> {
        let schema = json!({"properties": {"max_bytes": {}, "queries": {}, "timeout_ms": {}, "preview": {}}});
        Fields::read(arguments.as_object().cloned().unwrap_or_default(), &schema)
    }

    #[test]
    fn an_unknown_argument_is_named_with_the_nearest_known_one() {
        let error = fields(json!({"max_byte": 300})).unwrap_err();
        assert_eq!(error.to_string(), "unknown argument \"max_byte\"; did you mean max_bytes?");
    }

    #[test]
    fn integers_are_read_in_every_spelling_and_refused_out_of_range() {
        for spelled in [json!(2000), json!("2000"), json!(2000.0), json!(" 2e3 ")] {
            let mut read = fields(json!({"max_bytes": spelled})).unwrap();
            assert_eq!(read.max_bytes(8192).unwrap(), Some(2000));
        }
        for wrong in [json!("lots"), json!(255), json!(8193), json!(-5), json!(300.5), json!([300])]
        {
            let mut read = fields(json!({"max_bytes": wrong})).unwrap();
            let message = read.max_bytes(8192).unwrap_err().to_string();
            assert!(
                message.starts_with("max_bytes must be an integer from 256 to 8192, got "),
                "{message}"
            );
        }
    }

    /// What is of another kind, or contradicts itself, is refused by its name with what was sent.
    #[test]
    fn what_cannot_be_meant_is_refused_by_its_name() {
        fn said<T>(parsed: Result<T, ToolError>) -> String {
            parsed.err().map(|error| error.to_string()).unwrap_or_default()
        }
        let many = vec!["x"; limits::ITEMS + 1];
        let refused = |tool: &str, sent: Value| {
            let arguments = sent.as_object().cloned().unwrap_or_default();
            match tool {
                "batch" => said(batch::parse(arguments)),
                "fetch-index" => said(fetch_index::parse(arguments)),
                "index" => said(index::parse(arguments)),
                _ => said(search::parse(arguments)),
            }
        };
        for (tool, sent, says) in [
            (
                "batch",
                json!({"commands": [{"label": 1, "command": "x"}]}),
                "commands[].label must be a string, got 1",
            ),
            (
                "batch",
                json!({"commands": [{"command": {}}]}),
                "commands[].command must be a string, got an object",
            ),
            ("batch", json!({"commands": ["x\0y"]}), "commands has a command with a NUL character"),
            (
                "fetch-index",
                json!({"url": "a", "requests": ["b"]}),
                "url and requests are both given",
            ),
            (
                "fetch-index",
                json!({"requests": ["b"], "source": "s"}),
                "source goes into each of requests",
            ),
            (
                "fetch-index",
                json!({"requests": true}),
                "requests must be an array of {url, source} objects",
            ),
            (
                "fetch-index",
                json!({"requests": [{"url": "a", "source": 7}]}),
                "requests[].source must be a string, got 7",
            ),
            (
                "fetch-index",
                json!({"requests": [7]}),
                "requests[] must be an object or a URL, got 7",
            ),
            ("index", json!({"path": ""}), "path is empty"),
            (
                "search",
                json!({"queries": ["a"], "refs": ["r:1"]}),
                "queries and refs are both given",
            ),
            ("search", json!({"queries": []}), "queries must hold at least one query"),
            (
                "search",
                json!({"queries": {}}),
                "queries must be an array of strings, got an object",
            ),
            ("search", json!({"queries": many}), "queries may hold at most"),
            (
                "search",
                json!({"queries": ["a"], "preview": "perhaps"}),
                "preview must be true or false, got the string",
            ),
            ("search", json!({"refs": {}}), "refs must be an array of references"),
            (
                "search",
                json!({"refs": [null]}),
                "refs[] must be a reference such as r:7 or r:7-12, got null",
            ),
        ] {
            let line = refused(tool, sent.clone());
            assert!(line.starts_with(says), "{tool} {sent}: {line:?}");
        }
        let control = refused("search", json!({"queries": ["a"], "content_type": "prose"}));
        assert_eq!(control, "");
    }

    #[test]
    fn older_names_are_accepted_once() {
        let mut read = fields(json!({"timeout": "5000"})).unwrap();
        assert_eq!(read.timeout_ms().unwrap(), Some(5000));
        assert!(fields(json!({"timeout": 1, "timeout_ms": 2})).is_err());
    }

    #[test]
    fn an_array_may_arrive_as_text_or_as_one_string() {
        for sent in [json!(["a"]), json!("a"), json!("[\"a\"]")] {
            let mut read = fields(json!({"queries": sent})).unwrap();
            assert_eq!(read.strings("queries").unwrap(), Some(vec!["a".to_owned()]));
        }
        let mut read = fields(json!({"queries": null})).unwrap();
        assert_eq!(read.strings("queries").unwrap(), None);
        assert!(fields(json!({"queries": [1]})).unwrap().strings("queries").is_err());
    }
}
