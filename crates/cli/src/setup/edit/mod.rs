//! Changes to a configuration file that somebody else owns: as few bytes as possible, or none.
//!
//! Each format says how one change is made to its text. What is common is here: byte-order mark and
//! line ends stay as they are, and the result is read again before anybody gets it: it must say
//! what was wanted, and of everything else what it said before.

mod json;
mod toml;
mod yaml;

use anyhow::{Result, anyhow, bail};
use serde_json::Value;

/// The names that lead to a value, outermost first.
pub(crate) type Keys = Vec<String>;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON; comments and trailing commas are kept where they are.
    Json,
    /// TOML.
    Toml,
    /// YAML in block style.
    Yaml,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// The value at these keys; what leads there is made where it is missing.
    Set(Keys, Value),
    /// Nothing at these keys any more.
    Remove(Keys),
    /// Nothing at these keys if what is there is empty.
    Prune(Keys),
    /// This text in the list at these keys.
    Include(Keys, String),
    /// This text not in the list at these keys.
    Exclude(Keys, String),
}

/// A byte-order mark in UTF-8.
const MARK: char = '\u{feff}';

/// What a file says.
///
/// # Errors
///
/// The line and the column at which it cannot be read.
pub(crate) fn read(format: Format, text: &str) -> Result<Value> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    match format {
        Format::Json => json::read(text),
        Format::Toml => toml::read(text),
        Format::Yaml => yaml::read(text),
    }
}

/// The value at `keys`.
pub(crate) fn at<'a>(value: &'a Value, keys: &[String]) -> Option<&'a Value> {
    keys.iter().try_fold(value, |value, key| value.as_object()?.get(key))
}

/// The text after these changes. Those that change nothing leave it as it is.
///
/// # Errors
///
/// A text that cannot be read, or in which a change cannot be made without touching something else.
pub(crate) fn apply(format: Format, text: &str, changes: &[Change]) -> Result<String> {
    let before = read(format, text)?;
    let (mark, body) = match text.strip_prefix(MARK) {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let mut body = body.to_owned();
    let mut wanted = before;
    for change in changes {
        let said = wanted.clone();
        let Some(change) = effective(&said, change) else { continue };
        body = match format {
            Format::Json => json::change(&body, &change)?,
            Format::Toml => toml::change(&body, &change)?,
            Format::Yaml => yaml::change(&body, &change)?,
        };
        carry_out(&mut wanted, &change)?;
    }
    if read(format, &body)? != wanted {
        bail!("it could not be changed without changing something else in it");
    }
    Ok(format!("{mark}{body}"))
}

/// The changes that take `changes` back, in the order in which they have to be made.
pub(crate) fn inverse(format: Format, text: &str, changes: &[Change]) -> Result<Vec<Change>> {
    let mut said = read(format, text)?;
    let mut back = Vec::new();
    for change in changes {
        let Some(change) = effective(&said, change) else { continue };
        let mut undo = match &change {
            Change::Set(keys, _) | Change::Remove(keys) | Change::Prune(keys) => {
                vec![match at(&said, keys) {
                    Some(old) => Change::Set(keys.clone(), old.clone()),
                    None => Change::Remove(keys.clone()),
                }]
            }
            Change::Include(keys, item) => vec![Change::Exclude(keys.clone(), item.clone())],
            Change::Exclude(keys, item) => vec![Change::Include(keys.clone(), item.clone())],
        };
        // What is made on the way to the value goes as well, the innermost first.
        let made = match &change {
            Change::Set(keys, _) => keys.len().saturating_sub(1),
            Change::Include(keys, _) => keys.len(),
            Change::Remove(_) | Change::Prune(_) | Change::Exclude(..) => 0,
        };
        for length in (1..=made).rev() {
            let outer: Keys = change.keys().iter().take(length).cloned().collect();
            if at(&said, &outer).is_none() {
                undo.push(Change::Prune(outer));
            }
        }
        carry_out(&mut said, &change)?;
        undo.extend(back);
        back = undo;
    }
    Ok(back)
}

impl Change {
    fn keys(&self) -> &Keys {
        match self {
            Self::Set(keys, _)
            | Self::Remove(keys)
            | Self::Prune(keys)
            | Self::Include(keys, _)
            | Self::Exclude(keys, _) => keys,
        }
    }
}

/// A change as far as it changes something: `Prune` becomes `Remove`, a list that is not there is
/// set.
pub(crate) fn effective(said: &Value, change: &Change) -> Option<Change> {
    let now = at(said, change.keys());
    let holds = |item: &str| {
        now.and_then(Value::as_array)
            .is_some_and(|items| items.iter().any(|known| known.as_str() == Some(item)))
    };
    match change {
        Change::Set(_, value) => (now != Some(value)).then(|| change.clone()),
        Change::Remove(_) => now.map(|_| change.clone()),
        Change::Prune(keys) => {
            let empty = match now? {
                Value::Object(map) => map.is_empty(),
                Value::Array(items) => items.is_empty(),
                _ => false,
            };
            empty.then(|| Change::Remove(keys.clone()))
        }
        Change::Include(_, item) => (!holds(item)).then(|| change.clone()),
        Change::Exclude(_, item) => holds(item).then(|| change.clone()),
    }
}

/// Does to a value what the formats do to a text.
fn carry_out(value: &mut Value, change: &Change) -> Result<()> {
    let Some((last, outer)) = change.keys().split_last() else { bail!("no key was named") };
    let makes = matches!(change, Change::Set(..) | Change::Include(..));
    let mut place = value;
    for key in outer {
        let map = place.as_object_mut().ok_or_else(|| no_table(key))?;
        place = match (map.contains_key(key), makes) {
            (false, false) => return Ok(()),
            _ => map.entry(key).or_insert_with(|| Value::Object(serde_json::Map::new())),
        };
    }
    let map = place.as_object_mut().ok_or_else(|| no_table(last))?;
    match change {
        Change::Set(_, value) => {
            map.insert(last.clone(), value.clone());
        }
        Change::Remove(_) | Change::Prune(_) => {
            map.shift_remove(last);
        }
        Change::Include(_, item) => {
            let list = map.entry(last).or_insert_with(|| Value::Array(Vec::new()));
            let list = list.as_array_mut().ok_or_else(|| anyhow!("{last} is not a list"))?;
            list.push(Value::String(item.clone()));
        }
        Change::Exclude(_, item) => {
            if let Some(list) = map.get_mut(last).and_then(Value::as_array_mut) {
                list.retain(|known| known.as_str() != Some(item));
            }
        }
    }
    Ok(())
}

fn no_table(key: &str) -> anyhow::Error {
    anyhow!("what holds {key} is neither an object nor a table")
}

/// Where in a text byte `offset` is, both counted from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// What ends the lines of a text: what most of them end with.
fn line_end(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    if text.matches("\r\n").count() * 2 > all { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests;
