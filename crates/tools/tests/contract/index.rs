//! What is indexed, what is skipped and said, what is removed.

use serde_json::json;

use crate::support::{Workspace, reference};

#[test]
fn content_and_path_are_either_or() {
    let w = Workspace::new();
    assert!(w.error("index", json!({})).contains("content or path is missing"));
    assert!(w.error("index", json!({"content": "a", "path": "b"})).contains("both given"));
    assert!(w.error("index", json!({"path": "missing.txt"})).contains("is not there"));
    assert!(w.error("index", json!({"path": "/etc/passwd"})).contains("leads out"));
}

#[test]
fn the_same_source_again_replaces() {
    let w = Workspace::new();
    let first = w.ok("index", json!({"content": "about walruses", "source": "s"}));
    assert!(first.starts_with("indexed 14 bytes, 1 line, 1 section as s · r:"), "{first}");
    assert!(
        w.ok("index", json!({"content": "about zebras", "source": "s"})).ends_with(" · replaced")
    );
    assert!(
        w.ok("index", json!({"content": "about zebras", "source": "s"})).ends_with(" · unchanged")
    );
    assert!(w.ok("search", json!({"queries": ["walruses"]})).contains("no match"));
    assert!(w.ok("index", json!({"content": "unnamed"})).contains(" as content:1 · "));
}

/// F-043.
#[test]
fn a_folder_without_git_yields_the_files_people_wrote() {
    let w = Workspace::new();
    for path in [
        "app.js",
        "README.md",
        "node_modules/a/i.js",
        "target/debug/x.txt",
        ".venv/lib/y.py",
        "dist/z.js",
        "id_rsa",
    ] {
        w.write(&format!("plain/{path}"), format!("text of {path}\n"));
    }
    w.write("plain/.env", "KEY=abcsecret\n");
    let text = w.ok("index", json!({"path": "plain"}));
    assert!(text.starts_with("2 files · "), "{text}");
    for reason in ["2 dependency folders", "2 build folders", "2 secret files"] {
        assert!(text.contains(reason), "{text}");
    }
    assert!(w.ok("search", json!({"queries": ["abcsecret"]})).contains("no match"));
}

/// F-036.
#[test]
fn a_second_run_replaces_removes_and_adds_and_a_third_does_nothing() {
    let w = Workspace::new();
    for i in 1..=30 {
        w.write(&format!("d/{i}.txt"), format!("unique-{i} word\n"));
    }
    assert!(w.ok("index", json!({"path": "d"})).starts_with("30 files · "));
    let third = w.ok("search", json!({"queries": ["unique-3"]}));
    let old = reference(third.lines().find(|line| line.contains("d/3.txt")).unwrap());
    std::fs::remove_file(w.root().join("d/3.txt")).unwrap();
    std::fs::rename(w.root().join("d/4.txt"), w.root().join("d/four.txt")).unwrap();
    w.write("d/5.txt", "renewed-5 word\n");
    let text = w.ok("index", json!({"path": "d"}));
    for count in ["1 added", "1 replaced", "27 unchanged", "2 removed"] {
        assert!(text.contains(count), "{text}");
    }
    assert_eq!(w.ok("index", json!({"path": "d"})), "29 files · 29 unchanged");
    assert!(w.ok("search", json!({"queries": ["unique-4"]})).contains("(d/four.txt:L1-1)"));
    assert!(w.ok("search", json!({"queries": ["renewed-5"]})).contains("(d/5.txt:L1-1)"));
    assert!(w.error("search", json!({"refs": [old]})).contains("gone"));
}

#[test]
fn indexing_what_is_unchanged_does_not_grow_the_store() {
    let w = Workspace::new();
    for i in 1..=30 {
        w.write(&format!("d/{i}.txt"), format!("unique-{i} word\n"));
    }
    w.ok("index", json!({"path": "d"}));
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let grown = || {
        let before = w.store_bytes();
        assert!(before > 10_000, "{before}");
        assert_eq!(w.ok("index", json!({"path": "d"})), "30 files · 30 unchanged");
        assert!(w.ok("index", json!({"path": "d/5.txt"})).ends_with(" · unchanged"));
        w.store_bytes() - before
    };
    // What is put off until after the first answer may write once more.
    while grown() > 0 {
        assert!(std::time::Instant::now() < end, "it grows each time");
    }
    assert_eq!(grown(), 0);
}

#[test]
fn a_file_that_is_as_it_was_is_unchanged_and_one_rewritten_is_replaced() {
    let w = Workspace::new();
    w.write("notes.txt", "about walruses\n");
    let first = w.ok("index", json!({"path": "notes.txt"}));
    assert!(first.starts_with("indexed 15 bytes, 1 line, 1 section as notes.txt · r:"), "{first}");
    assert_eq!(w.ok("index", json!({"path": "notes.txt"})), format!("{first} · unchanged"));
    // The same bytes in another file: read, and found to be the same.
    w.write("new.txt", "about walruses\n");
    std::fs::rename(w.root().join("new.txt"), w.root().join("notes.txt")).unwrap();
    assert_eq!(w.ok("index", json!({"path": "notes.txt"})), format!("{first} · unchanged"));
    // As long as before.
    w.write("notes.txt", "about mooncalf\n");
    assert!(w.ok("index", json!({"path": "notes.txt"})).ends_with(" · replaced"));
    assert!(w.ok("search", json!({"queries": ["mooncalf"]})).contains("(notes.txt:L1-1)"));
}

