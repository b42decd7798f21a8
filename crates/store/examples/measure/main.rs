//! Measures the store against the bare engine, in one run, so that the ratios mean something on any
//! machine: `cargo run --release -p quietcontext-store --example measure -- FOLDER…`.
//!
//! The folders hold the texts to store (sources, documentation); at most 64 MB are used.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quietcontext_store::{Label, NewDocument, Origin, Retention, Store, StoreOptions};
use rusqlite::Connection;
use rustix::time::{ClockId, clock_gettime};

const CORPUS_BYTES: usize = 64_000_000;
const SEARCH_BYTES: usize = 160_000_000;
const SEARCH_CHUNKS: [u64; 2] = [10_000, 100_000];

mod output;
mod questions;

use questions::Questions;

fn main() {
    let base = tempfile::tempdir_in(".").unwrap();
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    // For profiles: the middle part alone.
    if arguments.first().is_some_and(|first| first == "--many") {
        let folders: Vec<PathBuf> = arguments.drain(1..).map(PathBuf::from).collect();
        let texts = corpus(&folders);
        let bytes = texts.iter().map(|(_, text)| text.len()).sum();
        many(base.path(), &texts, bytes);
        return;
    }
    // The other process of `second`.
    if arguments.first().is_some_and(|first| first == "--into") {
        let folders: Vec<PathBuf> = arguments.drain(2..).map(PathBuf::from).collect();
        many(Path::new(&arguments[1]), &corpus(&folders), 1);
        return;
    }
    // First, while the process is small: memory is measured here.
    output::measure(base.path());
    if arguments.is_empty() {
        return;
    }
    let folders: Vec<PathBuf> = arguments.into_iter().map(PathBuf::from).collect();
    let texts = corpus(&folders);
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    println!("corpus: {} files, {:.1} MB", texts.len(), mega(bytes as u64));
    let bare = bare_engine(base.path(), &texts);
    let ours = many(base.path(), &texts, bytes);
    println!(
        "ratio, store to bare engine: {:.2} by wall, {:.2} by CPU",
        ours.0 / bare.0,
        ours.1 / bare.1
    );
    drop(texts);
    second(base.path(), &folders);
    let texts = corpus_of(&folders, SEARCH_BYTES);
    for chunks in SEARCH_CHUNKS {
        searches(base.path(), &texts, chunks);
    }
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Megabytes per second by wall and by processor time.
fn rates(bytes: usize, work: impl FnOnce()) -> (f64, f64) {
    let (wall, cpu) = (Instant::now(), processor_time());
    work();
    let megabytes = mega(bytes as u64);
    (
        megabytes / wall.elapsed().as_secs_f64(),
        megabytes / processor_time().saturating_sub(cpu).as_secs_f64(),
    )
}

fn corpus(folders: &[PathBuf]) -> Vec<(String, String)> {
    corpus_of(folders, CORPUS_BYTES)
}

fn corpus_of(folders: &[PathBuf], most: usize) -> Vec<(String, String)> {
    let (mut texts, mut bytes) = (Vec::new(), 0);
    let mut folders: Vec<PathBuf> = folders.iter().rev().cloned().collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path)
                && text.len() < 1 << 20
                && bytes < most
            {
                bytes += text.len();
                texts.push((path.to_string_lossy().into_owned(), text));
            }
        }
    }
    texts
}

/// What the engine alone needs: external content, porter, 8 MB in a transaction.
fn bare_engine(base: &Path, texts: &[(String, String)]) -> (f64, f64) {
    let path = base.join("bare.db");
    let mut connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384;
             CREATE TABLE chunk (id INTEGER PRIMARY KEY, title TEXT, content TEXT);
             CREATE VIRTUAL TABLE f USING fts5(title, content, content = 'chunk',
                content_rowid = 'id', tokenize = 'porter unicode61');",
        )
        .unwrap();
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    let rate = rates(bytes, || {
        let mut id = 0_i64;
        let mut files = texts.iter().peekable();
        while files.peek().is_some() {
            let transaction = connection.transaction().unwrap();
            let mut written = 0;
            while let Some((path, text)) = files.next_if(|_| written < 8 << 20) {
                for piece in pieces(text) {
                    id += 1;
                    let mut row = transaction
                        .prepare_cached("INSERT INTO chunk VALUES (?1, ?2, ?3)")
                        .unwrap();
                    row.execute((id, path, piece)).unwrap();
                    let mut row = transaction
                        .prepare_cached("INSERT INTO f (rowid, title, content) VALUES (?1, ?2, ?3)")
                        .unwrap();
                    row.execute((id, path, piece)).unwrap();
                    written += piece.len();
                }
            }
            transaction.commit().unwrap();
        }
    });
    println!(
        "bare engine: {:.1} MB/s wall, {:.1} MB per CPU s, file / text {:.2}",
        rate.0,
        rate.1,
        size(&path) as f64 / bytes as f64
    );
    rate
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.floor_char_boundary(1_200);
        let end = rest.get(..end)?.rfind('\n').map_or(end, |feed| feed + 1).max(1);
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(end));
        rest = after;
        Some(piece)
    })
}

