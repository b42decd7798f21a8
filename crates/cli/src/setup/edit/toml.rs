//! TOML: the editor keeps everything but line ends, and those are put back line by line.

use anyhow::{Result, anyhow, bail};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::{Change, line_end, no_table, place};

/// What a text says.
pub(super) fn read(text: &str) -> Result<Value> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        anyhow!("line {line}, column {column}: {}", error.message())
    })?;
    Ok(serde_json::to_value(table)?)
}

/// The text after one change that changes something.
pub(super) fn change(text: &str, change: &Change) -> Result<String> {
    let plain = text.replace("\r\n", "\n");
    let mut document: DocumentMut = plain.parse()?;
    edit(&mut document, change)?;
    let mut edited = document.to_string();
    if !plain.is_empty() && !plain.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    Ok(with_line_ends(text, &plain, &edited))
}

fn edit(document: &mut DocumentMut, change: &Change) -> Result<()> {
    let Some((last, outer)) = change.keys().split_last() else { bail!("no key was named") };
    let makes = matches!(change, Change::Set(..) | Change::Include(..));
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in outer {
        if !table.contains_key(key) {
            if !makes {
                return Ok(());
            }
            let mut new = Table::new();
            new.set_implicit(true);
            table.insert(key, Item::Table(new));
        }
        let item = table.get_mut(key).ok_or_else(|| no_table(key))?;
        table = item.as_table_like_mut().ok_or_else(|| no_table(key))?;
    }
    match change {
        Change::Set(_, value) => set(table, last, value)?,
        Change::Remove(_) | Change::Prune(_) => {
            table.remove(last);
        }
        Change::Include(_, text) => {
            let list = table.entry(last).or_insert_with(|| Item::Value(Array::new().into()));
            list.as_array_mut().ok_or_else(|| anyhow!("{last} is not a list"))?.push(text);
        }
        Change::Exclude(_, text) => {
            if let Some(list) = table.get_mut(last).and_then(Item::as_array_mut) {
                list.retain(|item| item.as_str() != Some(text));
            }
        }
    }
    Ok(())
}

/// A table gets a header of its own; a value that is there keeps its surroundings.
fn set(table: &mut dyn TableLike, key: &str, value: &Value) -> Result<()> {
    if let Some(Item::Value(old)) = table.get_mut(key) {
        let decor = old.decor().clone();
        *old = plain(value)?;
        *old.decor_mut() = decor;
        return Ok(());
    }
    // Put into an inline table, it becomes one as well.
    let item = match value {
        Value::Object(map) => {
            let mut new = Table::new();
            for (key, value) in map {
                set(&mut new, key, value)?;
            }
            Item::Table(new)
        }
        other => Item::Value(plain(other)?),
    };
    table.insert(key, item);
    Ok(())
}

fn plain(value: &Value) -> Result<toml_edit::Value> {
    Ok(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => {
            let whole = number.as_i64().map(toml_edit::Value::from);
            whole.or_else(|| number.as_f64().map(Into::into)).ok_or_else(|| anyhow!("{number}"))?
        }
        Value::Array(items) => {
            toml_edit::Value::Array(items.iter().map(plain).collect::<Result<Array>>()?)
        }
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, plain(value)?);
            }
            table.into()
        }
        Value::Null => bail!("TOML has no null"),
    })
}

/// The edited text with the line ends that the lines had; new lines get what most have.
fn with_line_ends(original: &str, plain: &str, edited: &str) -> String {
    if original.len() == plain.len() {
        return edited.to_owned();
    }
    let end = line_end(original);
    let originals: Vec<&str> = original.split_inclusive('\n').collect();
    let mut text = String::with_capacity(edited.len() + original.len() - plain.len());
    for line in TextDiff::from_lines(plain, edited).iter_all_changes() {
        match line.tag() {
            ChangeTag::Delete => {}
            ChangeTag::Equal => {
                let old = line.old_index().and_then(|index| originals.get(index));
                text.push_str(old.copied().unwrap_or_default());
            }
            ChangeTag::Insert => text.push_str(&line.value().replace('\n', end)),
        }
    }
    text
}
