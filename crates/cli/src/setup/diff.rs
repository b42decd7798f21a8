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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_colours_for_people_only_and_moves_no_cursor() {
        let look = |colour| Look { colour, ..Look::stdout() };
        let plain = unified("f", "a\r\nb\r\n", "a\r\nc\u{1b}[2J\r\n", look(false));
        assert_eq!(
            plain.lines().take(3).collect::<Vec<_>>(),
            ["--- f", "+++ f", "@@ -1,2 +1,2 @@"]
        );
        assert!(plain.contains("\n-b\n+c") && !plain.contains('\u{1b}'), "{plain:?}");
        let painted = unified("f", "a\n", "b\n", look(true));
        assert!(painted.contains("\u{1b}[31m-a\u{1b}[0m\n\u{1b}[32m+b\u{1b}[0m\n"), "{painted:?}");
    }
}
