//! Tests of the chunkers: what holds for every text, and what each kind must do with a small one.

mod code;
mod corpus;
mod detect;
mod kinds;
mod output;
mod tiling;

use super::cut::LIMIT;
use super::{ContentKind, Section, sections};

/// Every kind there is.
fn kinds() -> impl Iterator<Item = ContentKind> {
    super::table::rows().map(|row| row.kind)
}

/// One kind for each way of cutting, and the languages whose rules differ most: for large texts.
fn different_kinds() -> impl Iterator<Item = ContentKind> {
    let languages = ["rust", "python", "javascript", "c", "ruby", "yaml", "make", "code"];
    kinds().filter(move |kind| {
        !matches!(kind, ContentKind::Code(_)) || languages.contains(&kind.name())
    })
}

/// Fails unless the sections are what the store relies on.
fn assert_tiles(kind: ContentKind, text: &str, sections: &[Section]) {
    let context = || format!("{kind:?} on {:?}", text.chars().take(200).collect::<String>());
    let (mut at, mut line) = (0, 1);
    for section in sections {
        assert_eq!(section.bytes.start, at, "{}", context());
        assert!(section.bytes.end > at, "{}", context());
        assert!(section.bytes.len() <= LIMIT, "{}", context());
        let body = text.get(section.bytes.clone()).expect("cut between characters");
        let feeds = body.bytes().filter(|&byte| byte == b'\n').count() as u64;
        assert_eq!(section.lines.start, line, "{}", context());
        assert_eq!(
            section.lines.end,
            line + feeds - u64::from(body.ends_with('\n')),
            "{}",
            context()
        );
        assert!(section.title.chars().count() <= 160, "{}", context());
        assert!(!section.title.chars().any(char::is_control), "{}", context());
        line += feeds;
        at = section.bytes.end;
    }
    assert_eq!(at, text.len(), "{}", context());
}

/// The sections of a small text as `(title, text)`.
fn cut(kind: ContentKind, text: &str) -> Vec<(String, String)> {
    let sections = sections(kind, None, text);
    assert_tiles(kind, text, &sections);
    let body = |section: &Section| text.get(section.bytes.clone()).unwrap_or_default().to_owned();
    sections.iter().map(|section| (section.title.clone(), body(section))).collect()
}

fn titles(kind: ContentKind, text: &str) -> Vec<String> {
    cut(kind, text).into_iter().map(|(title, _)| title).collect()
}
