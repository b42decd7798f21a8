//! What holds for any bytes that are cut, cleaned or asked for: the fuzzer tries it, the tests replay it.

#![expect(clippy::missing_panics_doc, clippy::panic, reason = "a panic is how a property fails")]

use std::path::{Path, PathBuf};

use crate::chunk::{ContentKind, Context, LIMIT, Section, all_kinds, sections, sections_with};
use crate::text::{Returns, Viewer, view};
use crate::{Label, NewDocument, Origin, Query, Retention, Scope, Store, StoreOptions};

/// Chunks tile their text and keep their limit, whole or window by window. The first byte picks the
/// kind, the second the border of the windows.
pub fn chunks(data: &[u8]) {
    let Some(([kind, border], bytes)) = data.split_first_chunk() else { return };
    let text = String::from_utf8_lossy(bytes);
    let kinds: Vec<ContentKind> = all_kinds().collect();
    let kind = kinds[usize::from(*kind) % kinds.len()];
    assert_tiles(kind, &text, &sections(kind, Some("name"), &text));
    let detected = ContentKind::detect(None, None, &text);
    assert_tiles(detected, &text, &sections(detected, None, &text));
    let border = text.floor_char_boundary(text.len() * usize::from(*border) / 255);
    let (first, second) = text.split_at(border);
    let mut context = Context::default();
    for window in [first, second] {
        assert_tiles(kind, window, &sections_with(kind, None, window, &mut context));
    }
}

/// Fails unless the sections are what the store relies on.
pub(crate) fn assert_tiles(kind: ContentKind, text: &str, sections: &[Section]) {
    let context = || format!("{kind:?} on {:?}", text.chars().take(200).collect::<String>());
    let (mut at, mut line) = (0, 1);
    for section in sections {
        assert_eq!(section.bytes.start, at, "{}", context());
        assert!(section.bytes.end > at, "{}", context());
        assert!(section.bytes.len() <= LIMIT, "{}", context());
        let body = text.get(section.bytes.clone());
        assert!(body.is_some(), "cut inside a character: {}", context());
        let body = body.unwrap_or_default();
        let feeds = body.bytes().filter(|&byte| byte == b'\n').count() as u64;
        assert_eq!(section.lines.start, line, "{}", context());
        let last = line + feeds - u64::from(body.ends_with('\n'));
        assert_eq!(section.lines.end, last, "{}", context());
        assert!(section.title.chars().count() <= 160, "{}", context());
        assert!(!section.title.chars().any(char::is_control), "{}", context());
        line += feeds;
        at = section.bytes.end;
    }
    assert_eq!(at, text.len(), "{}", context());
}

/// The view holds no terminal control, does not depend on how the bytes arrive, is its own view, and
/// is the bytes where it is said to be. The first byte says whose text it is and in which pieces.
pub fn text(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let returns = if how & 1 == 0 { Returns::Redraw } else { Returns::Keep };
    let (whole, told) = view(bytes, returns);
    let mut viewer = Viewer::new(bytes, returns);
    let mut pieces = String::new();
    for piece in bytes.chunks(1 + usize::from(how >> 1)) {
        viewer.push(piece, &mut pieces);
    }
    viewer.finish(&mut pieces);
    assert_eq!(whole, pieces);
    assert_eq!(told, viewer.view());
    for (at, character) in whole.char_indices().filter(|(_, character)| character.is_control()) {
        let stays = match (character, returns) {
            ('\n' | '\t', _) | ('\r' | '\u{b}' | '\u{c}', Returns::Keep) => true,
            ('\r', Returns::Redraw) => whole.as_bytes().get(at + 1) == Some(&b'\n'),
            _ => false,
        };
        assert!(stays, "{character:?} is left at {at} of {whole:?}");
    }
    assert!(told.differs || whole.as_bytes() == bytes, "{whole:?}");
    if !whole.starts_with('\u{feff}') {
        assert_eq!(view(whole.as_bytes(), returns).0, whole);
    }
}

/// A small store to search in; its folder goes with it.
#[derive(Debug)]
pub struct Shelf {
    folder: PathBuf,
    store: Store,
}

/// What a [`Shelf`] holds.
const TEXTS: &[(&str, &str)] = &[
    (
        "guide/first.md",
        "# Title\n\nThe café serves naïve users: parse_human_size(\"10 MB\") AND std::mem.\n\
         用户身份验证失败 NOT NEAR(foo, 2) hello-world 3f9c0de 100% a:b -x ^y *z\n",
    ),
    (
        "src/size.rs",
        "/// Reads `10 MB`.\nfn parse_human_size(text: &str) -> Option<u64> {\n    None\n}\n",
    ),
    ("b.txt", "parse_human_size again and again, HTTPServer2 and DEC-0054"),
];

impl Shelf {
    /// A new one, in a folder below `parent`.
    pub fn new(parent: &Path) -> Self {
        let folder = parent.join(format!("shelf-{}", std::process::id()));
        let store = Store::new(StoreOptions {
            directory: folder.clone(),
            root: PathBuf::from("/work"),
            retention: Retention::default(),
        });
        for (path, text) in TEXTS {
            let document = NewDocument {
                name: Some(path),
                path: Some(path),
                ..NewDocument::new(Label::Fixed(path), Origin::File)
            };
            let added = store.add(document, &mut text.as_bytes(), None);
            assert!(added.is_ok(), "{added:?}");
        }
        Self { folder, store }
    }

    /// Any string is a legal query, and a legal name of a source; hits are few, small, and what is
    /// there; the same query has the same answer.
    pub fn query(&self, data: &[u8]) {
        let text = String::from_utf8_lossy(data);
        for scope in [Scope::All, Scope::Source(&text)] {
            let query = Query { scope, ..Query::new(&text, 2) };
            let (found, again) = (self.store.search(&query), self.store.search(&query));
            let (Ok(found), Ok(again)) = (&found, &again) else {
                panic!("{text:?}: {found:?}, {again:?}")
            };
            let ids = |hits: &[crate::Hit]| hits.iter().map(|hit| hit.chunk).collect::<Vec<_>>();
            assert_eq!(ids(&found.hits), ids(&again.hits), "{text:?}");
            assert!(found.hits.len() <= 2, "{text:?}");
            for hit in &found.hits {
                assert!(hit.score.is_finite() && hit.snippet.chars().count() <= 600, "{hit:?}");
                let chunks = self.store.chunks(hit.chunk, hit.chunk, u64::MAX).unwrap_or_default();
                let body = chunks.first().map(|chunk| chunk.text.as_str()).unwrap_or_default();
                assert!(body.contains(&hit.snippet), "{text:?}: {hit:?} is not in {body:?}");
            }
        }
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.store.rest();
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;
    use super::*;

    #[test]
    fn any_text_is_tiled() {
        replay("chunks", chunks);
    }

    #[test]
    fn any_bytes_have_a_view() {
        replay("text", text);
    }

    #[test]
    fn any_bytes_are_a_query() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(folder.path());
        replay("query", |data| shelf.query(data));
    }
}
