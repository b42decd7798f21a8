//! Documents come back exactly: text by chunks, bytes raw, by label and by reference.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{content, raw, run, store_in, view};
use proptest::prelude::*;
use quietcontext_store::{
    ChunkId, Label, Last, Location, NewDocument, Observer, Origin, Span, Status,
};

fn span(first: u64, skip: u64, last: Last) -> Span {
    Span { first: ChunkId(first), skip, last }
}

/// Bytes of every kind the view treats specially.
fn captured() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z ]{0,60}\n".prop_map(String::into_bytes),
        1 => "\\PC{0,30}".prop_map(String::into_bytes),
        1 => "(\r\n|\t|  \n|\n\n)".prop_map(String::into_bytes),
        1 => "\u{1b}\\[[0-9;]{0,4}[a-zA-Z]".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..12),
        1 => "[a-z]{2100,2300}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn chunks_tile_the_view_and_raw_gives_the_bytes(bytes in captured(), is_run: bool) {
        let folder = tempfile::tempdir().unwrap();
        let store = store_in(folder.path());
        let receipt = if is_run { run(&store, &bytes) } else { content(&store, "c", &bytes) };
        prop_assert_eq!(raw(&store, receipt.document), bytes.clone());
        let text = view(&store, receipt.document);
        if is_run {
            prop_assert_eq!(&text, &quietcontext_store::clean(&bytes).0);
        }
        if !receipt.view.differs {
            prop_assert_eq!(text.as_bytes(), &bytes[..]);
        }
        let lines = text.split_inclusive('\n').count() as u64;
        prop_assert_eq!(receipt.lines, lines);
        let mut position = 0;
        for (line, number) in text.split_inclusive('\n').zip(1..) {
            let id = store.chunk_of_line(receipt.document, number).unwrap().unwrap();
            let chunk = &store.chunks(id, id, 1).unwrap()[0];
            let start = usize::try_from(chunk.start).unwrap();
            prop_assert!((start..start + chunk.text.len()).contains(&position));
            prop_assert!(chunk.lines.0 <= number && number <= chunk.lines.1);
            position += line.len();
        }
        prop_assert!(store.chunk_of_line(receipt.document, lines + 1).unwrap().is_none());
        prop_assert_eq!(store.check().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn references_lead_where_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let text = "some line of text\n".repeat(1_000);
    let first = run(&store, text.as_bytes()).range.unwrap();
    let other = run(&store, b"other\n").range.unwrap();
    assert!((10_000..900_000).contains(&first.first.0));
    assert_eq!(other.first.0, first.last.0 + 1);
    let (from, to) = (first.first.0, first.last.0);

    let Location::Live { document, first: at, skip, last } =
        store.locate(&span(from + 1, 5, Last::End)).unwrap()
    else {
        panic!("lives")
    };
    assert_eq!((at, skip, last), (ChunkId(from + 1), 5, first.last));
    assert_eq!(document.label, "execute:1");
    let one = store.locate(&span(from, 0, Last::One)).unwrap();
    assert!(matches!(one, Location::Live { last, .. } if last == first.first));
    let crossing = store.locate(&span(from, 0, Last::At(other.first))).unwrap();
    assert!(matches!(crossing, Location::Crosses { end } if end == first.last));
    let backwards = store.locate(&span(to, 0, Last::At(first.first))).unwrap();
    assert!(matches!(backwards, Location::Crosses { .. }));
    let length = store.chunks(first.first, first.first, 1).unwrap()[0].text.len() as u64;
    let beyond = store.locate(&span(from, length + 1, Last::One)).unwrap();
    assert!(matches!(beyond, Location::SkipBeyond { len } if len == length));
    assert!(matches!(store.locate(&span(from, length, Last::One)).unwrap(), Location::Live { .. }));
    for unknown in [0, 5, from - 1, other.last.0 + 1, u64::MAX] {
        let location = store.locate(&span(unknown, 0, Last::One)).unwrap();
        assert!(matches!(location, Location::Unknown), "{unknown}: {location:?}");
    }
}

#[test]
fn what_was_replaced_says_by_what() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let a = content(&store, "notes", b"first\n");
    assert_eq!(a.status, Status::New);
    let b = content(&store, "notes", b"second\n");
    assert_eq!(b.status, Status::Replaced);
    let c = content(&store, "notes", b"third\n");
    for old in [&a, &b] {
        let location = store.locate(&span(old.range.unwrap().first.0, 0, Last::One)).unwrap();
        assert!(matches!(location, Location::Replaced { by } if by == c.range), "{location:?}");
    }
    content(&store, "notes", b"");
    let location = store.locate(&span(a.range.unwrap().first.0, 0, Last::One)).unwrap();
    assert!(matches!(location, Location::Replaced { by: None }), "{location:?}");
    assert_eq!(store.by_label("notes").unwrap().unwrap().range, None);
}

#[test]
fn identical_bytes_share_one_text() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let first = run(&store, b"same\n");
    let second = run(&store, b"same\n");
    assert_eq!(second.status, Status::SameAs("execute:1".to_owned()));
    assert_eq!((second.range, second.document), (first.range, first.document));
    let info = store.by_label("execute:2").unwrap().unwrap();
    assert_eq!(info.label, "execute:2");
    assert_eq!(info.labels, ["execute:1", "execute:2"]);
    // As a file the same bytes are cut and shown another way.
    assert_ne!(content(&store, "c", b"same\n").document, first.document);
    assert_eq!(content(&store, "c", b"same\n").status, Status::Unchanged);
}

#[test]
fn a_shared_text_outlives_one_of_its_labels() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let a = content(&store, "a", b"shared\n");
    content(&store, "b", b"shared\n");
    content(&store, "a", b"changed\n");
    let location = store.locate(&span(a.range.unwrap().first.0, 0, Last::One)).unwrap();
    assert!(matches!(location, Location::Live { document, .. } if document.label == "b"));
}

#[test]
fn a_label_that_is_refused_by_nobody_is_kept_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    for label in ["", "[r:1]\n", "'; DROP TABLE labels; --", "ünï 日本"] {
        content(&store, label, label.as_bytes());
        assert_eq!(store.by_label(label).unwrap().unwrap().label, label);
    }
    assert!(store.by_label("unknown").unwrap().is_none());
}

struct Seen(Vec<(u64, String)>);

impl Observer for Seen {
    fn line(&mut self, number: u64, text: &str) {
        self.0.push((number, text.to_owned()));
    }
}

#[test]
fn an_observer_sees_every_line_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut seen = Seen(Vec::new());
    let new = NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run);
    let bytes = b"one\r\ntwo\x1b[31m red\x1b[0m\n\n10%\r20%\rdone";
    let receipt = store.add(new, &mut &bytes[..], Some(&mut seen)).unwrap();
    let lines: Vec<_> = seen.0.iter().map(|(number, text)| (*number, text.as_str())).collect();
    assert_eq!(lines, [(1, "one"), (2, "two red"), (3, ""), (4, "done")]);
    assert_eq!((receipt.lines, receipt.view.differs), (4, true));
}

#[test]
fn empty_output_is_a_document_without_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let receipt = run(&store, b"");
    assert_eq!((receipt.range, receipt.lines, receipt.chunks), (None, 0, 0));
    assert_eq!(raw(&store, receipt.document), b"");
    assert!(store.by_label("execute:1").unwrap().is_some());
}
