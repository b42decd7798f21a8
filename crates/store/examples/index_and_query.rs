//! Indexes a folder and scores searches over it, through the crate's public surface:
//! `cargo run --release -p quietcontext-store --example index_and_query -- FOLDER QUERIES [--fails]`.
//!
//! A line of QUERIES is `{"query", "kind", "relevant": [{"must_contain": text or list of texts}]}`;
//! a hit is right when its text contains one of them, blanks collapsed and case folded. Kind
//! `absent` has no answer: right is no hit, or a weak one.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quietcontext_store::{
    Found, Label, NewDocument, Origin, Query, Retention, Store, StoreOptions, Verdict,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

const LIMIT: usize = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, queries, rest @ ..] = arguments.as_slice() else {
        println!("usage: index_and_query FOLDER QUERIES [--fails]");
        return;
    };
    let base = tempfile::tempdir().unwrap();
    let store = Store::new(StoreOptions {
        directory: base.path().to_owned(),
        root: PathBuf::from("/"),
        retention: Retention::default(),
    });
    index(&store, Path::new(folder));
    let mut table = Table::default();
    for line in fs::read_to_string(queries).unwrap().lines() {
        let query: Value = serde_json::from_str(line).unwrap();
        let failure = table.judge(&store, &query);
        if let Some(failure) = failure
            && rest.iter().any(|word| word == "--fails")
        {
            println!("{failure}");
        }
    }
    table.print();
}

fn index(store: &Store, folder: &Path) {
    let mut paths = Vec::new();
    walk(folder, &mut paths);
    paths.sort();
    let (start, mut bytes) = (Instant::now(), 0);
    let mut writer = store.writer().unwrap();
    for path in &paths {
        let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
        let text = fs::read(path).unwrap();
        bytes += text.len();
        let document = NewDocument {
            name: Some(name),
            path: Some(name),
            ..NewDocument::new(Label::Fixed(name), Origin::File)
        };
        writer.add(document, &mut text.as_slice(), None).unwrap();
    }
    writer.finish().unwrap();
    while !store.finish_pending(Instant::now() + Duration::from_mins(1)).unwrap() {}
    let seconds = start.elapsed().as_secs_f64();
    println!("{} files, {:.1} MB in {seconds:.1} s", paths.len(), bytes as f64 / 1e6);
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, paths) } else { paths.push(path) }
    }
}

#[derive(Default)]
struct Row {
    queries: usize,
    first: usize,
    third: usize,
    reciprocal: f64,
    none: usize,
}

#[derive(Default)]
struct Table {
    kinds: BTreeMap<String, Row>,
    quiet: usize,
    absent: usize,
    flagged_right: usize,
    flagged: usize,
    previews: usize,
    bytes: usize,
    times: Vec<f64>,
}

impl Table {
    fn judge(&mut self, store: &Store, query: &Value) -> Option<String> {
        let text = query["query"].as_str().unwrap();
        let kind = query["kind"].as_str().unwrap();
        let (found, milliseconds) = timed(store, text);
        self.times.push(milliseconds);
        if kind == "absent" {
            self.absent += 1;
            self.quiet += usize::from(found.verdict != Verdict::Good);
            return None;
        }
        let wanted: Vec<String> =
            query["relevant"].as_array().unwrap().iter().flat_map(texts).collect();
        let right = |text: &str| {
            let text = plain(text);
            wanted.iter().any(|wanted| text.contains(wanted.as_str()))
        };
        let bodies: Vec<String> = found
            .hits
            .iter()
            .map(|hit| store.chunks(hit.chunk, hit.chunk, 1).unwrap().remove(0).text)
            .collect();
        let rank = bodies.iter().position(|body| right(body)).map(|at| at + 1);
        let row = self.kinds.entry(kind.to_owned()).or_default();
        row.queries += 1;
        row.first += usize::from(rank == Some(1));
        row.third += usize::from(rank.is_some_and(|rank| rank <= 3));
        row.reciprocal += rank.map_or(0.0, |rank| 1.0 / rank as f64);
        row.none += usize::from(found.hits.is_empty());
        self.flagged += usize::from(found.verdict != Verdict::Good);
        // What a reader takes in: the lines of three hits, and texts up to the first right one.
        self.bytes += found.hits.iter().take(3).map(|hit| hit.title.len() + 40).sum::<usize>()
            + bodies.iter().take(rank.unwrap_or(LIMIT)).map(String::len).sum::<usize>();
        if rank == Some(1) {
            self.flagged_right += usize::from(found.verdict != Verdict::Good);
            self.previews += usize::from(right(&found.hits[0].snippet));
            return None;
        }
        let tops: Vec<String> = found
            .hits
            .iter()
            .take(3)
            .map(|hit| format!("{} | {} {:.1}", hit.source, hit.title, hit.score))
            .collect();
        let want = query["relevant"][0]["path"].as_str().unwrap_or_default();
        Some(format!(
            "[{kind}] {text:?} rank {rank:?}, in {want}\n  {tops:#?}\n  {:?}",
            wanted.first()
        ))
    }

    fn print(&mut self) {
        let percent = |part: f64, all: usize| 100.0 * part / all.max(1) as f64;
        let mut sums = [0.0; 3];
        for (kind, row) in &self.kinds {
            let values = [
                percent(row.first as f64, row.queries),
                percent(row.third as f64, row.queries),
                percent(row.reciprocal, row.queries),
            ];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value / self.kinds.len() as f64;
            }
            let [first, third, mean] = values;
            println!(
                "{kind:14} {:4} queries: first {first:5.1} third {third:5.1} MRR {mean:5.1} none {}",
                row.queries, row.none
            );
        }
        let [first, third, mean] = sums;
        println!("MACRO: first {first:.1} third {third:.1} MRR {mean:.1}");
        let all: usize = self.kinds.values().map(|row| row.queries).sum();
        let right: usize = self.kinds.values().map(|row| row.first).sum();
        let useful: usize = self.kinds.values().map(|row| row.third).sum();
        println!(
            "absent: silent or flagged {:.1}; flagged of all {:.1}, of which right {:.1}",
            percent(self.quiet as f64, self.absent),
            percent(self.flagged as f64, all),
            percent(self.flagged_right as f64, all)
        );
        println!(
            "preview of right first hits {:.1}; bytes a hit {}",
            percent(self.previews as f64, right),
            self.bytes / useful.max(1)
        );
        self.times.sort_by(f64::total_cmp);
        let at = |share: f64| self.times[(self.times.len() as f64 * share) as usize];
        println!("milliseconds of CPU a search: p50 {:.2} p95 {:.2}", at(0.5), at(0.95));
    }
}

/// The answer, and the least processor time of three runs.
fn timed(store: &Store, text: &str) -> (Found, f64) {
    let query = Query::new(text, LIMIT);
    let once = || {
        let start = clock_gettime(ClockId::ThreadCPUTime);
        let found = store.search(&query).unwrap();
        let end = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = (end.tv_sec - start.tv_sec) as f64;
        (found, seconds * 1e3 + (end.tv_nsec - start.tv_nsec) as f64 / 1e6)
    };
    let (found, first) = once();
    (found, first.min(once().1).min(once().1))
}

fn texts(relevant: &Value) -> Vec<String> {
    match &relevant["must_contain"] {
        Value::Array(texts) => texts.iter().map(|text| plain(text.as_str().unwrap())).collect(),
        text => vec![plain(text.as_str().unwrap())],
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
