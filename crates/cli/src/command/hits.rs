//! The answer of a search as people read it: the file and its lines first, the words that were found set off.

use std::path::{Path, PathBuf};

use crate::terminal::{
    look::{Look, Style},
    text,
};

/// A result line of an answer, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Hit<'a> {
    reference: &'a str,
    title: &'a str,
    source: &'a str,
    /// `12-40`.
    lines: &'a str,
    /// What else is said of it: other places with the same text, and that it changed.
    rest: String,
}

impl<'a> Hit<'a> {
    /// `[r:7] title (source:L12-40; also b.md) · changed`. Where a title or a source has brackets of
    /// its own, `is_source` tells which part is the source.
    fn parse(line: &'a str, is_source: impl Fn(&str) -> bool) -> Option<Self> {
        let (reference, rest) = line.strip_prefix('[')?.split_once("] ")?;
        reference.strip_prefix("r:")?.parse::<u64>().ok()?;
        let at = rest.rfind(":L")?;
        let (place, tail) = rest.split_at(at);
        let tail = tail.strip_prefix(":L")?;
        let end = tail.find(|c: char| !c.is_ascii_digit() && c != '-')?;
        let (lines, behind) = tail.split_at(end);
        lines.split_once('-')?;
        let splits = place.match_indices(" (").map(|(at, _)| at);
        let part = |at: usize| Some((place.get(..at)?, place.get(at + 2..)?));
        let (title, source) = splits
            .clone()
            .filter_map(part)
            .find(|(_, source)| is_source(source))
            .or_else(|| splits.last().and_then(part))?;
        let rest = behind.strip_prefix("; ").unwrap_or(behind).replacen(')', "", 1);
        Some(Self { reference, title, source, lines, rest: rest.trim().to_owned() })
    }
}

/// Shows the answer to `question`; `root` tells which sources are files.
pub(crate) fn show(answer: &str, question: &str, root: &Path, look: Look) -> String {
    let words = words(question);
    let here = std::env::current_dir().unwrap_or_default();
    let mut shown = String::new();
    for line in answer.lines() {
        let line = text::one_line(line);
        if line.starts_with("query: ") {
            continue;
        }
        let is_file = |source: &str| root.join(source).is_file();
        let Some(hit) = Hit::parse(&line, is_file) else {
            shown.push_str(&format!("  {}\n", marked(&line, &words, look)));
            continue;
        };
        if !shown.is_empty() {
            shown.push('\n');
        }
        let place = if is_file(hit.source) {
            format!("{}:{}", as_seen_from(&here, &root.join(hit.source)).display(), hit.lines)
        } else {
            format!("{} lines {}", hit.source, hit.lines)
        };
        let title = marked(hit.title, &words, look);
        let rest = if hit.rest.is_empty() { String::new() } else { format!("  {}", hit.rest) };
        let behind = look.paint(Style::Dim, &format!("{}{rest}", hit.reference));
        shown.push_str(&format!("{}  {title}  {behind}\n", look.paint(Style::Place, &place)));
    }
    shown
}

/// A path as a terminal finds it that works in `here`.
fn as_seen_from(here: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

/// The words of a question that are worth setting off.
fn words(question: &str) -> Vec<String> {
    question
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() > 2)
        .map(str::to_ascii_lowercase)
        .collect()
}

/// `line` with every word set off that begins with one of `words`.
fn marked(line: &str, words: &[String], look: Look) -> String {
    if !look.colour || words.is_empty() {
        return line.to_owned();
    }
    let mut shown = String::new();
    let mut word = String::new();
    for c in line.chars().map(Some).chain([None]) {
        match c {
            Some(c) if c.is_alphanumeric() || c == '_' => word.push(c),
            other => {
                let lower = word.to_ascii_lowercase();
                let found = words.iter().any(|wanted| lower.starts_with(wanted.as_str()));
                let style = if found { Style::Mark } else { Style::Plain };
                shown.push_str(&look.paint(style, &word));
                word.clear();
                shown.extend(other);
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look =
        Look { person: true, drawable: true, colour: false, unicode: true, width: 80 };

    #[test]
    fn result_lines_are_taken_apart() {
        let hit = |line| Hit::parse(line, |source| source == "a (b).md");
        let plain = |title, source, lines, rest: &str| {
            Some(Hit { reference: "r:7", title, source, lines, rest: rest.to_owned() })
        };
        assert_eq!(hit("[r:7] T (x.md:L1-40)"), plain("T", "x.md", "1-40", ""));
        assert_eq!(hit("[r:7] f (x) (y.rs:L2-3)"), plain("f (x)", "y.rs", "2-3", ""));
        assert_eq!(hit("[r:7] T (a (b).md:L1-2)"), plain("T", "a (b).md", "1-2", ""));
        assert_eq!(
            hit("[r:7] T (x.md:L1-2; also y.md) · changed"),
            plain("T", "x.md", "1-2", "also y.md · changed")
        );
        for other in ["text", "[r:7] no place", "[r:x] T (x.md:L1-2)", "see r:7", "[r:7] (:L)"] {
            assert_eq!(hit(other), None, "{other}");
        }
    }

    #[test]
    fn files_come_first_with_their_lines_and_nothing_steers_the_terminal() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("guide.md"), "x").unwrap();
        let answer = "query: tokens\n[r:7] Renewal (guide.md:L3-9)\nTokens are \u{1b}[2J renewed\n\
                      [r:8] out (execute:1:L1-2)\nno more";
        let file = folder.path().join("guide.md").display().to_string();
        assert_eq!(
            show(answer, "renewed tokens", folder.path(), LOOK),
            format!(
                "{file}:3-9  Renewal  r:7\n  Tokens are \u{fffd}[2J renewed\n\n\
                 execute:1 lines 1-2  out  r:8\n  no more\n"
            )
        );
        let coloured = marked("Tokens, token_x", &words("of token"), Look { colour: true, ..LOOK });
        assert_eq!(coloured, "\u{1b}[1;33mTokens\u{1b}[0m, \u{1b}[1;33mtoken_x\u{1b}[0m");
    }
}
