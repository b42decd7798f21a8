//! Documents too large to be handled whole: stored in windows, with their captured bytes.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::{self, Read};
use std::time::{Duration, Instant};

use common::{raw, run, store_in, view};
use quietcontext_store::{
    ChunkId, Label, Last, Location, NewDocument, Origin, Query, Span, Status, StoreError,
};

fn lines(count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|n| format!("line {n} of a long output, {}\n", n * 7_919).into_bytes())
        .collect()
}

#[test]
fn a_large_output_tiles_and_comes_back_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let plain = lines(30_000);
    let mut coloured = plain.clone();
    coloured.extend_from_slice(b"\x1b[31mred\x1b[0m 10%\r20%\n");
    coloured.extend_from_slice(&plain);
    let endless = vec![b'x'; (4 << 20) + 77];
    let mut legacy = b"caf\xe9 ol\xe9 \xfcber\n".repeat(70_000);
    legacy.extend_from_slice(b"end");
    for bytes in [plain, coloured, endless, legacy] {
        let receipt = run(&store, &bytes);
        assert_eq!(receipt.status, Status::New);
        assert_eq!(receipt.bytes, bytes.len() as u64);
        let text = view(&store, receipt.document);
        assert_eq!(text, quietcontext_store::clean(&bytes).0);
        assert_eq!(receipt.lines, text.split_inclusive('\n').count() as u64);
        assert!(raw(&store, receipt.document) == bytes);
        let id = store.chunk_of_line(receipt.document, receipt.lines).unwrap().unwrap();
        assert_eq!(store.chunks(id, id, 1).unwrap()[0].lines.1, receipt.lines);
        // The same again is the same text, and the numbers after it are next.
        assert_eq!(run(&store, &bytes).range, receipt.range);
    }
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_large_file_of_other_origin_is_cut_in_windows_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let bytes = lines(110_000);
    let new = NewDocument::new(Label::Fixed("big.txt"), Origin::File);
    let receipt = store.add(new, &mut &bytes[..], None).unwrap();
    assert_eq!(view(&store, receipt.document).as_bytes(), bytes);
}

/// Terms that stand in more chunks than one search reads: the rarer word decides, and then the newest.
#[test]
fn words_that_stand_everywhere_are_searched_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut writer = store.writer().unwrap();
    let mut add = |label: &str, text: &str| {
        let mut new = NewDocument::new(Label::Fixed(label), Origin::Content);
        new.name = Some(label);
        writer.add(new, &mut text.as_bytes(), None).unwrap();
    };
    add("old both", "alpha and beta beside a zebra\n");
    add("old neither", "a zebra alone\n");
    for number in 0..15_200 {
        add(&format!("many {number}"), &format!("alpha {number} beta\n"));
    }
    writer.finish().unwrap();
    while !store.finish_pending(Instant::now() + Duration::from_mins(1)).unwrap() {}
    let found = |text: &str| -> Vec<String> {
        store.search(&Query::new(text, 3)).unwrap().hits.into_iter().map(|hit| hit.source).collect()
    };
    assert_eq!(found("zebra alpha beta")[0], "old both");
    assert_eq!(found("zebra alpha")[..2], ["old both", "old neither"]);
    for text in ["alpha", "alpha beta"] {
        let all = found(text);
        assert_eq!(all.len(), 3, "{text}");
        assert!(all.iter().all(|source| source.starts_with("many ")), "{text}: {all:?}");
    }
}

/// Fails after some bytes.
struct Broken(usize);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let count = buffer.len().min(self.0);
        buffer[..count].fill(b'\n');
        self.0 -= count;
        Ok(count)
    }
}

#[test]
fn nothing_stays_of_a_document_whose_source_failed() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let before = run(&store, b"before\n").range.unwrap();
    for bytes in [100, (2 << 20) + 77] {
        let new = NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run);
        let error = store.add(new, &mut Broken(bytes), None).unwrap_err();
        assert!(matches!(error, StoreError::Source(_)), "{error}");
    }
    assert_eq!(store.sources().unwrap().len(), 1);
    let after = run(&store, b"after\n");
    assert_eq!(after.label, "execute:2");
    let span = Span { first: ChunkId(before.last.0 + 1), skip: 0, last: Last::One };
    let location = store.locate(&span).unwrap();
    assert!(matches!(location, Location::Unknown | Location::Live { .. }), "{location:?}");
}
