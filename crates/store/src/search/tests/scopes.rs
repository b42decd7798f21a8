//! Scopes, kinds, text that has no full-text rows yet, deadlines.

use std::time::Instant;

use super::Shelf;
use crate::{Hit, Kind, Query, Scope, Verdict};

#[test]
fn a_small_scope_in_a_big_store_finds_its_best() {
    let shelf = Shelf::new();
    for n in 0..400 {
        let text = format!("# Note {n}\n\nThe engine valve opens, engine valve {n} opens wide.\n");
        shelf.add(&format!("notes/{n}.md"), &text);
    }
    let one = shelf.add("other/plan.md", "# Plan\n\nLong before, some engine was planned here.\n");
    for scope in [
        Scope::Source("other/plan.md"),
        Scope::Source("other/*"),
        Scope::Source("ther/pla"),
        Scope::Documents(&[one]),
    ] {
        let hits = shelf.find_in("engine valve", scope).hits;
        assert_eq!(hits.len(), 1, "{scope:?}");
        assert_eq!(hits[0].source, "other/plan.md");
    }
    let hits = shelf.find_in("engine valve", Scope::Source("notes/*")).hits;
    assert!(hits.len() > 3 && hits.iter().all(|hit| hit.source.starts_with("notes/")));
    let nowhere = shelf.find_in("engine", Scope::Source("nowhere"));
    assert_eq!(nowhere.verdict, Verdict::NothingToSearch);
}

#[test]
fn kinds_are_told_apart() {
    let shelf = Shelf::with(&[
        ("valve.rs", "/// Opens the valve.\nfn open_valve() {}\n"),
        ("valve.md", "# Valves\n\nHow to open the valve.\n"),
    ]);
    for (kind, source) in [(Kind::Code, "valve.rs"), (Kind::Prose, "valve.md")] {
        let query = Query { kind: Some(kind), ..Query::new("open valve", 5) };
        let hits = shelf.store.search(&query).unwrap().hits;
        assert_eq!(hits.iter().map(|hit| hit.source.as_str()).collect::<Vec<_>>(), [source]);
    }
}

#[test]
fn text_just_stored_is_found_whether_it_is_indexed_or_not() {
    let filler =
        (0..60_000).map(|n| format!("line {n} of a long report\n")).collect::<Vec<_>>().concat();
    let shelf = Shelf::new();
    shelf.add("report.txt", &format!("{filler}the turbine exploded at noon\n{filler}"));
    let hits = shelf.find("turbine exploded").hits;
    assert_eq!(hits[0].source, "report.txt");
    assert!(hits[0].snippet.contains("turbine exploded"));
}

#[test]
fn hits_without_snippets_are_the_same_hits() {
    let shelf = Shelf::with(&[
        ("a.md", "# Engine\n\nThe engine turns.\n"),
        ("b.md", "# Wheel\n\nAn engine turns it.\n"),
    ]);
    let ask = |snippets| {
        let query = Query { snippets, ..Query::new("engine turns", 5) };
        shelf.store.search(&query).unwrap().hits
    };
    let (with, without) = (ask(true), ask(false));
    assert!(with.iter().all(|hit| hit.snippet.contains("engine turns")));
    assert!(without.iter().all(|hit| hit.snippet.is_empty()));
    let place = |hit: &Hit| (hit.chunk, hit.score.to_bits());
    assert!(with.iter().map(place).eq(without.iter().map(place)));
    assert_eq!(with.len(), 2);
}

#[test]
fn a_search_that_is_late_says_what_it_left_out() {
    let shelf = Shelf::with(&[("a.md", "# Engine\n\nThe engine turns.\n")]);
    let query = Query { deadline: Some(Instant::now()), ..Query::new("engine", 5) };
    let found = shelf.store.search(&query).unwrap();
    assert!(found.hits.is_empty());
    assert!(found.incomplete.unwrap().contains("out of time"));
}

#[test]
fn queries_asked_together_are_answered_as_alone() {
    let shelf = Shelf::new();
    for number in 0..60 {
        let text = format!(
            "# Part {number}\n\nThe scheduler of worker {number} wakes tasks, easily and early.\n\n\
             ## Details\n\nA waker is written when the task is begun; it is larger than {number}.\n"
        );
        shelf.add(&format!("docs/part-{number}.md"), &text);
    }
    let texts = [
        "scheduler tasks",
        "scheduler waker",
        "waker tasks",
        "large task",
        "beginning",
        "wakre",
        "worker 17",
        "\"wakes tasks\"",
        "docs/part-7.md",
        "easy",
        "xqzv scheduler",
        "scheduler tasks",
    ];
    for scope in [Scope::All, Scope::Source("docs/part-1*")] {
        let like = Query { scope, ..Query::new("", 5) };
        let together = shelf.store.queries(like);
        let found = std::thread::scope(|threads| {
            let asked = texts.map(|text| threads.spawn(|| together.search(text, None).unwrap()));
            asked.map(|answer| format!("{:?}", answer.join().unwrap()))
        });
        for (text, found) in texts.iter().zip(found) {
            let alone = shelf.store.search(&Query { text, ..like }).unwrap();
            assert_eq!(found, format!("{alone:?}"), "{text}");
        }
    }
}
