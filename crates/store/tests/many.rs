//! Many documents at once, as a directory is indexed; changed, moved and removed again.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::PathBuf;

use common::{store_in, view};
use quietcontext_store::{
    ChunkId, FileStamp, Label, Last, Location, NewDocument, Origin, Receipt, Span, Status, Store,
    Writer,
};

fn stamp(modified_ns: i128) -> FileStamp {
    FileStamp { size: 1, modified_ns, changed_ns: -5, inode: u64::MAX, device: 3 }
}

fn file(writer: &mut Writer, path: &str, text: &str) -> Receipt {
    let mut new = NewDocument::new(Label::Fixed(path), Origin::File);
    new.path = Some(path);
    new.stamp = Some(stamp(7));
    writer.add(new, &mut text.as_bytes(), None).unwrap()
}

fn location(store: &Store, receipt: &Receipt) -> Location {
    let first = receipt.range.unwrap().first;
    store.locate(&Span { first, skip: 0, last: Last::One }).unwrap()
}

#[test]
fn delete_rename_edit_and_a_run_that_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut writer = store.writer().unwrap();
    let text = |n: usize| format!("fn file_{n}() {{}}\n");
    let first: Vec<Receipt> =
        (0..30).map(|n| file(&mut writer, &format!("d/{n}.rs"), &text(n))).collect();
    writer.finish().unwrap();
    assert!(first.iter().all(|receipt| receipt.status == Status::New));
    assert_eq!(store.known_files("d/").unwrap().len(), 30);
    assert_eq!(store.known_files("d/2").unwrap().len(), 11);
    assert_eq!(store.known_files("d/2.rs").unwrap()[0].stamp, stamp(7));
    assert!(store.known_files("e").unwrap().is_empty());

    let mut writer = store.writer().unwrap();
    assert!(writer.forget("d/3.rs").unwrap());
    assert!(!writer.forget("d/3.rs").unwrap());
    let renamed = file(&mut writer, "d/four.rs", &text(4));
    assert_eq!(renamed.status, Status::SameAs("d/4.rs".to_owned()));
    assert!(writer.forget("d/4.rs").unwrap());
    let edited = file(&mut writer, "d/5.rs", "fn edited() {}\n");
    assert_eq!(edited.status, Status::Replaced);
    assert_eq!(file(&mut writer, "d/6.rs", &text(6)).status, Status::Unchanged);
    assert!(writer.restamp("d/7.rs", stamp(8)).unwrap());
    assert!(!writer.restamp("none", stamp(8)).unwrap());
    writer.finish().unwrap();

    assert!(matches!(location(&store, &first[3]), Location::Gone));
    assert!(
        matches!(location(&store, &first[4]), Location::Live { document, .. } if document.label == "d/four.rs")
    );
    assert!(matches!(location(&store, &first[5]), Location::Replaced { by } if by == edited.range));
    assert_eq!(store.known_files("d/7").unwrap()[0].stamp, stamp(8));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn documents_of_all_sizes_in_one_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut writer = store.writer().unwrap();
    let mut texts = vec![String::new(), "x".repeat(5 << 20), "line\n".repeat(100_000)];
    texts.extend((0..600).map(|n| format!("{n}\n").repeat(n)));
    let receipts: Vec<Receipt> = texts
        .iter()
        .enumerate()
        .map(|(n, text)| file(&mut writer, &format!("{n}.txt"), text))
        .collect();
    writer.finish().unwrap();
    for (receipt, text) in receipts.iter().zip(&texts) {
        assert!(view(&store, receipt.document) == *text, "{}", receipt.label);
    }
    // Numbers of one document are consecutive and no two documents share any.
    let mut ranges: Vec<_> = receipts.iter().filter_map(|receipt| receipt.range).collect();
    ranges.sort_by_key(|range| range.first);
    ranges.dedup();
    assert!(ranges.windows(2).all(|pair| pair[0].last < pair[1].first));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn copies_in_one_run_share_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut writer = store.writer().unwrap();
    let first = file(&mut writer, "a/LICENSE", "licence\n");
    let copy = file(&mut writer, "b/LICENSE", "licence\n");
    assert_eq!(copy.status, Status::SameAs("a/LICENSE".to_owned()));
    // The text goes with its last label, also within one run.
    writer.forget("a/LICENSE").unwrap();
    writer.forget("b/LICENSE").unwrap();
    let again = file(&mut writer, "c/LICENSE", "licence\n");
    writer.finish().unwrap();
    let info = store.by_label("c/LICENSE").unwrap().unwrap();
    assert_eq!(view(&store, info.id), "licence\n");
    assert_eq!(first.range, copy.range);
    assert_eq!(again.range, info.range);
    assert!(store.by_label("a/LICENSE").unwrap().is_none());
}

#[test]
fn a_writer_that_is_dropped_leaves_whole_documents_only() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut writer = store.writer().unwrap();
    for n in 0..1_000 {
        file(&mut writer, &format!("{n}"), &format!("{n}\n"));
    }
    drop(writer);
    for info in store.sources().unwrap() {
        assert_eq!(view(&store, info.id), format!("{}\n", info.label));
    }
    let unknown = Span { first: ChunkId(1), skip: 0, last: Last::One };
    assert!(matches!(store.locate(&unknown).unwrap(), Location::Unknown));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn the_log_stays_small_while_much_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let line = |n: usize| format!("let value_{n} = compute({}, \"{:x}\");\n", n * 7, n * 7_919);
    let log = PathBuf::from(format!("{}-wal", store.path().display()));
    let mut largest = 0;
    let mut writer = store.writer().unwrap();
    let mut bytes = 0;
    for part in 0..160 {
        let text = (part * 2_000..(part + 1) * 2_000).map(line).collect::<Vec<_>>().concat();
        bytes += text.len() as u64;
        file(&mut writer, &format!("{part}.rs"), &text);
        largest = largest.max(std::fs::metadata(&log).map_or(0, |found| found.len()));
    }
    writer.finish().unwrap();
    largest = largest.max(std::fs::metadata(&log).unwrap().len());
    // Two thousand pages, and what one transaction adds.
    assert!(bytes > 12_000_000 && largest > 100_000, "{bytes} {largest}");
    assert!(largest <= 14_000_000, "{largest}");
}
