//! A large output of a program: how long storing takes, how much memory, and what searching costs meanwhile.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use quietcontext_store::{Label, NewDocument, Origin, Query, Store};

use crate::questions::Questions;
use crate::{open, processor_time, size};

const BIG_BYTES: u64 = 100_000_000;

/// Output of a program, made while it is read.
struct Output {
    left: u64,
    line: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Read for Output {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            while self.buffer.len() < 256 * 1_024 {
                let n = self.line;
                let word = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let line = format!(
                    "2026-01-01T00:{:02}:{:02} INFO worker-{:02} request {n} took {} us token={word:x}\n",
                    n / 60 % 60,
                    n % 60,
                    n % 17,
                    word % 9_973
                );
                self.buffer.extend_from_slice(line.as_bytes());
                self.line += 1;
            }
        }
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let count = rest.len().min(output.len()).min(self.left as usize);
        output[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        self.left -= count as u64;
        Ok(count)
    }
}

fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
    };
    field("VmHWM")
}

/// How a large output is stored, searched before it has its rows, and after.
pub(crate) fn measure(base: &Path) {
    let whole = |left| Output { left, line: 0, buffer: Vec::new(), at: 0 };
    let start = Instant::now();
    io::copy(&mut whole(BIG_BYTES), &mut io::sink()).unwrap();
    println!("making {} MB: {:.2} s", BIG_BYTES / 1_000_000, start.elapsed().as_secs_f64());
    let store = open(base, "big");
    let new = NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run);
    store.add(new, &mut whole(1_000_000), None).unwrap();
    // Resets the high-water mark.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = resident();
    let (start, cpu) = (Instant::now(), processor_time());
    let receipt = store.add(new, &mut whole(BIG_BYTES), None).unwrap();
    let stored = start.elapsed();
    println!(
        "100 MB of output: stored in {:.2} s ({:.2} CPU s), {} chunks, memory +{:.1} MiB",
        stored.as_secs_f64(),
        processor_time().saturating_sub(cpu).as_secs_f64(),
        receipt.chunks,
        (resident() - before) as f64 / 1_048_576.0
    );
    let (start, cpu) = (Instant::now(), processor_time());
    while !store.finish_pending(Instant::now() + Duration::from_secs(1)).unwrap() {}
    println!(
        "full-text rows ready after another {:.2} s ({:.2} CPU s), memory +{:.1} MiB, \
         file / text {:.2}",
        start.elapsed().as_secs_f64(),
        processor_time().saturating_sub(cpu).as_secs_f64(),
        (resident() - before) as f64 / 1_048_576.0,
        size(store.path()) as f64 / BIG_BYTES as f64
    );
    let mut questions = questions();
    println!("search over it: {}", questions.times(&store, 250));
    search_pending(&store, &mut questions, before);
}

/// Another output, searched at once: its text is read instead of the index.
fn search_pending(store: &Store, questions: &mut Questions, before: u64) {
    let new = NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run);
    let mut output = Output { left: BIG_BYTES, line: 77, buffer: Vec::new(), at: 0 };
    store.add(new, &mut output, None).unwrap();
    let deadline = Some(Instant::now() + Duration::from_secs(30));
    let query = Query { deadline, ..Query::new("token=cafe00", 3) };
    let (start, cpu) = (Instant::now(), processor_time());
    let found = store.search(&query).unwrap();
    println!(
        "search while 100 MB are pending: {:.2} s ({:.2} CPU s), {} hits, {:?}, memory +{:.1} MiB",
        start.elapsed().as_secs_f64(),
        processor_time().saturating_sub(cpu).as_secs_f64(),
        found.hits.len(),
        found.incomplete,
        (resident() - before) as f64 / 1_048_576.0,
    );
    // Searches start the indexing, and it goes on beside them.
    println!("  more searches while rows are written: {}", questions.times(store, 250));
}

/// What one may want to know of it: rare words, common ones, words that are not there.
fn questions() -> Questions {
    let question = |number: u64| {
        let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        match number % 5 {
            0 => format!("request {}", number * 1_201),
            1 => format!("token={word:x}"),
            2 => format!("worker-{:02} took {} us", number % 17, word % 9_973),
            3 => format!("which worker took {} requests", word % 9_973),
            _ => format!("panic in thread{number} zq{word}"),
        }
    };
    Questions::of((0..500).map(question).collect())
}
