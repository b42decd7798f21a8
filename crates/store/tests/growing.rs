//! A document that grows is readable meanwhile, its chunks never move, and it ends like any other.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use common::{raw, run, store_in, view};
use proptest::prelude::*;
use quietcontext_store::{
    ChunkId, Label, Last, Location, NewDocument, Origin, Purge, Query, Span, Store,
};

fn job<'a>() -> NewDocument<'a> {
    NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run)
}

fn text_from(store: &Store, first: ChunkId) -> String {
    let span = Span { first, skip: 0, last: Last::End };
    match store.locate(&span).unwrap() {
        Location::Live { first, last, .. } => {
            let chunks = store.chunks(first, last, u64::MAX).unwrap();
            chunks.into_iter().map(|chunk| chunk.text).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_job_is_readable_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut job = store.begin(job()).unwrap();
    assert_eq!(job.receipt().label, "execute:1");
    let info = store.by_label("execute:1").unwrap().unwrap();
    assert!(info.running && info.range.is_none());
    job.append(b"listening on 8080\nnext li").unwrap();
    assert_eq!(text_from(&store, job.first()), "listening on 8080\n");
    job.append(b"ne\n").unwrap();
    assert_eq!(text_from(&store, job.first()), "listening on 8080\nnext line\n");
    // Another document in between does not disturb its numbers.
    let other = run(&store, b"other\n").range.unwrap();
    for _ in 0..2_000 {
        job.append(b"one more line of the log\n").unwrap();
    }
    let receipt = job.finish("exit 0").unwrap();
    assert!(receipt.range.unwrap().last.0 < other.first.0);
    let info = store.by_label("execute:1").unwrap().unwrap();
    assert_eq!((info.running, info.outcome.as_deref()), (false, Some("exit 0")));
    assert_eq!(info.lines, 2_002);
    let expected =
        format!("listening on 8080\nnext line\n{}", "one more line of the log\n".repeat(2_000));
    assert_eq!(view(&store, receipt.document), expected);
    assert_eq!(raw(&store, receipt.document), expected.as_bytes());
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_job_is_found_by_its_words_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut growing = store.begin(job()).unwrap();
    let search = |text: &str| store.search(&Query::new(text, 3)).unwrap().hits;
    growing.append(b"listening on gazelle\n").unwrap();
    assert_eq!(search("gazelle").len(), 1);
    for n in 0..3_000 {
        growing.append(format!("line {n} of a long output\n").as_bytes()).unwrap();
    }
    growing.append(b"then a marmoset came\n").unwrap();
    for word in ["gazelle", "marmoset"] {
        assert_eq!(search(word).first().unwrap().document, growing.receipt().document, "{word}");
    }
    growing.finish("exit 0").unwrap();
    assert_eq!(search("marmoset").len(), 1);
    assert!(search("wolverine").is_empty());
}

#[test]
fn what_was_purged_does_not_grow_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut growing = store.begin(job()).unwrap();
    growing.append(b"secret\n").unwrap();
    store.purge(Purge::All).unwrap();
    assert!(growing.append(b"more\n").is_err());
    assert!(growing.append(b"and more\n").is_err());
    let span = Span { first: growing.first(), skip: 0, last: Last::One };
    drop(growing);
    assert!(matches!(store.locate(&span).unwrap(), Location::Gone));
    assert!(store.sources().unwrap().is_empty());
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn unused_numbers_are_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut growing = store.begin(job()).unwrap();
    growing.append(b"line\n").unwrap();
    let receipt = growing.finish("exit 0").unwrap();
    let next = run(&store, b"next\n").range.unwrap();
    assert_eq!(next.first.0, receipt.range.unwrap().last.0 + 1);
}

/// Its number was told when it began.
#[test]
fn the_number_of_a_job_without_output_is_not_given_to_another() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let silent = store.begin(job()).unwrap();
    let told = silent.first();
    silent.finish("stopped").unwrap();
    let next = run(&store, b"another's\n").range.unwrap().first;
    assert_eq!(next.0, told.0 + 1);
}

#[test]
fn a_job_that_is_dropped_ends_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let mut growing = store.begin(job()).unwrap();
    growing.append(b"line\nhalf a li").unwrap();
    drop(growing);
    let info = store.by_label("execute:1").unwrap().unwrap();
    assert!(!info.running && info.outcome.is_some());
    assert_eq!(view(&store, info.id), "line\n");
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn chunks_never_move(pieces in prop::collection::vec("[a-z \n]{0,700}|\u{1b}\\[1m|[0-9]%\r", 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        let store = store_in(folder.path());
        let mut growing = store.begin(job()).unwrap();
        let mut seen: Vec<String> = Vec::new();
        for piece in &pieces {
            growing.append(piece.as_bytes()).unwrap();
            let Some(range) = growing.receipt().range else { continue };
            let chunks = store.chunks(range.first, range.last, u64::MAX).unwrap();
            prop_assert!(chunks.len() >= seen.len());
            for (before, now) in seen.iter().zip(&chunks) {
                prop_assert!(now.text.starts_with(before), "{before:?} {:?}", now.text);
            }
            seen = chunks.into_iter().map(|chunk| chunk.text).collect();
        }
        let receipt = growing.finish("exit 0").unwrap();
        let whole = pieces.concat();
        prop_assert_eq!(view(&store, receipt.document), quietcontext_store::clean(whole.as_bytes()).0);
        prop_assert_eq!(raw(&store, receipt.document), whole.as_bytes());
        prop_assert_eq!(store.check().unwrap(), Vec::<String>::new());
    }
}
