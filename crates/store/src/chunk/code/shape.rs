//! Definitions that no keyword announces, recognised by the shape of their line.

use super::super::line::{find, is_word, trim, word};
use super::super::title;
use super::define::text;
use super::rules::Shape;

/// Words before a bracket that are no names of functions.
const CONTROL: [&[u8]; 24] = [
    b"if",
    b"else",
    b"for",
    b"while",
    b"switch",
    b"catch",
    b"return",
    b"function",
    b"new",
    b"throw",
    b"do",
    b"case",
    b"sizeof",
    b"typeof",
    b"await",
    b"yield",
    b"delete",
    b"using",
    b"lock",
    b"foreach",
    b"super",
    b"this",
    b"assert",
    b"with",
];

/// The name that a line of this shape defines.
pub(super) fn shaped(shape: Shape, line: &[u8], indent: u32) -> Option<String> {
    let line = line.trim_ascii_end();
    match shape {
        Shape::CFunction => c_function(line, indent),
        Shape::Method => method(line, indent),
        Shape::Assigned => assigned(line, indent),
        Shape::Suite => suite(line),
        Shape::ShellFunction => {
            let end = find(line, b"()")?;
            let name = trim(&line[..end]);
            let plain =
                name.iter().all(|&byte| is_word(byte) || matches!(byte, b'-' | b':' | b'.'));
            let opens = matches!(line[end + 2..].trim_ascii_start(), [] | [b'{' | b'(', ..]);
            (plain && opens && !name.is_empty()).then(|| text(name))
        }
        Shape::Key => key(line, indent),
        Shape::Table => {
            let inside = line.strip_prefix(b"[")?;
            let inside = inside.strip_prefix(b"[").unwrap_or(inside);
            let close = memchr::memchr(b']', inside)?;
            (indent == 0).then(|| text(trim(&inside[..close])))
        }
        Shape::Target => {
            let colon = memchr::memchr(b':', line)?;
            let name = trim(&line[..colon]);
            let target = indent == 0 && line.get(colon + 1) != Some(&b'=') && !name.contains(&b'=');
            target.then(|| text(name))
        }
        Shape::Statement => statement(line, indent),
        Shape::Braced => {
            let head = trim(line.strip_suffix(b"{")?);
            (!head.is_empty() && indent <= 4).then(|| text(head))
        }
    }
}

/// `type name(…` at the start of a line: no assignment, no call of a member, no control word.
fn c_function(line: &[u8], indent: u32) -> Option<String> {
    if indent > 8 || !line.first().is_some_and(|&byte| is_word(byte) || byte == b'~') {
        return None;
    }
    let open = memchr::memchr(b'(', line)?;
    let before = line[..open].trim_ascii_end();
    let name = trailing_name(before);
    let types = trim(&before[..before.len() - name.len()]);
    let calls =
        before.iter().any(|byte| matches!(byte, b'=' | b'.' | b'"' | b';' | b'{' | b'?' | b'!'));
    let controlled = CONTROL.contains(&word(line)) || CONTROL.contains(&name);
    if name.is_empty() || types.is_empty() || calls || controlled {
        return None;
    }
    let scoped = find(name, b"::").is_some();
    let ends = match line.last() {
        Some(b'{') => true,
        Some(b')' | b',' | b'(') => indent == 0 || scoped || indent <= 4 && line.ends_with(b")"),
        Some(b';') => false,
        _ => indent == 0,
    };
    ends.then(|| text(name))
}

/// The name that ends `before`, with its scope and the sign of a destructor.
fn trailing_name(before: &[u8]) -> &[u8] {
    let part = |&&byte: &&u8| is_word(byte) || matches!(byte, b':' | b'~');
    let length = before.iter().rev().take_while(part).count();
    &before[before.len() - length..]
}

/// `name(…) {` or `TEST(Suite, Name) {`.
fn method(line: &[u8], indent: u32) -> Option<String> {
    if !line.ends_with(b"{") || indent > 8 {
        return None;
    }
    let mut rest = line;
    for modifier in
        ["export", "public", "private", "protected", "static", "async", "get", "set", "override"]
    {
        if let Some(after) =
            rest.strip_prefix(modifier.as_bytes()).and_then(|rest| rest.strip_prefix(b" "))
        {
            rest = after;
        }
    }
    rest = rest.strip_prefix(b"*").unwrap_or(rest);
    let mark = usize::from(matches!(rest.first(), Some(b'#' | b'~')));
    let name = word(&rest[mark..]);
    let after = &rest[mark + name.len()..];
    let after = match after {
        [b'<', ..] => &after[memchr::memchr(b'>', after)? + 1..],
        _ => after,
    };
    let inside = after.strip_prefix(b"(")?;
    let digit = name.first().is_none_or(u8::is_ascii_digit);
    if digit || CONTROL.contains(&name) || find(inside, b"=>").is_some() {
        return None;
    }
    // Calls with a callback end with `{` as well: test("x", function () {
    if find(inside, b"function").is_some() || inside.starts_with(b"'") || inside.starts_with(b"\"")
    {
        return None;
    }
    let macro_like = name.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    let shown = match memchr::memchr(b')', rest) {
        Some(close) if macro_like => &rest[..=close],
        _ => &rest[..mark + name.len()],
    };
    Some(text(shown))
}

