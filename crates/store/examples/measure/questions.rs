//! Questions for searches to be measured with: none is asked twice, as an agent's are not.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use quietcontext_store::{Query, Store};

use crate::thread_time;

/// Questions and the next one to ask.
pub(crate) struct Questions {
    all: Vec<String>,
    next: usize,
}

impl Questions {
    /// `most` from the lines of some texts: single words, identifiers, several words, quotes, slips of the
    /// keys; a fifth has no match.
    pub(crate) fn from_texts<'a>(texts: impl Iterator<Item = &'a str>, most: usize) -> Self {
        let lines: Vec<&str> = texts.flat_map(str::lines).collect();
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        // A prime, so that the lines that are taken lie far apart.
        let places = (0..lines.len()).map(|number| number * 7_919 % lines.len());
        for line in places.map(|at| lines[at]) {
            if all.len() == most {
                break;
            }
            let question = question(line, all.len());
            all.extend(question.filter(|question| seen.insert(question.clone())));
        }
        Questions::of(all)
    }

    /// These.
    pub(crate) fn of(all: Vec<String>) -> Self {
        Questions { all, next: 0 }
    }

    /// Wall and processor time of the next few searches.
    pub(crate) fn times(&mut self, store: &Store, count: usize) -> String {
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..count {
            let text = self.all[self.next].as_str();
            self.next += 1;
            let query = Query::new(text, 3);
            let (start, cpu) = (Instant::now(), thread_time());
            store.search(&query).unwrap();
            times[0].push(start.elapsed());
            times[1].push(thread_time().saturating_sub(cpu));
        }
        let shown = |times: &mut Vec<Duration>| {
            times.sort();
            let at = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1e3;
            format!("p50 {:.2} ms, p95 {:.2} ms", at(50), at(95))
        };
        let [wall, cpu] = &mut times;
        format!("{} by wall; {} by CPU", shown(wall), shown(cpu))
    }
}

/// One question about a line; which sort it is goes by `number`.
fn question(line: &str, number: usize) -> Option<String> {
    let words: Vec<&str> = line
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| (3..30).contains(&word.len()))
        .collect();
    let longest = *words.iter().max_by_key(|word| word.len())?;
    let few = |count: usize| words.iter().take(count).copied().collect::<Vec<_>>().join(" ");
    Some(match number % 10 {
        0 => few(1),
        1 | 2 => longest.to_owned(),
        3 => few(2),
        4 => format!("how does {longest} work with {}", few(3)),
        5 => few(3),
        6 if words.len() > 1 => format!("\"{}\"", few(2)),
        7 if longest.len() > 5 => {
            let (start, end) = (longest.chars().take(3), longest.chars().skip(4));
            start.chain(end).collect()
        }
        8 => longest.chars().rev().chain("zq".chars()).collect(),
        _ => format!("xq{number} {}zq", few(1)),
    })
}
