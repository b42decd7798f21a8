//! Replays the seeds of a fuzz target and mutations of them in an ordinary test, without a fuzzer.
//!
//! It knows nothing of coverage, so it finds less than the fuzzer; but it runs everywhere the tests
//! run, and a mended finding stays mended. `QUIETCONTEXT_FUZZ_SECONDS` makes it go on for that long,
//! differently each time.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Mutations that are tried in every run of the tests.
const MUTATIONS: u32 = 200;

/// Longest mutated input, in bytes.
const LONGEST: usize = 4_096;

/// Pieces that mean something to one parser or another.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\0",
    b"\"",
    b"'",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b"<",
    b">",
    b"</",
    b"&",
    b";",
    b"|",
    b"`",
    b"$(",
    b"<<",
    b"\x1b[",
    b"\x1b]",
    b"\xc2\x9b",
    b"\xff",
    b"\xe2\x82",
    b"#",
    b"0x",
    b"%",
    b"@",
    b":",
    b"/",
    b"..",
    b",",
    b"-",
    b"99999999999",
    b"null",
    b"\xef\xbb\xbf",
];

/// Runs `property` on each seed of `target`, then on mutations of the seeds.
pub(crate) fn replay(target: &str, property: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(!seeds.is_empty(), "{} holds no seed", folder.display());
    for (file, seed) in files.iter().zip(&seeds) {
        attempt(seed, &file.display().to_string(), &property);
    }
    let longer = std::env::var("QUIETCONTEXT_FUZZ_SECONDS").ok();
    let longer = longer.map(|seconds| Duration::from_secs_f64(seconds.parse().unwrap()));
    let begun = Instant::now();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    if longer.is_some() {
        chance.0 ^= SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64 | 1;
    }
    let mut tried = 0;
    while longer.map_or(tried < MUTATIONS, |longer| begun.elapsed() < longer) {
        let mut input = chance.pick(&seeds).clone();
        for _ in 0..=chance.below(4) {
            chance.mutate(&mut input, &seeds);
        }
        input.truncate(LONGEST);
        attempt(&input, "a mutation", &property);
        tried += 1;
    }
}

/// Keeps the input that fails, for it is nowhere else.
fn attempt(input: &[u8], name: &str, property: &impl Fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| property(input))) {
        let kept = std::env::temp_dir().join(format!("finding-{}", std::process::id()));
        std::fs::write(&kept, input).unwrap();
        println!("{name} does not hold; the input is in {}", kept.display());
        resume_unwind(panic);
    }
}

/// Xorshift: enough for this, and no dependency.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn mutate(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let length = self.below(16).min(input.len() - at);
        match self.below(6) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 => drop(input.drain(at..at + length)),
            2 => {
                let part = input[at..at + length].repeat(1 + self.below(8));
                input.splice(at..at, part);
            }
            3 => {
                let other = self.pick(seeds);
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            4 => input.insert(at, self.below(256) as u8),
            _ => {
                let piece = *self.pick(PIECES);
                input.splice(at..at, piece.iter().copied());
            }
        }
    }
}