#[test]
fn binary_generated_and_minified_files_are_counted_by_reason() {
    let w = Workspace::new();
    w.write("m/a.rs", "fn a() {}\n");
    w.write("m/Makefile", "all:\n\ttrue\n");
    w.write("m/x.bin", b"\0\x01\x02");
    w.write("m/Cargo.lock", "x\n");
    w.write("m/g.go", "// Code generated by x. DO NOT EDIT.\n");
    w.write("m/a.min.js", "x\n");
    w.write("m/b.js", "x=1;".repeat(1_000));
    w.write("m/empty", "");
    let text = w.ok("index", json!({"path": "m"}));
    assert!(text.starts_with("2 files · "), "{text}");
    assert!(text.contains("skipped: 1 binary, 1 empty, 2 generated, 2 minified"), "{text}");
}

#[test]
fn nothing_is_capped_quietly() {
    let w = Workspace::new();
    for i in 0..12 {
        w.write(&format!("d/{i:02}.txt"), format!("file {i}\n"));
    }
    let text = w.ok("index", json!({"path": "d", "max_files": 5}));
    assert!(text.starts_with("5 files · ") && text.contains("7 files left"), "{text}");
}

#[test]
fn gitignore_rules_and_filters_hold() {
    let w = Workspace::new();
    std::process::Command::new("git").args(["init", "-q"]).current_dir(w.root()).status().unwrap();
    w.write(".gitignore", "ignored/\n*.tmp\n!keep.tmp\n");
    w.write("ignored/a.txt", "a\n");
    w.write("b.tmp", "b\n");
    w.write("keep.tmp", "k\n");
    w.write("src/c.rs", "c\n");
    w.write("src/d.md", "d\n");
    let text = w.ok("index", json!({"path": "."}));
    assert!(text.starts_with("4 files · "), "{text}");
    let only = w.ok("index", json!({"path": ".", "include": ["*.rs"], "source": "r"}));
    assert!(only.starts_with("1 file · "), "{only}");
    let all = w.ok("index", json!({"path": ".", "respect_gitignore": false, "source": "all"}));
    assert!(all.starts_with("6 files · "), "{all}");
    let some = w.ok(
        "index",
        json!({"path": ".", "extensions": [".md"], "exclude": "src/**", "source": "x"}),
    );
    assert!(some.starts_with("0 files"), "{some}");
}

#[test]
fn links_that_lead_out_are_skipped_and_counted() {
    let w = Workspace::new();
    std::fs::write(w.outside().join("secret.txt"), "outside-word\n").unwrap();
    w.write("d/a.txt", "inside\n");
    std::os::unix::fs::symlink(w.outside(), w.root().join("d/elsewhere")).unwrap();
    for follow in [false, true] {
        let text = w.ok("index", json!({"path": "d", "follow_symlinks": follow}));
        assert!(text.starts_with("1 file · ") && text.contains("1 links"), "{follow}: {text}");
    }
    assert!(w.ok("search", json!({"queries": ["outside-word"]})).contains("no match"));
}

/// F-040: bytes pass as they are, and a record with a line feed in quotes stays whole.
#[test]
fn a_table_with_quoted_line_feeds_keeps_its_records() {
    let w = Workspace::new();
    let table =
        "\u{feff}id,note\r\n1,\"line one\r\nQUOTED_TARGET line two\"\r\n2,\"a \"\"b\"\" c\"\r\n";
    w.write("t.csv", table);
    let code = "import csv, io, sys\n\
        bytes = sys.stdin.buffer.read()\n\
        rows = list(csv.reader(io.StringIO(bytes.decode('utf-8-sig'), newline='')))\n\
        print(len(bytes), len(rows) - 1, rows[0])\n";
    let said = w.run("exec-file", json!({"path": "t.csv", "language": "python", "code": code}));
    assert!(said.contains(&format!("{} 2 ['id', 'note']", table.len())), "{said}");
    w.ok("index", json!({"path": "t.csv"}));
    let found = w.ok("search", json!({"queries": ["QUOTED_TARGET"], "preview": true}));
    assert!(found.contains("line one") && found.contains("QUOTED_TARGET line two"), "{found}");
}

/// F-037.
#[test]
fn one_endless_line_is_cut_into_bounded_chunks() {
    let w = Workspace::new();
    w.write(
        "bundle.min.js",
        format!("{}NEEDLE_MIN=7;{}", "x=1;".repeat(100_000), "y=2;".repeat(100_000)),
    );
    w.ok("index", json!({"path": "bundle.min.js"}));
    let text = w.ok("search", json!({"queries": ["NEEDLE_MIN"], "preview": true}));
    assert!(text.contains("NEEDLE_MIN=7;"), "{text}");
}

#[test]
fn web_pages_are_indexed_as_their_text() {
    let w = Workspace::new();
    w.write("p.html", "<html><head><title>T</title><script>var walrus</script></head><body><h1>Head</h1><p>Body with zebra.</p></body></html>");
    w.ok("index", json!({"path": "p.html"}));
    assert!(w.ok("search", json!({"queries": ["zebra"]})).contains("(p.html:L"));
    assert!(w.ok("search", json!({"queries": ["walrus"]})).contains("no match"));
}
