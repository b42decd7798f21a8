//! Tests of the chunkers: what holds for every text, and what each kind must do with a small one.

mod code;
mod corpus;
mod detect;
mod kinds;
mod output;
mod tiling;

use super::{ContentKind, Section, all_kinds as kinds, sections};
use crate::fuzzing::assert_tiles;

/// One kind for each way of cutting, and the languages whose rules differ most: for large texts.
fn different_kinds() -> impl Iterator<Item = ContentKind> {
    let languages = ["rust", "python", "javascript", "c", "ruby", "yaml", "make", "code"];
    kinds().filter(move |kind| {
        !matches!(kind, ContentKind::Code(_)) || languages.contains(&kind.name())
    })
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
