//! F-046: link games that must and must not work, and races for what is opened.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::support::Workspace;

#[test]
fn paths_lead_where_they_may_and_nowhere_else() {
    let w = Workspace::new();
    w.write("d/a.txt", "inside");
    let outside = w.outside();
    std::fs::write(outside.join("s.txt"), "outside").unwrap();
    symlink(&outside, w.root().join("link_out")).unwrap();
    symlink(outside.join("s.txt"), w.root().join("file_out")).unwrap();
    symlink("d", w.root().join("link_in")).unwrap();
    symlink(w.root(), outside.join("link_to_w")).unwrap();
    let through = outside.join("link_to_w/d/a.txt");
    let exec = |path: &str| json!({"language": "shell", "code": "cat", "path": path});
    for path in [
        "d/a.txt",
        "./d/a.txt",
        "d//a.txt",
        "d/./a.txt",
        "d/a.txt/",
        "link_in/a.txt",
        through.to_str().unwrap(),
    ] {
        assert_eq!(w.run("exec-file", exec(path)), "inside", "{path}");
        assert!(w.ok("index", json!({"path": path})).starts_with("indexed 6 bytes"), "{path}");
    }
    let missing = "path \"link_out/new.txt\" leads out of the workspace root through a link";
    for (path, want) in [
        ("link_out/new.txt", missing),
        ("link_out/s.txt", "leads out of the workspace root through a link"),
        ("file_out", "leads out of the workspace root through a link"),
        ("D/A.TXT", "is not there"),
        ("/proc/self/root/etc/passwd", "leads out of the workspace root"),
        ("/proc/self/cwd", "leads out of the workspace root"),
        ("d/../../outside/s.txt", "leads out of the workspace root"),
    ] {
        for (tool, arguments) in [("exec-file", exec(path)), ("index", json!({"path": path}))] {
            let line = w.error(tool, arguments);
            assert!(line.contains(want), "{tool} {path}: {line}");
        }
    }
    let text = w.ok("index", json!({"path": ".", "follow_symlinks": true}));
    assert!(text.contains("links"), "{text}");
    assert!(w.ok("search", json!({"queries": ["outside"]})).contains("no match"));
}

/// A hard link is a file of the workspace like others: only who could read it could make it, and a
/// repository cannot bring one.
#[test]
fn a_hard_link_is_a_file_of_the_workspace() {
    let w = Workspace::new();
    std::fs::write(w.outside().join("s.txt"), "linked").unwrap();
    std::fs::hard_link(w.outside().join("s.txt"), w.root().join("hard.txt")).unwrap();
    let exec = json!({"language": "shell", "code": "cat", "path": "hard.txt"});
    assert_eq!(w.run("exec-file", exec), "linked");
}

#[test]
fn git_rules_that_are_no_files_keep_nobody_waiting() {
    let w = Workspace::new();
    w.write("sub/deep/a.txt", "deeptext");
    w.write("b.txt", "toptext");
    std::fs::create_dir(w.root().join(".git")).unwrap();
    let pipe = |path: &str| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(CWD, w.root().join(path), mode).unwrap();
    };
    assert!(w.ok("index", json!({"path": "."})).starts_with("2 files"), "the control");
    pipe("sub/.gitignore");
    let text = w.ok("index", json!({"path": "."}));
    assert!(text.starts_with("1 file ") && text.contains("1 unreadable"), "{text}");
    pipe(".gitignore");
    for path in [".", "sub"] {
        let line = w.error("index", json!({"path": path}));
        assert!(line.contains("that are no regular file"), "{line}");
    }
    assert!(w.ok("index", json!({"path": ".", "respect_gitignore": false})).starts_with("2 files"));
}

/// Swaps two paths until told to stop.
fn swapping<T>(one: &Path, other: &Path, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let outcome = work();
        done.store(true, Ordering::Relaxed);
        outcome
    })
}

/// What somebody reads who looks first and opens then.
fn naive(path: &Path) -> Option<String> {
    let looked = path.symlink_metadata().ok()?.is_file();
    let inside = path.parent()?.symlink_metadata().ok()?.is_dir();
    (looked && inside).then(|| std::fs::read_to_string(path).ok()).flatten()
}

#[test]
fn a_race_for_a_link_is_never_won() {
    const SECRET: &str = "outsidesecret";
    let w = Workspace::new();
    let outside = w.outside();
    std::fs::write(outside.join("f.txt"), SECRET).unwrap();
    w.write("d/f.txt", "inside");
    w.write("file/f.txt", "inside");
    symlink(outside.join("f.txt"), w.root().join("file/link")).unwrap();
    symlink(&outside, w.root().join("other")).unwrap();
    // A file against a link to a file, a directory against a link to a directory.
    let races = [
        (w.root().join("file/f.txt"), w.root().join("file/link"), "file/f.txt", "file"),
        (w.root().join("d"), w.root().join("other"), "d/f.txt", "d"),
    ];
    for (one, other, path, directory) in races {
        let target = w.root().join(path);
        let (mut read, mut refused) = (0, 0);
        swapping(&one, &other, || {
            let until = Instant::now() + Duration::from_mins(1);
            let won = |found: Option<String>| found.is_some_and(|text| text == SECRET);
            while !won(naive(&target)) {
                assert!(Instant::now() < until, "the control: the race can be won");
            }
            let mut count = |answer: &quietcontext_tools::Answer| {
                assert!(!answer.text.as_str().contains(SECRET), "{path}: {}", answer.text);
                if answer.is_error { refused += 1 } else { read += 1 }
            };
            for _ in 0..1_000 {
                count(&w.call("index", json!({"path": path})));
            }
            for round in 0..250 {
                let follow = round % 2 == 0;
                let all = json!({"path": ".", "follow_symlinks": follow, "extensions": ["txt"]});
                count(&w.call("index", all));
                count(&w.call("index", json!({"path": directory, "follow_symlinks": follow})));
                // F-046 (3): 200 calls in both races.
                if round % 5 < 2 {
                    let exec = json!({"language": "shell", "code": "cat", "path": path});
                    count(&w.call("exec-file", exec));
                }
            }
        });
        assert!(read > 0 && refused > 0, "{path}: both were met: {read} {refused}");
        assert!(w.ok("search", json!({"queries": [SECRET]})).contains("no match"), "{path}");
    }
}
