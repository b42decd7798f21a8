//! Which kind a text is, and that the table is sound.

use std::collections::BTreeSet;

use super::super::{ContentKind, Kind, table};

#[test]
fn rows_are_unique_and_lower_case() {
    let mut seen = BTreeSet::new();
    let mut kinds = Vec::new();
    for row in table::rows() {
        assert!(seen.insert(row.name), "{}", row.name);
        assert!(!kinds.contains(&row.kind), "{:?}", row.kind);
        kinds.push(row.kind);
        assert_eq!(ContentKind::parse(row.name), Some(row.kind));
        assert_eq!(row.kind.name(), row.name);
        for word in row.extensions.iter().chain(row.files).chain(row.mimes) {
            assert_eq!(*word, word.to_lowercase());
        }
    }
    for list in [0, 1, 2] {
        let mut words = BTreeSet::new();
        for row in table::rows() {
            for word in [row.extensions, row.files, row.mimes][list] {
                assert!(words.insert(*word), "{word} twice");
            }
        }
    }
}

#[test]
fn names_come_first_then_types_then_the_text() {
    let table = [
        (Some("src/lib.rs"), None, "", "rust"),
        (Some("A/B/README.MD"), None, "", "markdown"),
        (Some("Makefile"), None, "", "make"),
        (Some("deploy/Dockerfile.dev"), None, "", "docker"),
        (Some("var/app.log.1"), None, "", "log"),
        (Some("Cargo.lock"), None, "", "toml"),
        (Some("https://a.example/x.json?page=1.html"), Some("text/html"), "", "json"),
        (Some("https://a.example.py"), Some("text/html; charset=utf-8"), "", "html"),
        (Some("data"), Some("application/problem+json"), "", "json"),
        (Some("page"), Some("TEXT/Markdown"), "", "markdown"),
        (Some("notes.txt"), None, "Dear all,\nsome words.\n", "plain"),
        (Some("out.txt"), None, "running 3 tests\ntest a ... ok\n", "log"),
        (None, None, "2024-05-06T07:08:09Z start\n", "log"),
        (None, None, "[12:30:01] start\n", "log"),
        (None, None, "src/a.c:1:2: error: x\n", "log"),
        (None, None, "#!/usr/bin/env python3\n", "python"),
        (None, None, "#!/bin/bash\n", "shell"),
        (None, None, "\u{feff}{\"a\": 1}", "json"),
        (None, None, "[{\"a\": 1}]", "json"),
        (None, None, "[1, 2]", "json"),
        (None, None, "[main] starting\n", "plain"),
        (None, None, "{\"a\": 1}\n{\"a\": 2}\n", "ndjson"),
        (None, None, "<!DOCTYPE html><p>", "html"),
        (None, None, "<?xml version=\"1.0\"?>\n<a/>", "xml"),
        (None, None, "# Title\n\n- item\n", "markdown"),
        (None, None, "# Title\n\nSome words about it.\n", "markdown"),
        (None, None, "Intro\n\n## Part one\n\ntext\n", "markdown"),
        (None, None, "# Errors\n\nWhat they mean:\n\n    error: disk full\n", "markdown"),
        (None, None, "# only a comment\nx = 1\n", "plain"),
        (None, None, "# one\n# two\nx = compute(1)\nprint(x)\n", "plain"),
        (None, None, "#include <stdio.h>\nint main(void) { return 0; }\n", "plain"),
        (None, None, "a,b,c\n1,2,3\n4,5,6\n", "csv"),
        (None, None, "Well, yes, no.\nBut one.\n", "plain"),
        (None, None, "", "plain"),
    ];
    for (name, mime, head, expected) in table {
        assert_eq!(
            ContentKind::detect(name, mime, head).name(),
            expected,
            "{name:?} {mime:?} {head:?}"
        );
    }
}

#[test]
fn code_and_data_are_code_and_text_is_prose() {
    for (name, class) in [
        ("rust", Kind::Code),
        ("json", Kind::Code),
        ("markdown", Kind::Prose),
        ("log", Kind::Prose),
    ] {
        assert_eq!(ContentKind::parse(name).map(ContentKind::class), Some(class), "{name}");
    }
}
