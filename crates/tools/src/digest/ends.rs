//! The first and the last lines of an output, as many as may be shown; a run of equal lines is kept once.

use std::collections::VecDeque;

use super::{KEPT_BYTES, LINE_BYTES, said};
use crate::budget::{clip, cut};

/// Equal lines in a row from which one of them and their number tell as much.
const RUN: u64 = 3;

/// First and last lines worth keeping.
#[derive(Debug)]
pub(super) struct Ends {
    /// Bytes of each.
    keep: usize,
    head: Vec<Kept>,
    head_bytes: usize,
    tail: VecDeque<Kept>,
    tail_bytes: usize,
}

impl Ends {
    pub(super) fn new(keep: usize) -> Self {
        Ends { keep, head: Vec::new(), head_bytes: 0, tail: VecDeque::new(), tail_bytes: 0 }
    }

    /// The next line.
    pub(super) fn push(&mut self, number: u64, text: &str) {
        let goes_on = |kept: Option<&mut Kept>| kept.is_some_and(|kept| kept.takes(number, text));
        if !goes_on(self.head.last_mut()) && self.head_bytes < self.keep {
            let kept = Kept { number, times: 1, text: cut(text, KEPT_BYTES).to_owned() };
            self.head_bytes += kept.bytes();
            self.head.push(kept);
        }
        if !goes_on(self.tail.back_mut()) {
            self.push_tail(number, text);
        }
    }

    /// Keeps the last lines; the buffer of the line that goes is used for the one that comes, so that
    /// ten million lines cost no allocation each.
    fn push_tail(&mut self, number: u64, text: &str) {
        let mut buffer = String::new();
        while self.tail_bytes > self.keep
            && let Some(oldest) = self.tail.pop_front()
        {
            self.tail_bytes -= oldest.bytes();
            buffer = oldest.text;
        }
        buffer.clear();
        buffer.push_str(cut(text, KEPT_BYTES));
        let kept = Kept { number, times: 1, text: buffer };
        self.tail_bytes += kept.bytes();
        self.tail.push_back(kept);
    }

    /// Each of `lines` lines as it came, if all were kept and none is cut.
    pub(super) fn whole(&self, lines: u64) -> Option<String> {
        let kept: u64 = self.head.iter().map(|kept| kept.times).sum();
        if kept != lines || self.head.iter().any(|kept| kept.text.len() > LINE_BYTES) {
            return None;
        }
        let mut text = String::new();
        for kept in &self.head {
            for _ in 0..kept.times {
                text.push_str(&kept.text);
                text.push('\n');
            }
        }
        Some(text)
    }

    /// First lines that fit `room`; of the first one at least `least` bytes, or none.
    pub(super) fn first(&self, room: usize, least: usize) -> Vec<Shown> {
        take(self.head.iter().flat_map(Kept::shown), room, least)
    }

    /// The same of the last lines, in their order.
    pub(super) fn last(&self, room: usize, least: usize) -> Vec<Shown> {
        let from_behind = self.tail.iter().rev().flat_map(|kept| kept.shown().into_iter().rev());
        let mut taken = take(from_behind, room, least);
        taken.reverse();
        taken
    }
}

/// A line, and how often it came in a row.
#[derive(Debug)]
struct Kept {
    number: u64,
    times: u64,
    text: String,
}

impl Kept {
    /// Counts a line that is the same once more.
    fn takes(&mut self, number: u64, text: &str) -> bool {
        // What is longer may go on differently behind what was kept.
        let same =
            self.number + self.times == number && text.len() < KEPT_BYTES && self.text == text;
        self.times += u64::from(same);
        same
    }

    /// What it takes to be shown, once.
    fn bytes(&self) -> usize {
        self.text.len().min(LINE_BYTES) + 1
    }

    fn shown(&self) -> Vec<Shown> {
        let last = self.number + self.times - 1;
        let blank = self.text.trim().is_empty();
        if !blank && self.times < RUN {
            let line = clip(&self.text, LINE_BYTES);
            let one = |number| Shown { first: number, last: number, line: line.clone() };
            return (self.number..=last).map(one).collect();
        }
        let times = if blank { String::new() } else { said(self.times) };
        let line = clip(&self.text, LINE_BYTES - times.len()) + &times;
        vec![Shown { first: self.number, last, line }]
    }
}

/// A line of a digest, for one line of the output or a run of them.
#[derive(Debug)]
pub(super) struct Shown {
    /// The first line it stands for.
    pub(super) first: u64,
    /// The last one.
    pub(super) last: u64,
    pub(super) line: String,
}

impl Shown {
    /// Whether it says of this line that it came so often.
    pub(super) fn counts(&self, number: u64, times: u64) -> bool {
        (self.first..=self.last).contains(&number) && self.last - self.first + 1 == times
    }
}

fn take(lines: impl Iterator<Item = Shown>, room: usize, least: usize) -> Vec<Shown> {
    let mut left = room;
    let mut taken = Vec::new();
    for mut shown in lines {
        if shown.line.len() + 1 > left {
            if taken.is_empty() && left > least {
                shown.line = clip(&shown.line, left - 1);
                taken.push(shown);
            }
            break;
        }
        left -= shown.line.len() + 1;
        taken.push(shown);
    }
    taken
}
