//! JSON, with comments: where something is inserted, replaced or removed, nothing else moves.

use anyhow::{Result, anyhow, bail};
use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Array, Object, ObjectProp, Value as Node},
    common::Ranged,
    parse_to_ast,
};
use serde_json::Value;

use super::{Change, line_end, no_table};

/// Comments and trailing commas are known from editors' settings; the rest of JSON5 is not.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What a text says; an empty one says `{}`.
pub(super) fn read(text: &str) -> Result<Value> {
    match parse(text)? {
        Some(node @ Node::Object(_)) => Ok(node.into()),
        Some(_) => bail!("line 1, column 1: it is not an object"),
        None => Ok(Value::Object(serde_json::Map::new())),
    }
}

fn parse(text: &str) -> Result<Option<Node<'_>>> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        anyhow!(
            "line {}, column {}: {}",
            error.line_display(),
            error.column_display(),
            error.kind()
        )
    })?;
    Ok(parsed.value)
}

/// The text after one change that changes something.
pub(super) fn change(text: &str, change: &Change) -> Result<String> {
    let node = parse(text)?;
    let Some(root) = node.as_ref().and_then(Node::as_object) else {
        return create(text, change);
    };
    let mut object = root;
    let Some((last, outer)) = change.keys().split_last() else { bail!("no key was named") };
    for (index, key) in outer.iter().enumerate() {
        let Some(found) = property(object, key)? else {
            // The rest of the way is made in one piece.
            let rest: Vec<&str> =
                change.keys().iter().skip(index + 1).map(String::as_str).collect();
            let value = nested(&rest, leaf(change)?);
            return Ok(insert_property(text, object, key, &value));
        };
        object = found.value.as_object().ok_or_else(|| no_table(key))?;
    }
    let found = property(object, last)?;
    Ok(match (change, found) {
        (Change::Set(_, value), Some(found)) => {
            let rendered = Style::of(text).at(text, found.start()).render(value);
            spliced(text, found.value.start(), found.value.end(), &rendered)
        }
        (Change::Set(..) | Change::Include(..), None) => {
            insert_property(text, object, last, &leaf(change)?)
        }
        (Change::Remove(_), Some(found)) => {
            let starts: Vec<_> = object.properties.iter().map(Ranged::start).collect();
            remove(text, (object.start(), object.end()), &starts, found.start(), found.end())
        }
        (Change::Include(_, item), Some(found)) => {
            let list = found.value.as_array().ok_or_else(|| anyhow!("{last} is not a list"))?;
            insert_item(text, list, &Value::String(item.clone()))
        }
        (Change::Exclude(_, item), Some(found)) => {
            let list = found.value.as_array().ok_or_else(|| anyhow!("{last} is not a list"))?;
            let starts: Vec<_> = list.elements.iter().map(Ranged::start).collect();
            let is_it = |node: &&Node<'_>| {
                node.as_string_lit().is_some_and(|text| text.value.as_ref() == item.as_str())
            };
            match list.elements.iter().find(is_it) {
                Some(node) => {
                    remove(text, (list.start(), list.end()), &starts, node.start(), node.end())
                }
                None => text.to_owned(),
            }
        }
        (Change::Remove(_) | Change::Exclude(..) | Change::Prune(_), _) => text.to_owned(),
    })
}

/// What a change puts at its last key.
fn leaf(change: &Change) -> Result<Value> {
    match change {
        Change::Set(_, value) => Ok(value.clone()),
        Change::Include(_, item) => Ok(Value::Array(vec![Value::String(item.clone())])),
        Change::Remove(_) | Change::Prune(_) | Change::Exclude(..) => bail!("nothing is there"),
    }
}

/// `value` inside objects of one member each.
fn nested(keys: &[&str], value: Value) -> Value {
    keys.iter().rev().fold(value, |value, key| {
        Value::Object(std::iter::once(((*key).to_owned(), value)).collect())
    })
}

/// A text without a value: what is in it, comments at most, stays in front.
fn create(text: &str, change: &Change) -> Result<String> {
    let keys: Vec<&str> = change.keys().iter().map(String::as_str).collect();
    let end = line_end(text);
    let value = Style::of(text).render(&nested(&keys, leaf(change)?));
    let gap = if text.trim().is_empty() || text.ends_with('\n') { "" } else { end };
    let text = if text.trim().is_empty() { "" } else { text };
    Ok(format!("{text}{gap}{value}{end}"))
}