fn size(path: &Path) -> u64 {
    let wal = PathBuf::from(format!("{}-wal", path.display()));
    [path, &wal].iter().filter_map(|path| fs::metadata(path).ok()).map(|data| data.len()).sum()
}

fn open(base: &Path, name: &str) -> Store {
    Store::new(StoreOptions {
        directory: base.join(name),
        root: base.to_owned(),
        retention: Retention::default(),
    })
}

fn add(writer: &mut quietcontext_store::Writer, path: &str, text: &str) -> u64 {
    let mut new = NewDocument::new(Label::Fixed(path), Origin::File);
    new.path = Some(path);
    writer.add(new, &mut text.as_bytes(), None).unwrap().chunks
}

fn many(base: &Path, texts: &[(String, String)], bytes: usize) -> (f64, f64) {
    let store = open(base, "many");
    let mut chunks = 0;
    let (own, all) = (thread_time(), processor_time());
    let rate = rates(bytes, || {
        let mut writer = store.writer().unwrap();
        for (path, text) in texts {
            chunks += add(&mut writer, path, text);
        }
        writer.finish().unwrap();
        while !store.finish_pending(Instant::now() + Duration::from_secs(1)).unwrap() {}
    });
    println!(
        "store, many files: {:.1} MB/s wall, {:.1} MB per CPU s, {chunks} chunks, file / text {:.2}",
        rate.0,
        rate.1,
        size(store.path()) as f64 / bytes as f64
    );
    // Two threads share the work: on two idle cores the busier one sets the rate.
    let own = thread_time().saturating_sub(own);
    let others = processor_time().saturating_sub(all).saturating_sub(own);
    println!(
        "store, many files: {:.1} MB per CPU s of the busier thread",
        mega(bytes as u64) / own.max(others).as_secs_f64()
    );
    rate
}

/// How long small documents of one process wait while another one indexes the corpus.
fn second(base: &Path, folders: &[PathBuf]) {
    let base = base.join("second");
    fs::create_dir(&base).unwrap();
    let mut indexing = Command::new(std::env::current_exe().unwrap());
    indexing.arg("--into").arg(&base).args(folders).stdout(Stdio::null());
    let mut indexing = indexing.spawn().unwrap();
    let store = open(&base, "many");
    let mut times = Vec::new();
    let mut number = 0;
    while indexing.try_wait().unwrap().is_none() {
        number += 1;
        let text = format!("note {number} beside the other process\n");
        let label = format!("note {number}");
        let start = Instant::now();
        let new = NewDocument::new(Label::Fixed(&label), Origin::Content);
        store.add(new, &mut text.as_bytes(), None).unwrap();
        times.push(start.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    times.sort();
    let at = |part: usize| times[(times.len() - 1) * part / 1_000].as_secs_f64() * 1e3;
    println!(
        "{} small documents beside another process that indexes: p50 {:.1} ms, p95 {:.1}, p99.9 {:.1}, max {:.1}",
        times.len(),
        at(500),
        at(950),
        at(999),
        at(1_000)
    );
}

fn searches(base: &Path, texts: &[(String, String)], wanted: u64) {
    let store = open(base, &format!("search-{wanted}"));
    let mut writer = store.writer().unwrap();
    let mut chunks = 0;
    let mut files = texts.iter();
    for (path, text) in files.by_ref() {
        chunks += add(&mut writer, path, text);
        if chunks >= wanted {
            break;
        }
    }
    writer.finish().unwrap();
    while !store.finish_pending(Instant::now() + Duration::from_secs(1)).unwrap() {}
    let known = texts.iter().take(texts.len() - files.len());
    let mut questions = Questions::from_texts(known.map(|(_, text)| text.as_str()), 9_000);
    println!("search over {chunks} chunks: {}", questions.times(&store, 1_000));
    // What is left is indexed meanwhile.
    std::thread::scope(|scope| {
        let indexing = scope.spawn(|| {
            let mut writer = store.writer().unwrap();
            for (path, text) in files.take(2_000) {
                add(&mut writer, path, text);
            }
            writer.finish().unwrap();
        });
        while !indexing.is_finished() {
            println!("  while more is indexed: {}", questions.times(&store, 50));
        }
    });
    while !store.finish_pending(Instant::now() + Duration::from_secs(1)).unwrap() {}
    println!("  quiet again, with what was indexed meanwhile: {}", questions.times(&store, 1_000));
}
