//! `sources`: what is stored for this root.

use std::{fmt::Write as _, time::SystemTime};

use quietcontext_store::{DocumentInfo, Store};
use serde_json::{Value, json};

use crate::{
    args::Form,
    config::Flags,
    terminal::{self, Exit, Problem},
    wire,
};

/// Lists every document.
pub(crate) fn run(flags: &Flags, form: Form) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let documents = wired.toolbox.with_store(&wired.root.path, Store::sources)?;
    let now = SystemTime::now();
    let text = match form {
        Form::Json => documents.iter().map(as_json).collect::<Value>().to_string() + "\n",
        Form::Text if documents.is_empty() => "nothing is stored for this root\n".to_owned(),
        Form::Text => table(&documents, now),
    };
    terminal::print(&text)?;
    Ok(Exit::Fine)
}

fn table(documents: &[DocumentInfo], now: SystemTime) -> String {
    let mut text = String::new();
    for document in documents {
        let range = document.range.map(|range| format!("r:{range}")).unwrap_or_default();
        let age = now.duration_since(document.created).map_or(0, |age| age.as_secs());
        let outcome = if document.running { Some("running") } else { document.outcome.as_deref() };
        let outcome = outcome.map(|outcome| format!(" · {outcome}")).unwrap_or_default();
        // A text in memory takes every line.
        let _written = writeln!(
            text,
            "{range:<16} {:>13} bytes {:>9} lines  {:>5}  {}{outcome}",
            grouped(document.bytes),
            grouped(document.lines),
            ago(age),
            one_line(&document.label),
        );
    }
    text
}

fn as_json(document: &DocumentInfo) -> Value {
    let created = document.created.duration_since(SystemTime::UNIX_EPOCH);
    json!({
        "label": document.label,
        "labels": document.labels,
        "reference": document.range.map(|range| format!("r:{range}")),
        "bytes": document.bytes,
        "lines": document.lines,
        "outcome": document.outcome,
        "running": document.running,
        "path": document.path,
        "created_unix_s": created.map_or(0, |created| created.as_secs()),
    })
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration in its largest unit.
fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Labels come from users and pages: whatever they hold, they get one line.
fn one_line(label: &str) -> String {
    label.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ages_and_labels_as_people_read_them() {
        for (number, wanted) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_288_895, "1,288,895")]
        {
            assert_eq!(grouped(number), wanted);
        }
        for (seconds, wanted) in [(0, "0 s"), (59, "59 s"), (3_599, "59 m"), (90_000, "1 d")] {
            assert_eq!(ago(seconds), wanted);
        }
        assert_eq!(one_line("a\nb\u{1b}[31m"), "a\u{fffd}b\u{fffd}[31m");
    }
}
