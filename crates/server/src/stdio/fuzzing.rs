//! What holds for any stream of bytes on standard input.

#![expect(clippy::missing_panics_doc, clippy::panic, reason = "a panic is how a property fails")]

use rmcp::model::{ClientJsonRpcMessage, RequestId};
use serde_json::Value;

use super::lines::{Line, Lines};
use crate::frame::{self, Frame, IdScan};

/// Longest line in this trial, in bytes; the real one would never be reached.
const LIMIT: usize = 512;

/// The lines of a stream that comes in pieces of this size.
fn lines_of(bytes: &[u8], piece: usize) -> Vec<Line> {
    let mut lines = Lines::new(LIMIT);
    let mut found = Vec::new();
    for piece in bytes.chunks(piece) {
        lines.buffer().extend_from_slice(piece);
        while let Some(line) = lines.next() {
            found.push(line);
        }
    }
    found.extend(lines.last());
    found
}

/// Lines do not depend on how the bytes arrive; a request is handed on or refused under its own id,
/// once; a refusal is one line of JSON. The first byte says in which pieces the bytes come.
pub fn guard(data: &[u8]) {
    let Some((piece, bytes)) = data.split_first() else { return };
    let lines = lines_of(bytes, 1 + usize::from(*piece));
    assert_eq!(lines, lines_of(bytes, usize::MAX));
    let mut wanted: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    if wanted.last().is_some_and(|last| last.is_empty()) {
        wanted.pop();
    }
    assert_eq!(lines.len(), wanted.len());
    for (line, text) in lines.iter().zip(wanted) {
        let value: Option<Value> = serde_json::from_slice(text).ok();
        match line {
            Line::Whole(whole) => {
                assert_eq!(whole, text);
                assert!(text.len() <= LIMIT);
                answered(&frame::read(whole), value.as_ref());
            }
            Line::TooLong { id } => {
                assert!(text.len() > LIMIT);
                let Frame::Refused(refusal) = frame::too_long(id.as_deref()) else {
                    panic!("a line over the limit is not refused")
                };
                one_line(&refusal.message());
            }
        }
        // What is found without parsing is what parsing finds.
        if let Some(Value::Object(message)) = value {
            let mut scan = IdScan::default();
            scan.feed(Value::from(message.clone()).to_string().as_bytes());
            let found = scan.id().filter(|id| id.len() < 200);
            let id = message.get("id").filter(|id| id.is_string() || id.is_number());
            if let Some(id) = id.map(Value::to_string).filter(|id| id.len() < 200) {
                assert_eq!(found.as_deref(), Some(id.as_str()));
            }
        }
    }
}

/// Holds what a line was taken for against what it says.
fn answered(frame: &Frame, value: Option<&Value>) {
    let refused = match frame {
        Frame::Refused(refusal) => Some(one_line(&refusal.message())),
        Frame::Message(_) | Frame::Nothing => None,
    };
    let Some(value) = value else { return };
    let (id, method) = (&value["id"], &value["method"]);
    let request = value["jsonrpc"] == "2.0" && method.is_string() && value.get("id").is_some();
    if !request {
        let handed_on = matches!(frame, Frame::Message(message) if is_request(message).is_some());
        assert!(!handed_on, "{value} is no request");
        return;
    }
    match (frame, refused) {
        (Frame::Message(message), _) => {
            let taken = is_request(message).and_then(|id| serde_json::to_value(id).ok());
            let same = taken.as_ref() == Some(id)
                || taken
                    .and_then(|taken| taken.as_f64())
                    .is_some_and(|taken| Some(taken) == id.as_f64());
            assert!(same, "{value} is handed on under another id");
        }
        (_, Some(refusal)) => {
            let told = if id.is_string() || id.is_number() { id } else { &Value::Null };
            assert_eq!(&refusal["id"], told, "{value}");
        }
        _ => panic!("{value} gets no answer"),
    }
}

fn is_request(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

/// A refusal as the client reads it.
fn one_line(message: &str) -> Value {
    assert!(!message.contains('\n'), "{message:?}");
    let value: Value = serde_json::from_str(message).unwrap_or_default();
    assert!(value["jsonrpc"] == "2.0" && value["error"]["code"].is_i64(), "{message:?}");
    value
}
