//! Makes one line of input legal text: what cannot be decoded becomes U+FFFD, nothing else changes.
//!
//! Two kinds of damage reach a server in practice: bytes that are no UTF-8 (file names, cut
//! buffers) and lone surrogate escapes (`"\ud800"`), which JavaScript clients write without a
//! complaint. A JSON parser refuses both, and the client would wait for its time-out.

use std::borrow::Cow;

/// Decodes `line`, replacing invalid UTF-8 and lone surrogate escapes; drops a byte order mark.
pub(super) fn repair(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) => repair_escapes(text),
        Cow::Owned(text) => match repair_escapes(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(repaired) => Cow::Owned(repaired),
        },
    }
}

/// The value of the four hexadecimal digits after `\u` at `at`, if that is what stands there.
fn escape(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0u16, |value, &digit| {
        Some(value << 4 | u16::try_from(char::from(digit).to_digit(16)?).ok()?)
    })
}

/// Replaces each surrogate escape that has no partner.
fn repair_escapes(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut repaired: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    // A backslash is legal inside strings only, so strings need not be told from the rest: text
    // that is no JSON stays no JSON.
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|&b| b == b'\\')) {
        at += found;
        at += match escape(bytes, at) {
            None => 2,
            Some(0xD800..=0xDBFF) if matches!(escape(bytes, at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                let out = repaired.get_or_insert_with(|| String::with_capacity(text.len()));
                out.push_str(text.get(copied..at).unwrap_or_default());
                out.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            Some(_) => 6,
        };
    }
    match repaired {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_cannot_be_decoded_is_replaced() {
        let table: &[(&[u8], &str)] = &[
            (br#"{"a":"b"}"#, r#"{"a":"b"}"#),
            (b"\xEF\xBB\xBF{}", "{}"),
            (b"\"\xff\"", "\"\u{fffd}\""),
            (br#""\ud800""#, r#""\ufffd""#),
            (br#""\uDC00x""#, r#""\ufffdx""#),
            (br#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (br#""\ud800\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (br#""\ud800\\ud800""#, r#""\ufffd\\ud800""#),
            (br#""\\ud800""#, r#""\\ud800""#),
            (br#""\\\ud800""#, r#""\\\ufffd""#),
            (br#""\ud8"#, r#""\ud8"#),
            (br#""\u00e9\n""#, r#""\u00e9\n""#),
            ("\"é\\ud800é\"".as_bytes(), "\"é\\ufffdé\""),
            (b"\"\xff\\ud800\"", "\"\u{fffd}\\ufffd\""),
        ];
        for (given, wanted) in table {
            assert_eq!(repair(given), *wanted, "{:?}", String::from_utf8_lossy(given));
        }
    }

    proptest! {
        #[test]
        fn any_string_that_javascript_writes_becomes_legal_json(units: Vec<u16>) {
            let mut line = String::from("\"");
            for unit in &units {
                write!(line, "\\u{unit:04x}").unwrap();
            }
            line.push('"');
            let decoded: String = serde_json::from_str(&repair(line.as_bytes())).unwrap();
            prop_assert_eq!(decoded, String::from_utf16_lossy(&units));
        }

        #[test]
        fn text_without_damage_is_not_touched(text: String) {
            let line = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(repair(line.as_bytes()), line.as_str());
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            repair(&bytes);
        }
    }
}
