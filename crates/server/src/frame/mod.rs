//! Decides what one line is: a message for the SDK, something to refuse with an answer, or nothing.
//!
//! The SDK drops what it cannot read without an answer, and the client then waits for its own
//! time-out. Whatever carries an id is answered here, with that id where it can be told.

mod envelope;
mod repair;
mod scan;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, RequestId};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

pub(crate) use self::scan::IdScan;
use self::{
    envelope::{Envelope, Leaf},
    repair::repair,
};

/// The longest message that is taken, in bytes, whatever carries it.
pub(crate) const MESSAGE_LIMIT: usize = 16 << 20;

/// How deep arrays and objects may nest in one message.
const DEPTH_LIMIT: usize = 127;

/// What one line turned out to be.
#[derive(Debug)]
pub(crate) enum Frame {
    /// A message to hand on.
    Message(Box<ClientJsonRpcMessage>),
    /// Something that gets an error as its answer.
    Refused(Refusal),
    /// A blank line, or something that by its kind is never answered.
    Nothing,
}

/// A JSON-RPC error that the guard gives by itself.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    id: Value,
    code: ErrorCode,
    message: &'static str,
}

impl Refusal {
    /// The message that says so.
    pub(crate) fn message(&self) -> String {
        let error = json!({ "code": self.code.0, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string()
    }

    fn invalid(id: Value, message: &'static str) -> Frame {
        Frame::Refused(Self { id, code: ErrorCode::INVALID_REQUEST, message })
    }
}

/// The refusal of a line that was too long to be taken, given the text of its id.
pub(crate) fn too_long(id: Option<&str>) -> Frame {
    let id = id.and_then(|id| serde_json::from_str(&repair(id.as_bytes())).ok());
    let id = id.filter(|id: &Value| id.is_string() || id.is_number());
    Refusal::invalid(id.unwrap_or_default(), "message over 16 MiB")
}

/// Reads one line.
pub(crate) fn read(line: &[u8]) -> Frame {
    let text = repair(line);
    let parsed = match text.trim_ascii_start().as_bytes().first() {
        None => return Frame::Nothing,
        Some(b'{') => serde_json::from_str::<Envelope>(&text),
        Some(first) => match serde_json::from_str::<IgnoredAny>(&text) {
            Ok(_) if *first == b'[' => {
                return Refusal::invalid(Value::Null, "batches are not supported");
            }
            Ok(_) => return Refusal::invalid(Value::Null, "not a JSON-RPC message"),
            Err(error) => Err(error),
        },
    };
    match parsed {
        Ok(envelope) => envelope.classify(&text),
        Err(_) => Frame::Refused(Refusal {
            id: Value::Null,
            code: ErrorCode::PARSE_ERROR,
            message: "not JSON",
        }),
    }
}

impl Envelope {
    fn classify(self, text: &str) -> Frame {
        if self.method.is_none() && self.answers {
            // An answer is never answered, not even when it cannot be read.
            return typed(text).map_or(Frame::Nothing, Frame::Message);
        }
        let answered = self.id.is_some();
        let id = self.id.map(Leaf::scalar).unwrap_or_default();
        // Only text and numbers can be ids; anything else would be echoed for nothing.
        let echo = if id.is_string() || id.is_number() { id.clone() } else { Value::Null };
        if self.version.map(Leaf::scalar) != Some(Value::from("2.0")) {
            return Refusal::invalid(echo, "jsonrpc must be \"2.0\"");
        }
        let Some(Value::String(method)) = self.method.map(Leaf::scalar) else {
            return Refusal::invalid(echo, "method must be a string");
        };
        if answered && serde_json::from_value::<RequestId>(id.clone()).is_err() {
            return Refusal::invalid(echo, "id must be a string or an integer");
        }
        let message = match &self.params {
            // JSON-RPC knows no null params, yet some clients write them for "none".
            Some(Leaf::Scalar(Value::Null)) if answered => {
                typed(&json!({ "jsonrpc": "2.0", "id": id, "method": method }).to_string())
            }
            Some(Leaf::Scalar(Value::Null)) => {
                typed(&json!({ "jsonrpc": "2.0", "method": method }).to_string())
            }
            _ => typed(text),
        };
        match (message, self.params) {
            (Some(message), _) => Frame::Message(message),
            (None, _) if !answered => Frame::Nothing,
            (None, Some(Leaf::Array | Leaf::Scalar(_))) => Frame::Refused(Refusal {
                id: echo,
                code: ErrorCode::INVALID_PARAMS,
                message: "params must be an object",
            }),
            (None, _) if depth(text) > DEPTH_LIMIT => {
                Refusal::invalid(echo, "nested deeper than 127 levels")
            }
            (None, _) => Refusal::invalid(echo, "not a JSON-RPC request"),
        }
    }
}

fn typed(text: &str) -> Option<Box<ClientJsonRpcMessage>> {
    serde_json::from_str(text).ok()
}

/// How deep arrays and objects nest in `text`, which is JSON.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The answer the guard gives by itself: id and code.
    fn refused(line: &[u8]) -> Option<(Value, i32)> {
        match read(line) {
            Frame::Refused(refusal) => Some((refusal.id, refusal.code.0)),
            _ => None,
        }
    }

    #[test]
    fn what_cannot_be_handed_on_is_answered_with_the_id_it_had() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{}{}}}"#,
            r#"{"a":["#.repeat(2500),
            "]}".repeat(2500)
        );
        let table: &[(&str, Value, i32)] = &[
            ("{", Value::Null, -32700),
            ("hello", Value::Null, -32700),
            ("[1,", Value::Null, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, Value::Null, -32700),
            ("[]", Value::Null, -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, -32600),
            ("42", Value::Null, -32600),
            ("{}", Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":9}"#, json!(9), -32600),
            (r#"{"jsonrpc":"2.0","id":9,"method":5}"#, json!(9), -32600),
            (r#"{"id":"q","method":"ping"}"#, json!("q"), -32600),
            (r#"{"jsonrpc":"1.0","id":9,"method":"ping"}"#, json!(9), -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(1.5), -32600),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, Value::Null, -32600),
            (&deep, json!(6), -32600),
            (r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":[]}"#, json!(6), -32602),
            (r#"{"jsonrpc":"2.0","id":6,"method":"ping","params":"x"}"#, json!(6), -32602),
            (&"[".repeat(5000), Value::Null, -32700),
        ];
        for (line, id, code) in table {
            let shown: String = line.chars().take(60).collect();
            assert_eq!(refused(line.as_bytes()), Some((id.clone(), *code)), "{shown}");
        }
    }

    #[test]
    fn what_the_client_may_send_is_handed_on() {
        for line in [
            r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":"","method":"ping","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":""}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/unheard","params":{"a":1}}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#,
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}"#,
            " {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r",
        ] {
            assert!(matches!(read(line.as_bytes()), Frame::Message(_)), "{line}");
        }
    }

    #[test]
    fn what_is_never_answered_stays_unanswered() {
        for line in [
            "",
            "  \r",
            "\t",
            r#"{"id":1,"result":7,"error":3}"#,
            r#"{"error":0}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/unheard","params":[1]}"#,
        ] {
            assert!(matches!(read(line.as_bytes()), Frame::Nothing), "{line}");
        }
    }

    #[test]
    fn a_line_over_the_limit_is_refused_by_its_id() {
        for (text, id) in [
            (None, Value::Null),
            (Some("7"), json!(7)),
            (Some("\"a\\ud800\""), json!("a\u{fffd}")),
            (Some("{"), Value::Null),
            (Some("true"), Value::Null),
        ] {
            let Frame::Refused(refusal) = too_long(text) else { panic!("{text:?}") };
            assert_eq!((refusal.id, refusal.code.0), (id, -32600));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived_and_refusals_are_one_line(bytes: Vec<u8>) {
            if let Frame::Refused(refusal) = read(&bytes) {
                let message = refusal.message();
                prop_assert!(!message.contains('\n'));
                let answer: Value = serde_json::from_str(&message).unwrap();
                prop_assert_eq!(&answer["jsonrpc"], "2.0");
            }
        }

        #[test]
        fn any_string_is_an_id(id: String) {
            let line = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
            prop_assert!(matches!(read(line.as_bytes()), Frame::Message(_)));
        }
    }
}
