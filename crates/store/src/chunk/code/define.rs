//! Tells whether a line begins a definition, and how it reads in a title.

use super::super::line::{is_word, trim, word};
use super::super::title;
use super::rules::{Rules, Shape};

/// A definition that a line begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) label: String,
    /// Whether what follows may lie in it: false for `type A = B;`.
    pub(super) opens: bool,
}

/// Characters of one definition in a title.
const LABEL_CHARS: usize = 80;

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

/// Words that may follow a name before its body.
const AFTER_NAME: [&[u8]; 10] = [
    b"extends",
    b"implements",
    b"for",
    b"where",
    b"permits",
    b"struct",
    b"interface",
    b"final",
    b"requires",
    b"as",
];

/// The definition that `line` (without its indentation) begins.
pub(super) fn definition(line: &[u8], indent: u32, rules: &Rules) -> Option<Found> {
    let first = *line.first()?;
    let by_word =
        if first.is_ascii_alphabetic() || first == b'#' { keyword(line, rules) } else { None };
    let label =
        by_word.or_else(|| rules.shapes.iter().find_map(|shape| shaped(*shape, line, indent)))?;
    let label = title::clean_bytes(label.as_bytes(), LABEL_CHARS);
    let last = trim(line).last().copied();
    let whole = last == Some(b';') || (last == Some(b'}') && memchr::memchr(b'{', line).is_some());
    (!label.is_empty()).then_some(Found { label, opens: !whole })
}

/// `modifiers… definer name`.
fn keyword(line: &[u8], rules: &Rules) -> Option<String> {
    let mut rest = line;
    for _ in 0..8 {
        let hash = usize::from(rest.first() == Some(&b'#'));
        let length = hash + word(&rest[hash..]).len();
        let (head, after) = rest.split_at(length);
        let one_of = |words: &[&str], head: &[u8]| words.iter().any(|word| word.as_bytes() == head);
        if one_of(rules.tails, head) {
            return tail(head, after);
        }
        let next = word(trim(after));
        let known = |word: &[u8]| one_of(rules.definers, word) || one_of(rules.modifiers, word);
        let modifies = known(next) && matches!(after.first(), Some(b' ' | b'\t'));
        if one_of(rules.definers, head) && !modifies {
            return named(head, after, rules);
        }
        if head.is_empty() || !known(head) {
            return None;
        }
        rest = skip_group(after).trim_ascii_start();
        // extern "C"
        if let [b'"', inside @ ..] = rest {
            let close = memchr::memchr(b'"', inside)?;
            rest = inside[close + 1..].trim_ascii_start();
        }
    }
    None
}

/// The bracketed group right after a modifier: `pub(crate)`.
fn skip_group(after: &[u8]) -> &[u8] {
    match (after.first(), memchr::memchr(b')', after)) {
        (Some(b'('), Some(close)) => &after[close + 1..],
        _ => after,
    }
}

/// A definition that is named by the rest of its line.
fn tail(head: &[u8], after: &[u8]) -> Option<String> {
    if !matches!(after.first(), Some(b' ' | b'\t' | b'<' | b'(')) {
        return None;
    }
    let end = memchr::memchr(b'{', after).unwrap_or(after.len());
    let name = trim(&after[..end]);
    let name = if head == b"#define" { word(name) } else { name };
    let name = name.strip_suffix(b" where").unwrap_or(name);
    let separator = if after.first() == Some(&b' ') { " " } else { "" };
    Some(title::pair(&text(head), separator, &text(name)))
}

fn named(head: &[u8], after: &[u8], rules: &Rules) -> Option<String> {
    let mut rest = after;
    if head == b"macro_rules" {
        rest = rest.strip_prefix(b"!")?;
    }
    let star = rest.trim_ascii_start().strip_prefix(b"*");
    if star.is_none() && !matches!(rest.first(), Some(b' ' | b'\t' | b'(')) {
        return None;
    }
    rest = star.unwrap_or(rest).trim_ascii_start();
    let mut owner = String::new();
    if let [b'(', inside @ ..] = rest {
        // Go: func (r *Receiver[T]) name(…)
        if head != b"func" {
            return None;
        }
        let close = memchr::memchr(b')', inside)?;
        let receiver = trim(&inside[..close]).rsplit(|byte| matches!(byte, b' ' | b'*')).next()?;
        owner = text(word(receiver));
        rest = inside[close + 1..].trim_ascii_start();
    }
    let sign = |byte: u8| matches!(byte, b'.' | b':' | b'~' | b'?' | b'!' | b'-' | b'\\');
    let end = rest.iter().position(|&byte| !is_word(byte) && !sign(byte)).unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    let name = name.strip_suffix(b":").unwrap_or(name);
    let name = name.strip_suffix(b":").unwrap_or(name);
    if !name.iter().any(|&byte| is_word(byte)) {
        return None;
    }
    let tail = tail.trim_ascii_start();
    let prose = tail.first().is_some_and(u8::is_ascii_alphabetic);
    let body = matches!(trim(tail).last(), Some(b'{' | b':' | b'('));
    if prose && !rules.loose && !body && !AFTER_NAME.contains(&word(tail)) {
        return None;
    }
    let name = title::pair(&owner, ".", &text(name));
    Some(title::pair(&text(head), " ", &name))
}

/// Definitions without a keyword.
fn shaped(shape: Shape, line: &[u8], indent: u32) -> Option<String> {
    let line = line.trim_ascii_end();
    match shape {
        Shape::CFunction => c_function(line, indent),
        Shape::Method => method(line, indent),
        Shape::Assigned => assigned(line, indent),
        Shape::Suite => suite(line),
        Shape::ShellFunction => {
            let end = memchr::memmem::find(line, b"()")?;
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
    let scoped = memchr::memmem::find(name, b"::").is_some();
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
    if digit || CONTROL.contains(&name) || memchr::memmem::find(inside, b"=>").is_some() {
        return None;
    }
    // Calls with a callback end with `{` as well: test("x", function () {
    if memchr::memmem::find(inside, b"function").is_some()
        || inside.starts_with(b"'")
        || inside.starts_with(b"\"")
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
    let (at, width) = [" = ", " <- "].into_iter().find_map(|sign| {
        memchr::memmem::find(&line[..line.len().min(120)], sign.as_bytes())
            .map(|at| (at, sign.len()))
    })?;
    let value = line[at + width..].strip_prefix(b"async ").unwrap_or(&line[at + width..]);
    let function = word(value) == b"function" || word(value) == b"class";
    let arrow = memchr::memmem::find(value, b"=>").is_some()
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
    let lower = line[..line.len().min(160)].to_ascii_lowercase();
    let verb = word(&lower);
    let known: [&[u8]; 6] = [b"create", b"alter", b"drop", b"insert", b"update", b"with"];
    if indent > 0 || !known.contains(&verb) {
        return None;
    }
    let end = memchr::memchr2(b'(', b';', line).unwrap_or(line.len());
    let head = &line[..end.min(line.len())];
    let values = memchr::memmem::find(&lower[..end.min(lower.len())], b" values");
    let head = values.map_or(head, |at| &head[..at]);
    Some(text(trim(head)))
}

fn text(bytes: &[u8]) -> String {
    title::clean_bytes(bytes, LABEL_CHARS)
}
