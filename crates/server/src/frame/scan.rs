//! Finds the id of a message that is too long to be parsed, from bytes that are seen once.
//!
//! The client of a refused message waits for its id. Some write the id first, some last, so the
//! whole line has to be looked at; this keeps the state of that look and nothing of the line.

/// No sensible id is longer; one that is counts as none.
const ID_LIMIT: usize = 256;

/// A walk over the text of one JSON object, remembering the value of its own `id` member.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// At the top level: the text of the string or value that is being read.
    token: Vec<u8>,
    /// At the top level: the last complete string was `"id"` and a colon followed.
    wanted: bool,
    id: Option<String>,
}

impl IdScan {
    /// Looks at the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// The text of the id, if one was seen.
    pub(crate) fn id(mut self) -> Option<String> {
        self.end_of_value();
        self.id
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.remember(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.remember(byte);
            }
            b'{' | b'[' => {
                self.remember(byte);
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.end_of_value();
                }
            }
            b',' if self.depth == 1 => self.end_of_value(),
            b':' if self.depth == 1 => {
                self.wanted = self.token == b"\"id\"";
                self.token.clear();
            }
            b' ' | b'\t' | b'\r' => {}
            _ => self.remember(byte),
        }
    }

    fn remember(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= ID_LIMIT {
            self.token.push(byte);
        }
    }

    fn end_of_value(&mut self) {
        if std::mem::take(&mut self.wanted) && self.token.len() <= ID_LIMIT {
            self.id = String::from_utf8(std::mem::take(&mut self.token)).ok();
        }
        self.token.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn id_of(text: &str) -> Option<String> {
        let mut scan = IdScan::default();
        scan.feed(text.as_bytes());
        scan.id()
    }

    #[test]
    fn the_id_is_the_one_of_the_message_itself() {
        let table = [
            (r#"{"id":7,"method":"x"}"#, Some("7")),
            (r#"{"method":"x","id" : "a,b" }"#, Some("\"a,b\"")),
            (r#"{"params":{"id":1},"list":[{"id":2}],"id":3}"#, Some("3")),
            (r#"{"text":"\"id\":9,","id":4}"#, Some("4")),
            (r#"{"id":null}"#, Some("null")),
            (r#"{"a":"id","b":5}"#, None),
            (r#"{"params":{"id":1}}"#, None),
            (r#"{"id":7"#, Some("7")),
            ("id", None),
            ("", None),
        ];
        for (text, wanted) in table {
            assert_eq!(id_of(text).as_deref(), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_string_id_is_found_among_any_strings(id: String, before: String, after: String) {
            prop_assume!(serde_json::to_string(&id).unwrap().len() <= ID_LIMIT);
            let text = json!({"a": before, "id": id, "z": {"id": [after]}}).to_string();
            let found: Value = serde_json::from_str(&id_of(&text).unwrap()).unwrap();
            prop_assert_eq!(found, Value::String(id));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let mut scan = IdScan::default();
            scan.feed(&bytes);
            let _found = scan.id();
        }
    }
}
