//! YAML in block style, by lines: what is written in another way is refused, never rewritten.

use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Number, Value};
use yaml_rust2::{Yaml, YamlLoader};

use super::{Change, line_end};

/// What a text says; an empty one says `{}`.
pub(super) fn read(text: &str) -> Result<Value> {
    let documents = YamlLoader::load_from_str(text).map_err(|error| {
        let at = error.marker();
        anyhow!("line {}, column {}: {}", at.line(), at.col() + 1, error.info())
    })?;
    match documents.as_slice() {
        [] | [Yaml::Null] => Ok(Value::Object(Map::new())),
        [document @ Yaml::Hash(_)] => value(document),
        [_] => bail!("line 1, column 1: it is not a mapping"),
        _ => bail!("it holds more than one document"),
    }
}

fn value(node: &Yaml) -> Result<Value> {
    Ok(match node {
        Yaml::Real(text) | Yaml::String(text) => Value::String(text.clone()),
        Yaml::Integer(number) => Value::Number(Number::from(*number)),
        Yaml::Boolean(flag) => Value::Bool(*flag),
        Yaml::Array(items) => Value::Array(items.iter().map(value).collect::<Result<_>>()?),
        Yaml::Hash(map) => {
            let member = |(key, node): (&Yaml, &Yaml)| {
                let key = match key {
                    Yaml::String(text) => text.clone(),
                    other => format!("{other:?}"),
                };
                Ok((key, value(node)?))
            };
            Value::Object(map.iter().map(member).collect::<Result<_>>()?)
        }
        Yaml::Null => Value::Null,
        Yaml::Alias(_) | Yaml::BadValue => bail!("it uses what is not understood here"),
    })
}

/// A key, its line, and the lines that belong to it.
struct Block {
    line: usize,
    /// Behind the last line of it that is neither blank nor a comment.
    end: usize,
    indent: usize,
    /// What stands behind the colon, comments left out.
    inline: String,
}

/// The text after one change that changes something.
pub(super) fn change(text: &str, change: &Change) -> Result<String> {
    let end = line_end(text);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let closed = text.is_empty() || text.ends_with('\n');
    let keys = change.keys();
    match change {
        Change::Set(_, value) => set(&mut lines, keys, value)?,
        Change::Remove(_) | Change::Prune(_) => remove(&mut lines, keys)?,
        Change::Include(..) | Change::Exclude(..) => bail!("lists in YAML are not changed"),
    }
    let mut text = lines.join(end);
    if closed && !lines.is_empty() {
        text.push_str(end);
    }
    Ok(text)
}

fn set(lines: &mut Vec<String>, keys: &[String], value: &Value) -> Result<()> {
    let mut outer: Option<Block> = None;
    for (depth, key) in keys.iter().enumerate() {
        let Some(block) = find(lines, outer.as_ref(), key)? else {
            let rest = keys.get(depth..).unwrap_or_default();
            return insert(lines, outer.as_ref(), rest, value);
        };
        outer = Some(block);
    }
    let (Some(block), Some(key)) = (outer, keys.last()) else { bail!("no key was named") };
    let comment = lines.get(block.line).and_then(|line| comment_of(line)).unwrap_or_default();
    let mut new = rendered(key, value, block.indent);
    if let Some(first) = new.first_mut() {
        first.push_str(&comment);
    }
    lines.splice(block.line..block.end, new);
    Ok(())
}

fn insert(
    lines: &mut Vec<String>,
    outer: Option<&Block>,
    keys: &[String],
    value: &Value,
) -> Result<()> {
    let Some((first, rest)) = keys.split_first() else { bail!("no key was named") };
    let whole = rest.iter().rev().fold(value.clone(), |value, key| {
        Value::Object(std::iter::once((key.clone(), value)).collect())
    });
    let (at, indent) = match outer {
        None => (lines.len(), 0),
        Some(block) => {
            if block.inline == "{}" {
                if let Some(line) = lines.get_mut(block.line) {
                    *line = line.replacen(": {}", ":", 1);
                }
            } else if !block.inline.is_empty() {
                bail!("{first} would have to go into a mapping in one line");
            }
            (block.end, child_indent(lines, block).unwrap_or(block.indent + 2))
        }
    };
    lines.splice(at..at, rendered(first, &whole, indent));
    Ok(())
}

