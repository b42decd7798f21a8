//! Several processes on one store, and processes that are killed.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{content, raw, run, store_in, view, wait};
use quietcontext_store::{ChunkId, Label, Last, Location, NewDocument, Origin, Span, Store};

/// The folder this process is to work in, when it is a child of the test of that name.
fn folder() -> Option<PathBuf> {
    std::env::var_os("STORE_FOLDER").map(PathBuf::from)
}

fn child(test: &str, folder: &Path, role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("STORE_FOLDER", folder)
        .env("STORE_ROLE", role)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_add(1);
    let mut text = String::new();
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
        text.push_str(&format!("{:x} line of {seed}\n", state >> 20));
    }
    text.into_bytes()
}

/// Stores this and that for ever, and prints what is committed: label, seed, size.
fn store_for_ever(store: &Store, start: u64) {
    let mut output = std::io::stdout().lock();
    for seed in (start * 1_000_000).. {
        let bytes = if seed % 7 == 0 { 1_200_000 } else { (seed % 50) as usize * 400 };
        let label = if seed % 5 == 0 {
            let new = NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run);
            let mut job = store.begin(new).unwrap();
            for piece in text(seed, bytes).chunks(4_000) {
                job.append(piece).unwrap();
            }
            job.finish("exit 0").unwrap().label
        } else if seed % 11 == 0 {
            let mut writer = store.writer().unwrap();
            let label = format!("file {seed}");
            let new = NewDocument::new(Label::Fixed(&label), Origin::File);
            writer.add(new, &mut &text(seed, bytes)[..], None).unwrap();
            writer.finish().unwrap();
            label
        } else {
            run(store, &text(seed, bytes)).label
        };
        writeln!(output, "stored\t{label}\t{seed}\t{bytes}").unwrap();
        output.flush().unwrap();
    }
}

