//! What identifies a member of nested data besides its path: its name, id, code or message.

use std::ops::Range;

use super::json::string_end;
use super::title;

/// Bytes of a member that are searched for what identifies it.
const NOTE_BYTES: usize = 600;
/// Keys whose values identify an object, best first.
const NAMES: [&str; 18] = [
    "name",
    "id",
    "key",
    "title",
    "label",
    "code",
    "path",
    "file",
    "filename",
    "url",
    "uri",
    "slug",
    "event",
    "message",
    "msg",
    "error",
    "type",
    "description",
];

/// The values that identify an object: its name, code or message.
pub(super) fn of_json(text: &str, range: Range<usize>) -> String {
    let end = range.end.min(range.start + NOTE_BYTES);
    let bytes = &text.as_bytes()[range.start..end];
    let bytes = bytes.trim_ascii_start();
    let Some((b'{', inside)) = bytes.split_first() else { return String::new() };
    let mut found: Vec<(usize, Range<usize>)> = Vec::new();
    let (mut at, mut depth, mut key) = (0, 0, None);
    while let Some(&byte) = inside.get(at) {
        match byte {
            b'"' => {
                let close = string_end(inside, at + 1);
                let value = at + 1..close.saturating_sub(1).clamp(at + 1, inside.len());
                let colon = inside.get(close..).and_then(|rest| rest.trim_ascii_start().first());
                if depth == 0 && colon == Some(&b':') {
                    key = NAMES.iter().position(|name| name.as_bytes() == &inside[value.clone()]);
                } else if let Some(rank) = key.take()
                    && depth == 0
                {
                    found.push((rank, value));
                }
                at = close;
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                key = None;
            }
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            b',' => key = None,
            _ => {}
        }
        at += 1;
    }
    found.sort_by_key(|(rank, _)| *rank);
    let values =
        found.iter().take(2).map(|(_, value)| title::clean_bytes(&inside[value.clone()], 60));
    let values: Vec<String> = values.collect();
    title::join(values.iter().map(String::as_str), " ")
}

/// The value of the attribute, or else the child element, that identifies an element.
pub(super) fn of_xml(text: &str, range: Range<usize>) -> String {
    let end = range.end.min(range.start + 400);
    let bytes = &text.as_bytes()[range.start..end];
    let found = [" name=", " id=", " key=", "<name>", "<id>", "<artifactId>", "<title>"];
    let tag = &bytes[..memchr::memchr(b'>', bytes).unwrap_or(bytes.len())];
    for mark in found {
        // Attributes of the element itself, children anywhere near.
        let area = if mark.ends_with('=') { tag } else { bytes };
        let Some(at) = memchr::memmem::find(area, mark.as_bytes()) else { continue };
        let rest = &bytes[at + mark.len()..];
        let value = match rest.first() {
            Some(quote @ (b'"' | b'\'')) if mark.ends_with('=') => {
                rest[1..].split(|byte| byte == quote).next()
            }
            _ => rest.split(|&byte| byte == b'<').next(),
        };
        return title::clean_bytes(value.unwrap_or_default(), 60);
    }
    String::new()
}
