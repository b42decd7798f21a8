//! What holds for any arguments, reference, rule and output: the fuzzer tries it, the tests replay it.

#![expect(clippy::missing_panics_doc, reason = "a panic is how a property fails")]

use std::sync::LazyLock;

use quietcontext_store::{ChunkId, Observer as _};
use serde_json::{Map, Value};

use crate::args;
use crate::digest::Gathered;
use crate::error::ToolError;
use crate::reference::Reference;
use crate::salient::Salience;

pub use crate::policy::fuzzing::{deny_pattern, deny_rules, deny_shell};

/// Reads arguments; what they are read as, in words.
type Parse = fn(Map<String, Value>) -> Result<String, ToolError>;

macro_rules! tools {
    ($($tool:ident),+) => {
        const TOOLS: &[(fn() -> Value, Parse)] = &[$((
            args::$tool::schema,
            |arguments| args::$tool::parse(arguments).map(|request| format!("{request:?}")),
        )),+];
    };
}

tools!(batch, exec_file, execute, fetch_index, index, search);

/// Arguments are taken or refused in one short line, and mean the same when a model writes their
/// numbers, flags and lists as text. The first byte picks the tool.
pub fn arguments(data: &[u8]) {
    let Some((tool, json)) = data.split_first() else { return };
    let Ok(Value::Object(given)) = serde_json::from_slice(json) else { return };
    let (schema, parse) = TOOLS[usize::from(*tool) % TOOLS.len()];
    let outcome = parse(given.clone());
    if let Err(error) = &outcome {
        let budget = args::budget(&given);
        let answer = error.answer(budget);
        let text = answer.text.as_str();
        assert!(text.starts_with("error: ") && text.len() <= budget.bytes().min(512), "{text:?}");
        assert!(!text.contains(char::is_control), "{text:?}");
    }
    // A number that is not read as it was written, such as one of 39 digits, is another as text.
    let same = |value: &Value| {
        serde_json::from_str::<Value>(&value.to_string()).is_ok_and(|read| read == *value)
    };
    if !given.values().all(same) {
        return;
    }
    let schema = schema();
    let written = given.into_iter().map(|(name, value)| {
        let kind = schema.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str);
        let text = match (kind, &value) {
            (Some("integer"), Value::Number(_))
            | (Some("boolean"), Value::Bool(_))
            | (Some("array"), Value::Array(_) | Value::Object(_)) => {
                Value::String(value.to_string())
            }
            _ => value,
        };
        (name, text)
    });
    assert_eq!(parse(written.collect()).ok(), outcome.ok());
}

/// A reference that is read is written as itself; what is none is said in one short line.
pub fn reference(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(reference) = Reference::parse(&text) {
        assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
        assert_eq!(Reference::parse_list(&text), [Ok(reference)]);
    }
    for outcome in Reference::parse_list(&text) {
        if let Err(line) = outcome {
            assert!(!line.contains(char::is_control) && line.len() <= 512, "{line:?}");
        }
    }
}

/// A digest keeps to its room, is whole lines without control, and the output itself where that
/// fits. The first bytes say the room, and how many bytes of a line come at once.
pub fn digest(data: &[u8]) {
    static SALIENCE: LazyLock<Salience> = LazyLock::new(Salience::new);
    let Some(([high, low, step], bytes)) = data.split_first_chunk() else { return };
    let room = 40 + usize::from(u16::from_be_bytes([*high, *low])) % 3_000;
    let (view, _) = quietcontext_store::clean(bytes);
    let mut gathered = Gathered::new(room, &SALIENCE);
    let mut long = false;
    for (number, line) in (1..).zip(view.lines()) {
        let most = 200 + usize::from(*step) * 8;
        long |= line.len() > 200;
        let mut rest = line;
        loop {
            let (piece, others) = rest.split_at(rest.floor_char_boundary(most));
            gathered.line(number, piece);
            rest = others;
            if rest.is_empty() {
                break;
            }
        }
    }
    let render = || gathered.render(room, |line| Some(ChunkId(line)));
    let text = render();
    assert_eq!(text, render());
    assert!(text.len() <= room, "{} of {room}: {text}", text.len());
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    let whole: String = view.lines().flat_map(|line| [line, "\n"]).collect();
    if !long && whole.len() <= room {
        assert_eq!(text, whole);
    }
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;
    use super::*;

    #[test]
    fn any_arguments_are_taken_or_refused_in_a_line() {
        replay("arguments", arguments);
    }

    #[test]
    fn any_text_is_a_reference_or_none() {
        replay("reference", reference);
    }

    #[test]
    fn any_output_has_a_digest() {
        replay("digest", digest);
    }

    #[test]
    fn no_text_takes_a_denied_command_past_the_rules() {
        replay("deny_shell", deny_shell);
    }

    #[test]
    fn any_settings_are_rules_or_an_error() {
        replay("deny_rules", deny_rules);
    }

    #[test]
    fn patterns_match_what_their_stars_say() {
        replay("deny_pattern", deny_pattern);
    }
}