/// The property of this name; two of one name would leave open which one counts.
fn property<'a, 'b>(object: &'a Object<'b>, key: &str) -> Result<Option<&'a ObjectProp<'b>>> {
    let mut found = object.properties.iter().filter(|property| property.name.as_str() == key);
    let first = found.next();
    if found.next().is_some() {
        bail!("{key} is there twice");
    }
    Ok(first)
}

fn insert_property(text: &str, object: &Object<'_>, key: &str, value: &Value) -> String {
    let members: Vec<_> = object.properties.iter().map(|it| (it.start(), it.end())).collect();
    insert(text, (object.start(), object.end()), &members, |style| {
        format!("{}: {}", Value::from(key), style.render(value))
    })
}

fn insert_item(text: &str, list: &Array<'_>, value: &Value) -> String {
    let members: Vec<_> = list.elements.iter().map(|it| (it.start(), it.end())).collect();
    insert(text, (list.start(), list.end()), &members, |style| style.render(value))
}

/// Puts a member behind the last one of a container, in the way in which the others are written.
fn insert(
    text: &str,
    (start, end): (usize, usize),
    members: &[(usize, usize)],
    render: impl Fn(&Style) -> String,
) -> String {
    let inside = text.get(start..end).unwrap_or_default();
    let style = Style::of(text);
    let Some((first, last)) = members.first().zip(members.last()) else {
        // Empty but for blanks and comments; those stay.
        let close = end - 1;
        let outer = style.at(text, start);
        let kept = inside.trim_end_matches('}').trim_end_matches(']').trim_end();
        let inner = outer.deeper();
        let body = format!("{}{}{}", inner.line(), render(&inner), outer.line());
        return spliced(text, start + kept.len(), close, &body);
    };
    if !inside.contains('\n') {
        let body = format!(", {}", render(&style.flat()));
        let comma = comma_behind(text, last.1, end);
        return match comma {
            Some(comma) => {
                spliced(text, comma + 1, comma + 1, &format!(" {},", render(&style.flat())))
            }
            None => spliced(text, last.1, last.1, &body),
        };
    }
    let style = style.at(text, first.0);
    let body = format!("{}{}", style.line(), render(&style));
    if let Some(comma) = comma_behind(text, last.1, end) {
        let at = line_tail(text, comma + 1);
        return spliced(text, at, at, &format!("{body},"));
    }
    let at = line_tail(text, last.1);
    let with_body = spliced(text, at, at, &body);
    spliced(&with_body, last.1, last.1, ",")
}

/// Removes what stands at `from..to` with its comma and, where it has lines of its own, those.
fn remove(
    text: &str,
    (start, end): (usize, usize),
    starts: &[usize],
    from: usize,
    to: usize,
) -> String {
    let head = text.get(..from).unwrap_or_default();
    let begin = head.trim_end().len();
    let previous = starts.iter().rev().find(|start| **start < from);
    if let Some(comma) = comma_behind(text, to, end) {
        let rest = text.get(comma + 1..).unwrap_or_default();
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let ends_line = rest.get(blanks..).is_some_and(|rest| rest.starts_with(['\n', '\r']));
        let starts_line = head.get(begin..).is_some_and(|blanks| blanks.contains('\n'));
        // What follows must not get into the line of a comment.
        let token = significant(text, start, begin).last().map_or(begin, |(_, _, end)| end);
        let commented = text.get(token..begin).is_some_and(|trivia| trivia.contains("//"));
        if ends_line || !commented && (starts_line || previous.is_some()) {
            return spliced(text, begin, comma + 1, "");
        }
        return spliced(text, from, comma + 1 + blanks, "");
    }
    // The last one: the comma before it goes, unless it is the only one.
    let without = spliced(text, begin, to, "");
    match previous.and_then(|start| last_comma(text, *start, from)) {
        Some(comma) if comma + 1 == begin => spliced(text, comma, to, ""),
        Some(comma) => spliced(&without, comma, comma + 1, ""),
        None => {
            // It was the only one: `{}` again, if nothing else is in there.
            let rest = without.get(begin..).unwrap_or_default();
            let blank = rest.len() - rest.trim_start().len();
            let opens = without.get(..begin).is_some_and(|head| head.ends_with(['{', '[']));
            if opens { spliced(&without, begin, begin + blank, "") } else { without }
        }
    }
}