#[test]
fn whatever_was_told_of_is_there_after_a_kill_at_any_point() {
    if let Some(folder) = folder() {
        let start = std::env::var("STORE_ROLE").unwrap().parse().unwrap();
        return store_for_ever(&store_in(&folder), start);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut told: Vec<(String, u64, usize)> = Vec::new();
    for round in 0..8_u64 {
        let test = "whatever_was_told_of_is_there_after_a_kill_at_any_point";
        let mut child = child(test, folder.path(), &round.to_string());
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let mut read = |lines: &mut BufReader<_>, line: &mut String| {
            line.clear();
            let ended = lines.read_line(line).unwrap() == 0 || !line.ends_with('\n');
            let mut fields = line.trim_end().split('\t');
            if fields.next().is_some_and(|field| field.ends_with("stored")) {
                let label = fields.next().unwrap().to_owned();
                let seed = fields.next().unwrap().parse().unwrap();
                told.push((label, seed, fields.next().unwrap().parse().unwrap()));
            }
            !ended
        };
        for _ in 0..3 + round * 2 {
            assert!(read(&mut lines, &mut line));
        }
        // Into the middle of whatever it does by then.
        for _ in 0..round * 200_000 {
            std::hint::black_box(round);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        while read(&mut lines, &mut line) {}

        let store = store_in(folder.path());
        assert_eq!(store.check().unwrap(), Vec::<String>::new(), "round {round}");
        for (label, seed, bytes) in &told {
            let info = store.by_label(label).unwrap().unwrap_or_else(|| panic!("{label} is lost"));
            assert!(raw(&store, info.id) == text(*seed, *bytes), "{label}");
        }
    }
    // What was begun and not finished is cleared away.
    let store = store_in(folder.path());
    run(&store, b"one more\n");
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    wait("nothing unfinished is left", || {
        let count: i64 = connection
            .query_row("SELECT count(*) FROM documents WHERE state <> 1", (), |row| row.get(0))
            .unwrap();
        count == 0
    });
    for (label, seed, bytes) in told.iter().rev().take(5) {
        let info = store.by_label(label).unwrap().unwrap();
        assert!(view(&store, info.id).as_bytes() == text(*seed, *bytes));
    }
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn two_processes_store_and_find_everything() {
    const EACH: usize = 200;
    if let Some(folder) = folder() {
        let role = std::env::var("STORE_ROLE").unwrap();
        let store = store_in(&folder);
        for n in 0..EACH {
            content(&store, &format!("{role}-{n}"), format!("unique{role}{n} text\n").as_bytes());
        }
        println!("stored");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        let mut found = 0;
        for role in ["a", "b"] {
            for n in 0..EACH {
                let info = store.by_label(&format!("{role}-{n}")).unwrap().unwrap();
                let expected = format!("unique{role}{n} text\n");
                found += usize::from(view(&store, info.id) == expected);
            }
        }
        println!("found {found}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "two_processes_store_and_find_everything";
    let mut children: Vec<Child> = ["a", "b"]
        .map(|role| {
            Command::new(std::env::current_exe().unwrap())
                .args([test, "--exact", "--nocapture"])
                .env("STORE_FOLDER", folder.path())
                .env("STORE_ROLE", role)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .into();
    let mut outputs: Vec<_> = children
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().unwrap()).lines())
        .collect();
    for output in &mut outputs {
        assert!(output.any(|line| line.unwrap().ends_with("stored")));
    }
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
    }
    for (child, output) in children.iter_mut().zip(&mut outputs) {
        let line = output.map(Result::unwrap).find(|line| line.contains("found")).unwrap();
        assert_eq!(line, "found 400");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_job_whose_process_was_killed_is_over_and_readable() {
    let test = "a_job_whose_process_was_killed_is_over_and_readable";
    if let Some(folder) = folder() {
        let store = store_in(&folder);
        let new = NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run);
        let mut job = store.begin(new).unwrap();
        job.append(b"first line\nsecond line\nthird li").unwrap();
        println!("begun\t{}", job.first());
        loop {
            std::thread::park();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = child(test, folder.path(), "");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.contains("begun")).unwrap();
    let first = ChunkId(line.split('\t').nth(1).unwrap().parse().unwrap());
    let store = store_in(folder.path());
    assert!(store.by_label("execute:1").unwrap().unwrap().running);
    child.kill().unwrap();
    child.wait().unwrap();
    let span = Span { first, skip: 0, last: Last::End };
    let Location::Live { document, .. } = store.locate(&span).unwrap() else { panic!() };
    assert!(!document.running && document.outcome.is_some(), "{document:?}");
    assert_eq!(view(&store, document.id), "first line\nsecond line\n");
}

#[test]
fn readers_and_writers_of_one_process_do_not_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let big = text(1, 8 << 20);
    let first = run(&store, b"first\n");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| run(&store, &big));
        let mut reads = 0_u64;
        while !writer.is_finished() {
            assert_eq!(raw(&store, first.document), b"first\n");
            content(&store, "small", format!("{reads}\n").as_bytes());
            reads += 1;
        }
        assert!(reads > 3, "{reads}");
        assert!(raw(&store, writer.join().unwrap().document) == big);
    });
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

/// One process indexes many files and a large output; what another one stores meanwhile waits for a
/// transaction or two of it, never for the whole.
#[test]
fn a_small_document_does_not_wait_for_another_processs_bulk() {
    let test = "a_small_document_does_not_wait_for_another_processs_bulk";
    if let Some(folder) = folder() {
        let store = store_in(&folder);
        println!("begun");
        run(&store, &text(1, 6 << 20));
        let mut writer = store.writer().unwrap();
        for seed in 0..400 {
            let label = format!("file {seed}");
            let new = NewDocument::new(Label::Fixed(&label), Origin::File);
            writer.add(new, &mut &text(seed, 10_000)[..], None).unwrap();
        }
        writer.finish().unwrap();
        while !store.finish_pending(Instant::now() + Duration::from_secs(1)).unwrap() {}
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut other = child(test, folder.path(), "");
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines().map(Result::unwrap);
    let started = Instant::now();
    assert!(lines.any(|line| line.ends_with("begun")));
    let store = store_in(folder.path());
    let mut times = Vec::new();
    while other.try_wait().unwrap().is_none() {
        let start = Instant::now();
        content(&store, &format!("small {}", times.len()), b"a small text\n");
        times.push(start.elapsed());
    }
    assert!(other.wait().unwrap().success());
    let all = started.elapsed();
    times.sort();
    let [median, longest] = [times[times.len() / 2], times[times.len() - 1]];
    assert!(times.len() > 20, "{times:?}");
    // Generous: the machine may be busy. Transactions take 25 to 50 ms.
    assert!(median < Duration::from_millis(100), "{median:?} of {all:?}");
    assert!(longest < Duration::from_secs(1).max(all / 4), "{longest:?} of {all:?}");
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}