/// `const name = (…) => {`, `exports.name = function (`, `name <- function(`.
fn assigned(line: &[u8], indent: u32) -> Option<String> {
    let head = &line[..line.len().min(120)];
    let sign = |at: &usize| *at > 0 && line[at - 1] == b' ' && line.get(at + 1) == Some(&b' ');
    let equals = memchr::memchr_iter(b'=', head).find(sign).map(|at| (at - 1, 3));
    let (at, width) = equals.or_else(|| find(head, b" <- ").map(|at| (at, 4)))?;
    let value = line[at + width..].strip_prefix(b"async ").unwrap_or(&line[at + width..]);
    let function = word(value) == b"function" || word(value) == b"class";
    let arrow = find(value, b"=>").is_some()
        && value.first().is_some_and(|&byte| byte == b'(' || is_word(byte))
        && (indent == 0 || line.ends_with(b"{"));
    let left = trim(&line[..at]);
    let left = left.strip_prefix(b"export ").unwrap_or(left);
    let declared = ["const ", "let ", "var ", "local "]
        .into_iter()
        .find_map(|word| left.strip_prefix(word.as_bytes()));
    let exported = declared.is_some() && line.starts_with(b"export ");
    if !(function || arrow || exported) {
        return None;
    }
    let name = declared.unwrap_or(left);
    let end = memchr::memchr(b':', name).unwrap_or(name.len());
    let name = trim(&name[..end]);
    let plain = name.iter().all(|&byte| is_word(byte) || byte == b'.');
    plain.then(|| {
        title::pair(if function || arrow { "function" } else { "const" }, " ", &text(name))
    })
}

/// `describe("…"`, `it.only('…'`, `test "…" do`.
fn suite(line: &[u8]) -> Option<String> {
    let name = word(line);
    let known: [&[u8]; 8] =
        [b"describe", b"it", b"test", b"context", b"suite", b"bench", b"specify", b"scenario"];
    if !known.contains(&name) {
        return None;
    }
    let quote = line.iter().position(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    let between = &line[name.len()..quote];
    if !between.iter().all(|&byte| is_word(byte) || matches!(byte, b'.' | b'(' | b' '))
        || quote > 40
    {
        return None;
    }
    let inside = &line[quote + 1..];
    let close = memchr::memchr(line[quote], inside).unwrap_or(inside.len());
    Some(title::pair(&text(name), " ", &text(&inside[..close])))
}

/// `key:` that holds what is indented below, any key at the margin, and `- name: value`.
fn key(line: &[u8], indent: u32) -> Option<String> {
    let item = line.strip_prefix(b"- ");
    let rest = item.unwrap_or(line);
    let colon = memchr::memchr(b':', rest)?;
    let value = trim(&rest[colon + 1..]);
    let name = trim(&rest[..colon]);
    let spaced = rest.get(colon + 1).is_none_or(u8::is_ascii_whitespace);
    let plain = !name.is_empty()
        && name.len() < 80
        && !name.iter().any(|byte| matches!(byte, b'{' | b'[' | b' '));
    if !spaced || !plain {
        return None;
    }
    let name = text(name);
    if item.is_some() {
        return Some(title::pair(&name, " ", &text(value)));
    }
    let holds = value.is_empty() || matches!(value, [b'|' | b'>' | b'&', ..]);
    (holds || indent == 0).then_some(name)
}

/// `create or replace table name`, in any case.
fn statement(line: &[u8], indent: u32) -> Option<String> {
    if !matches!(line.first()?.to_ascii_lowercase(), b'a' | b'c' | b'd' | b'i' | b'u' | b'w') {
        return None;
    }
    let lower = line[..line.len().min(160)].to_ascii_lowercase();
    let verb = word(&lower);
    let known: [&[u8]; 6] = [b"create", b"alter", b"drop", b"insert", b"update", b"with"];
    if indent > 0 || !known.contains(&verb) {
        return None;
    }
    let end = memchr::memchr2(b'(', b';', line).unwrap_or(line.len());
    let head = &line[..end.min(line.len())];
    let values = find(&lower[..end.min(lower.len())], b" values");
    let head = values.map_or(head, |at| &head[..at]);
    Some(text(trim(head)))
}