fn remove(lines: &mut Vec<String>, keys: &[String]) -> Result<()> {
    let mut outer: Option<Block> = None;
    let mut above: Option<Block> = None;
    for key in keys {
        let Some(block) = find(lines, outer.as_ref(), key)? else { return Ok(()) };
        above = outer.replace(block);
    }
    let Some(block) = outer else { bail!("no key was named") };
    lines.drain(block.line..block.end);
    if let Some(above) = above {
        let left = above.end - (block.end - block.line);
        let is_empty = lines
            .get(above.line + 1..left)
            .is_none_or(|lines| lines.iter().all(|line| is_blank(line)));
        if is_empty && let Some(line) = lines.get_mut(above.line) {
            // A key without anything would be null.
            let comment = comment_of(line).unwrap_or_default();
            let colon = line.len() - comment.len();
            let head = line.get(..colon).unwrap_or_default().trim_end().to_owned();
            *line = format!("{head} {{}}{comment}");
        }
    }
    Ok(())
}

/// The key `key` among the children of `outer`, or of the document.
fn find(lines: &[String], outer: Option<&Block>, key: &str) -> Result<Option<Block>> {
    let (from, to, indent) = match outer {
        None => (0, lines.len(), 0),
        Some(block) => match child_indent(lines, block) {
            Some(indent) => (block.line + 1, block.end, indent),
            None => return Ok(None),
        },
    };
    for (index, line) in lines.iter().enumerate().take(to).skip(from) {
        if is_blank(line) || indent_of(line) != indent {
            continue;
        }
        let body = line.trim_start();
        let quoted = [format!("{key}:"), format!("\"{key}\":"), format!("'{key}':")];
        let Some(rest) = quoted.iter().find_map(|name| body.strip_prefix(name.as_str())) else {
            continue;
        };
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            continue;
        }
        let belongs = |line: &&String| is_blank(line) || indent_of(line) > indent;
        let below: Vec<&String> =
            lines.iter().take(to).skip(index + 1).take_while(belongs).collect();
        let full = below.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1);
        let comment = comment_of(line).unwrap_or_default();
        let inline = rest.get(..rest.len().saturating_sub(comment.len())).unwrap_or(rest);
        let inline = inline.trim().to_owned();
        if inline.starts_with(['&', '*', '|', '>', '!']) {
            bail!("{key} is written in a way that is not changed here");
        }
        return Ok(Some(Block { line: index, end: index + 1 + full, indent, inline }));
    }
    Ok(None)
}

fn child_indent(lines: &[String], block: &Block) -> Option<usize> {
    let below = lines.get(block.line + 1..block.end)?;
    below.iter().find(|line| !is_blank(line)).map(|line| indent_of(line))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line says nothing.
fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The comment at the end of a line, with the blanks before it.
fn comment_of(line: &str) -> Option<String> {
    let at = line.find(" #")?;
    let value = line.get(..at)?;
    // In quotes it is none.
    let open = |quote| value.matches(quote).count() % 2 == 1;
    if open('"') || open('\'') {
        return None;
    }
    line.get(value.trim_end().len()..).map(str::to_owned)
}

fn rendered(key: &str, value: &Value, indent: usize) -> Vec<String> {
    let blanks = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            let below = map.iter().flat_map(|(key, value)| rendered(key, value, indent + 2));
            std::iter::once(format!("{blanks}{key}:")).chain(below).collect()
        }
        other => vec![format!("{blanks}{key}: {}", scalar(other))],
    }
}

/// JSON is YAML; only words are easier to read without quotes.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(scalar).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(|it| it.is_ascii_alphanumeric() || "/._-".contains(it))
        && !words.contains(&text.to_ascii_lowercase().as_str())
}
