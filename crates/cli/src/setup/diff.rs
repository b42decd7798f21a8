//! What will change, shown as people know it.

use similar::TextDiff;

use crate::terminal::{
    look::{Look, Style},
    text,
};

/// Lines around a change.
const CONTEXT: usize = 3;

/// A unified diff of a file.
pub(crate) fn unified(name: &str, before: &str, after: &str, look: Look) -> String {
    let (before, after) = (before.replace("\r\n", "\n"), after.replace("\r\n", "\n"));
    let diff = TextDiff::from_lines(&before, &after)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(name, name)
        .to_string();
    let style = |line: &str| match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => Style::Good,
        Some(b'-') if !line.starts_with("---") => Style::Bad,
        Some(b'@') => Style::Place,
        _ => Style::Plain,
    };
    // What the file holds must not move a terminal's cursor.
    diff.lines().map(|line| look.paint(style(line), &text::clean(line)) + "\n").collect()
}
