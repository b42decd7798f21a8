//! How fast pages become Markdown, beside htmd alone on the same pages in the same run.
//!
//! `convert FILE…` prints megabytes of HTML per second for each page, the best of several rounds;
//! `convert --memory FILE TIMES` converts the page, its text repeated, and prints the memory that it took.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring")]

use std::time::{Duration, Instant};

use quietcontext_fetch::html_to_markdown;

/// How long each converter is tried on each page.
const PATIENCE: Duration = Duration::from_secs(2);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, file, times] = &arguments[..]
        && flag == "--memory"
    {
        return memory(&std::fs::read_to_string(file).unwrap(), times.parse().unwrap());
    }
    let other = htmd::HtmlToMarkdown::builder()
        .skip_tags(vec!["script", "style", "nav", "header", "footer", "svg", "form"])
        .build();
    println!("page, kB of HTML: this converter MB/s (kB out), htmd MB/s (kB out)");
    for file in &arguments {
        let html = std::fs::read_to_string(file).unwrap();
        let (own, own_bytes) = best(|| html_to_markdown(&html, None).text.len());
        let (htmd, htmd_bytes) = best(|| other.convert(&html).unwrap().len());
        let speed = |time: Duration| html.len() as f64 / 1e6 / time.as_secs_f64();
        println!(
            "{file}, {}: {:.1} ({}), {:.1} ({})",
            html.len() / 1000,
            speed(own),
            own_bytes / 1000,
            speed(htmd),
            htmd_bytes / 1000
        );
    }
}

/// The shortest time of one conversion, and how many bytes came.
fn best(mut convert: impl FnMut() -> usize) -> (Duration, usize) {
    let started = Instant::now();
    let (mut shortest, mut bytes) = (Duration::MAX, 0);
    while started.elapsed() < PATIENCE {
        let before = Instant::now();
        bytes = convert();
        shortest = shortest.min(before.elapsed());
    }
    (shortest, bytes)
}

fn memory(page: &str, times: usize) {
    let html = page.repeat(times);
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().to_owned();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() / 1024
    };
    let before = peak();
    let started = Instant::now();
    let markdown = html_to_markdown(&html, None);
    println!(
        "{} MB of HTML, {} MB of Markdown: {:?}, {} MiB more than before ({:?})",
        html.len() / 1_000_000,
        markdown.text.len() / 1_000_000,
        started.elapsed(),
        peak() - before,
        markdown.notes
    );
}
