//! The digest of an output that does not fit: first lines, last lines, and telling lines between.

use std::collections::VecDeque;

use quietcontext_store::{ChunkId, Observer};

use crate::budget::{clip, cut};
use crate::salient::{Class, Salience};

/// Longest line of a digest, in bytes.
const LINE_BYTES: usize = 240;
/// Longest line that is kept; what is shown is cut again, with a mark.
const KEPT_BYTES: usize = LINE_BYTES * 2;
/// Telling lines kept of one class from the front and from the back of the output.
const KEPT: usize = 24;

/// A telling line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Telling {
    number: u64,
    class: Class,
    text: String,
}

/// Sees every line of an output once and keeps what a digest may need; memory stays flat.
#[derive(Debug)]
pub(crate) struct Gathered {
    salience: Salience,
    /// Bytes of first lines, and of last lines, worth keeping.
    keep: usize,
    head: Vec<(u64, String)>,
    head_bytes: usize,
    tail: VecDeque<(u64, String)>,
    tail_bytes: usize,
    first: Vec<Telling>,
    last: VecDeque<Telling>,
    lines: u64,
    /// Bytes of the view with its line ends, as far as they were seen.
    bytes: u64,
    /// The line that comes in pieces, so that only its first piece counts.
    current: u64,
}

impl Gathered {
    /// Keeps enough for a digest of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            salience: Salience::new(),
            keep: bytes,
            head: Vec::new(),
            head_bytes: 0,
            tail: VecDeque::new(),
            tail_bytes: 0,
            first: Vec::new(),
            last: VecDeque::new(),
            lines: 0,
            bytes: 0,
            current: 0,
        }
    }

    /// Renders at most `room` bytes of lines, each ended by a line end.
    ///
    /// `chunk` gives the chunk of a line, so that each telling line carries its reference.
    pub(crate) fn render(&self, room: usize, chunk: impl Fn(u64) -> Option<ChunkId>) -> String {
        if let Some(whole) = self.whole(room) {
            return whole;
        }
        // Where room is short, what failed is worth more than how it began.
        let share = if room < 600 { room * 2 / 3 } else { room * 9 / 20 };
        let telling = self.choose(share, &chunk);
        let taken: usize = telling.iter().map(|(_, line)| line.len() + 1).sum();
        // What the telling lines leave is shared by the ends; verdicts stand last, so the tail has more.
        let rest = room.saturating_sub(taken + 2 * "…\n".len());
        let head = take(self.head.iter(), rest * 2 / 5);
        let head_taken: usize = head.iter().map(|(_, line)| line.len() + 1).sum();
        let mut tail = take(self.tail.iter().rev(), rest - head_taken);
        tail.reverse();
        join(&head, &telling, &tail)
    }

    /// All lines, when they fit.
    fn whole(&self, room: usize) -> Option<String> {
        let all = self.head.len() as u64 == self.lines;
        if !all || self.bytes > room as u64 || self.head.iter().any(|(_, l)| l.len() > LINE_BYTES) {
            return None;
        }
        let mut text = String::new();
        for (_, line) in &self.head {
            text.push_str(line);
            text.push('\n');
        }
        (text.len() <= room).then_some(text)
    }

    /// The telling lines that fit, best class first, then in their order.
    fn choose(&self, room: usize, chunk: &impl Fn(u64) -> Option<ChunkId>) -> Vec<(u64, String)> {
        let mut candidates: Vec<&Telling> = self.first.iter().chain(&self.last).collect();
        candidates.sort_by_key(|telling| telling.number);
        candidates.dedup_by_key(|telling| telling.number);
        // Of summaries the last is the verdict; of errors the first is the cause.
        candidates.sort_by_key(|telling| match telling.class {
            Class::Summary => (Class::Summary, u64::MAX - telling.number),
            class => (class, telling.number),
        });
        let mut left = room;
        let mut chosen = Vec::new();
        for telling in candidates {
            let place = chunk(telling.number).map(|id| format!("[r:{id}] ")).unwrap_or_default();
            let line = format!(
                "{place}L{}: {}",
                telling.number,
                clip(telling.text.trim_end(), LINE_BYTES)
            );
            let line = if chosen.is_empty() { clip(&line, left.saturating_sub(1)) } else { line };
            if line.len() < left {
                left -= line.len() + 1;
                chosen.push((telling.number, line));
            }
        }
        chosen.sort_by_key(|(number, _)| *number);
        chosen
    }
}