/// Where the comments end that stand in the line behind `from`.
fn line_tail(text: &str, from: usize) -> usize {
    let mut tail = from;
    loop {
        let rest = text.get(tail..).unwrap_or_default();
        let comment = rest.trim_start_matches([' ', '\t']);
        let start = tail + rest.len() - comment.len();
        if comment.starts_with("//") {
            return start + comment.find(['\r', '\n']).unwrap_or(comment.len());
        }
        match comment.find("*/") {
            Some(end) if comment.starts_with("/*") => tail = start + end + 2,
            _ => return tail,
        }
    }
}

/// The comma that follows at `from`, blanks and comments between.
fn comma_behind(text: &str, from: usize, end: usize) -> Option<usize> {
    significant(text, from, end).next().filter(|(_, byte, _)| *byte == b',').map(|(at, ..)| at)
}

/// The last comma between two members; the first of them begins at `from`.
fn last_comma(text: &str, from: usize, to: usize) -> Option<usize> {
    significant(text, from, to).filter(|(_, byte, _)| *byte == b',').last().map(|(at, ..)| at)
}

/// Where what is neither blank nor comment begins, its first byte, and where it ends.
fn significant(text: &str, from: usize, to: usize) -> impl Iterator<Item = (usize, u8, usize)> {
    let part = text.get(from..to).unwrap_or_default();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = part.get(at..)?;
            let byte = *rest.as_bytes().first()?;
            if byte.is_ascii_whitespace() {
                at += 1;
            } else if rest.starts_with("//") {
                at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else {
                let found = from + at;
                at += if byte == b'"' { string_length(rest) } else { character_length(rest) };
                return Some((found, byte, from + at));
            }
        }
    })
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\\' if !escaped => escaped = true,
            b'"' if !escaped => return at + 1,
            _ => escaped = false,
        }
    }
    text.len()
}

fn character_length(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

fn spliced(text: &str, from: usize, to: usize, new: &str) -> String {
    let head = text.get(..from).unwrap_or_default();
    let tail = text.get(to..).unwrap_or_default();
    format!("{head}{new}{tail}")
}

/// How a text is laid out, at one depth of it.
#[derive(Clone)]
struct Style {
    end: &'static str,
    unit: String,
    indent: String,
    one_line: bool,
}

impl Style {
    /// The unit is the first indentation there is.
    fn of(text: &str) -> Self {
        let blanks = |line: &str| -> String {
            line.chars().take_while(|it| matches!(it, ' ' | '\t')).collect()
        };
        let indented = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
        let unit = text.lines().find(indented).map_or_else(|| "  ".to_owned(), blanks);
        let unit = if unit.starts_with('\t') { "\t".to_owned() } else { unit };
        Self { end: line_end(text), unit, indent: String::new(), one_line: false }
    }

    /// As in the line in which `offset` is.
    fn at(&self, text: &str, offset: usize) -> Self {
        let line = text.get(..offset).and_then(|head| head.rsplit('\n').next()).unwrap_or_default();
        let indent = line.chars().take_while(|it| matches!(it, ' ' | '\t')).collect();
        Self { indent, ..self.clone() }
    }

    fn deeper(&self) -> Self {
        Self { indent: format!("{}{}", self.indent, self.unit), ..self.clone() }
    }

    fn flat(&self) -> Self {
        Self { one_line: true, ..self.clone() }
    }

    /// A new line at this depth.
    fn line(&self) -> String {
        format!("{}{}", self.end, self.indent)
    }

    /// Objects over several lines, lists in one.
    fn render(&self, value: &Value) -> String {
        match value {
            Value::Object(map) if map.is_empty() => "{}".to_owned(),
            Value::Object(map) => {
                let inner = self.deeper();
                let member = |(key, value): (&String, &Value)| {
                    format!("{}: {}", Value::from(key.as_str()), inner.render(value))
                };
                let members: Vec<_> = map.iter().map(member).collect();
                if self.one_line {
                    return format!("{{ {} }}", members.join(", "));
                }
                let between = format!(",{}", inner.line());
                format!("{{{}{}{}}}", inner.line(), members.join(&between), self.line())
            }
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.flat().render(item)).collect();
                format!("[{}]", items.join(", "))
            }
            other => other.to_string(),
        }
    }
}