impl Observer for Gathered {
    fn line(&mut self, number: u64, text: &str) {
        self.bytes += text.len() as u64 + u64::from(number != self.current);
        if number == self.current {
            return;
        }
        self.current = number;
        self.lines += 1;
        if self.head_bytes < self.keep {
            self.head_bytes += text.len().min(LINE_BYTES) + 1;
            self.head.push((number, clip(text, KEPT_BYTES)));
        }
        self.push_tail(number, text);
        if let Some(class) = self.salience.class(text) {
            self.tell(Telling { number, class, text: clip(text, KEPT_BYTES) });
        }
    }
}

impl Gathered {
    /// Keeps the last lines; the buffer of the line that goes is used for the one that comes, so that
    /// ten million lines cost no allocation each.
    fn push_tail(&mut self, number: u64, text: &str) {
        let mut line = String::new();
        while self.tail_bytes > self.keep
            && let Some((_, oldest)) = self.tail.pop_front()
        {
            self.tail_bytes -= oldest.len().min(LINE_BYTES) + 1;
            line = oldest;
        }
        line.clear();
        line.push_str(cut(text, KEPT_BYTES));
        self.tail_bytes += line.len().min(LINE_BYTES) + 1;
        self.tail.push_back((number, line));
    }

    fn tell(&mut self, telling: Telling) {
        let same = self.first.iter().filter(|known| known.class == telling.class).count();
        if same < KEPT {
            self.first.push(telling);
            return;
        }
        self.last.push_back(telling);
        if self.last.len() > 2 * KEPT {
            // Keep the late summaries before the late errors.
            let drop =
                self.last.iter().position(|known| known.class != Class::Summary).unwrap_or(0);
            self.last.remove(drop);
        }
    }
}

/// Lines from the front of `lines` that fit `room`.
fn take<'a>(lines: impl Iterator<Item = &'a (u64, String)>, room: usize) -> Vec<(u64, String)> {
    let mut left = room;
    let mut taken = Vec::new();
    for (number, line) in lines {
        let line = clip(line, LINE_BYTES);
        if line.len() + 1 > left {
            if taken.is_empty() && left > 16 {
                taken.push((*number, clip(&line, left - 1)));
            }
            break;
        }
        left -= line.len() + 1;
        taken.push((*number, line));
    }
    taken
}

/// The three parts in order; a telling line that an end shows already is left out, gaps are marked.
fn join(head: &[(u64, String)], telling: &[(u64, String)], tail: &[(u64, String)]) -> String {
    let head_end = head.last().map_or(0, |(number, _)| *number);
    let tail_start = tail.first().map_or(u64::MAX, |(number, _)| *number);
    let mut text = String::new();
    let mut at = head_end;
    let push = |text: &mut String, line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    for (_, line) in head {
        push(&mut text, line);
    }
    let between: Vec<_> =
        telling.iter().filter(|(number, _)| *number > head_end && *number < tail_start).collect();
    if !between.is_empty() {
        push(&mut text, "…");
        for (number, line) in between {
            push(&mut text, line);
            at = *number;
        }
    }
    let rest: Vec<_> = tail.iter().filter(|(number, _)| *number > head_end).collect();
    if rest.first().is_some_and(|(number, _)| *number > at + 1) {
        push(&mut text, "…");
    }
    for (_, line) in rest {
        push(&mut text, line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gathered(lines: &[String], room: usize) -> Gathered {
        let mut gathered = Gathered::new(room);
        for (index, line) in lines.iter().enumerate() {
            gathered.line(index as u64 + 1, line);
        }
        gathered
    }

    #[test]
    fn the_ends_and_the_telling_lines_are_shown_in_order() {
        let mut lines: Vec<String> = (1..=5_000).map(|i| format!("line {i}")).collect();
        lines[3_070] = "core/x.go:88: error: boom".to_owned();
        let text = gathered(&lines, 1_500).render(1_500, |line| Some(ChunkId(line / 100)));
        assert!(text.starts_with("line 1\nline 2\n"), "{text}");
        assert!(text.contains("\n…\n[r:30] L3071: core/x.go:88: error: boom\n…\n"), "{text}");
        assert!(text.ends_with("line 4999\nline 5000\n"), "{text}");
        assert!(text.len() <= 1_500);
    }

    #[test]
    fn what_fits_is_shown_whole_without_gaps() {
        let lines: Vec<String> = (1..=5).map(|i| format!("line {i}")).collect();
        let text = gathered(&lines, 500).render(500, |_| None);
        assert_eq!(text, "line 1\nline 2\nline 3\nline 4\nline 5\n");
    }

    proptest! {
        #[test]
        fn a_digest_stays_in_its_room(
            lines in proptest::collection::vec("(error: )?[a-zé ]{0,300}", 0..200), room in 40usize..3000,
        ) {
            let text = gathered(&lines, room).render(room, |line| Some(ChunkId(line)));
            prop_assert!(text.len() <= room, "{} > {room}", text.len());
        }
    }
}
