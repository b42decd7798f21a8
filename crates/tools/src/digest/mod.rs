//! The digest of an output that does not fit: first lines, last lines, and telling lines between.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash as _, Hasher as _};

use quietcontext_store::{ChunkId, Observer};

use crate::budget::{clip, cut_front};
use crate::render::grouped;
use crate::salient::{Class, Salience};

mod ends;

use ends::{Ends, Shown};

/// Longest line of a digest, in bytes.
const LINE_BYTES: usize = 240;
/// Longest line that is kept; what is shown is cut again, with a mark.
const KEPT_BYTES: usize = LINE_BYTES * 2;
/// Telling lines kept of one class from the front and from the back of the output.
const KEPT: usize = 24;
/// Different messages whose repetitions are counted.
const COUNTED: usize = 512;
/// Verdicts that stand before the causes but the first.
const VERDICTS: usize = 4;
/// Least room in which the end of a clipped line is still worth showing, in bytes.
const WORTH_BYTES: usize = 32;
/// Below this much room a verdict leaves some of it to the cause.
const TIGHT_BYTES: usize = 300;

/// A telling line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Telling {
    number: u64,
    class: Class,
    text: String,
    /// What counts as the same message said again.
    key: u64,
}

/// A telling line as it is shown.
#[derive(Debug)]
struct Chosen {
    number: u64,
    line: String,
    /// How many say the same, if others do.
    times: Option<u32>,
}

/// Sees every line of an output once and keeps what a digest may need; memory stays flat.
#[derive(Debug)]
pub(crate) struct Gathered {
    salience: Salience,
    ends: Ends,
    first: Vec<Telling>,
    last: VecDeque<Telling>,
    /// The last line said that its message follows.
    announced: bool,
    /// How often each message came.
    repeats: HashMap<u64, u32>,
    lines: u64,
    /// Bytes of the view with its line ends, as far as they were seen.
    bytes: u64,
    /// The line that comes in pieces, so that only its first piece counts.
    current: u64,
    /// The end of the last line that is too long to be shown: its number, and its last text.
    ending: (u64, String),
}

impl Gathered {
    /// Keeps enough for a digest of `bytes` bytes.
    pub(crate) fn new(bytes: usize, salience: &Salience) -> Self {
        Self {
            salience: salience.clone(),
            ends: Ends::new(bytes),
            first: Vec::new(),
            last: VecDeque::new(),
            announced: false,
            repeats: HashMap::new(),
            lines: 0,
            bytes: 0,
            current: 0,
            ending: (0, String::new()),
        }
    }

    /// Renders at most `room` bytes of lines, each ended by a line end.
    ///
    /// `chunk` gives the chunk of a line, so that each telling line carries its reference.
    pub(crate) fn render(&self, room: usize, chunk: impl Fn(u64) -> Option<ChunkId>) -> String {
        if self.bytes <= room as u64
            && let Some(whole) = self.ends.whole(self.lines)
        {
            return whole;
        }
        // What failed is worth more than how it began, most of all where room is short.
        let share = if room < 600 { room * 9 / 10 } else { room * 13 / 20 };
        let telling = self.choose(share, &chunk);
        let taken: usize = telling.iter().map(|chosen| chosen.line.len() + 1).sum();
        // What the telling lines leave is shared by the ends; verdicts stand last, so the tail has more.
        let rest = room.saturating_sub(taken + 2 * "…\n".len());
        // A clipped end tells less than nothing beside them.
        let least = if telling.is_empty() { 16 } else { WORTH_BYTES };
        let head = self.ends.first(rest * 2 / 5, least);
        let head_taken: usize = head.iter().map(|shown| shown.line.len() + 1).sum();
        let tail = self.ends.last(rest - head_taken, least);
        let mut text = join(&head, &telling, &tail);
        // Of a last line that was cut the end tells more than its middle.
        let spare = room.saturating_sub(text.len() + "…\n".len());
        if self.ending.0 == self.current && spare > WORTH_BYTES {
            text.push('…');
            text.push_str(cut_front(self.ending.1.trim_end(), spare));
            text.push('\n');
        }
        text
    }

    /// The line that says how the run went as a whole, such as a test runner's count; of several the
    /// one that a digest shows first.
    pub(crate) fn verdict(&self) -> Option<&str> {
        let candidates = self.candidates();
        let ranked = ranks(&candidates).into_iter().zip(candidates);
        ranked
            .filter(|(_, telling)| matches!(telling.class, Class::Summary | Class::Passed))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, telling)| plain(&telling.text))
    }

    /// The telling lines that were kept, in their order.
    fn candidates(&self) -> Vec<&Telling> {
        let mut candidates: Vec<&Telling> = self.first.iter().chain(&self.last).collect();
        candidates.sort_by_key(|telling| telling.number);
        candidates.dedup_by_key(|telling| telling.number);
        candidates
    }

    /// The telling lines that fit, best class first, then in their order.
    fn choose(&self, room: usize, chunk: &impl Fn(u64) -> Option<ChunkId>) -> Vec<Chosen> {
        let candidates = self.candidates();
        let ranks = ranks(&candidates);
        let mut candidates: Vec<(u64, &Telling)> = ranks.into_iter().zip(candidates).collect();
        candidates.sort_by_key(|(rank, _)| *rank);
        let mut left = room;
        let mut chosen = Vec::new();
        for (_, telling) in candidates {
            let place = chunk(telling.number).map(|id| format!("[r:{id}] ")).unwrap_or_default();
            let repeats = self.repeats.get(&telling.key).copied().filter(|times| *times > 1);
            let times = repeats.map_or_else(String::new, |times| said(times.into()));
            let text = plain(&telling.text);
            let head = format!("{place}L{}: ", telling.number);
            let verdict = matches!(telling.class, Class::Summary | Class::Passed);
            let most = if room < TIGHT_BYTES && verdict { room * 3 / 5 } else { left }.min(left);
            let most = LINE_BYTES.min(most.saturating_sub(head.len() + times.len() + 1));
            // The first line is shown however little there is; later ones only where it helps.
            if most < text.len().min(if chosen.is_empty() { 1 } else { WORTH_BYTES }) {
                continue;
            }
            let line = format!("{head}{}{times}", clip(text, most));
            if line.len() < left {
                left -= line.len() + 1;
                chosen.push(Chosen { number: telling.number, line, times: repeats });
            }
        }
        chosen.sort_by_key(|chosen| chosen.number);
        chosen
    }
}

impl Observer for Gathered {
    fn line(&mut self, number: u64, text: &str) {
        self.bytes += text.len() as u64 + u64::from(number != self.current);
        self.end_of_long(number, text);
        if number == self.current {
            return;
        }
        self.current = number;
        self.lines += 1;
        self.ends.push(number, text);
        let announced = self.announced && !text.trim().is_empty();
        self.announced &= !announced;
        let class = self.salience.class(text);
        if let Some(class) = if announced { Some(Class::Cause) } else { class } {
            self.announced |= self.salience.announces(text);
            let key = key(text);
            if matches!(class, Class::Cause | Class::Failed | Class::Warning) && self.known(key) {
                return;
            }
            self.tell(Telling { number, class, text: clip(text, KEPT_BYTES), key });
        }
    }
}

impl Gathered {
    /// Counts a message; whether it has been said before.
    fn known(&mut self, key: u64) -> bool {
        if let Some(times) = self.repeats.get_mut(&key) {
            *times = times.saturating_add(1);
            return true;
        }
        if self.repeats.len() < COUNTED {
            self.repeats.insert(key, 1);
        }
        false
    }

    /// Keeps the last bytes of a line that is longer than a digest shows.
    fn end_of_long(&mut self, number: u64, text: &str) {
        let continued = number == self.current && number == self.ending.0;
        if !continued {
            if number != self.current && text.len() <= LINE_BYTES {
                return;
            }
            self.ending.0 = number;
            self.ending.1.clear();
        }
        self.ending.1.push_str(cut_front(text, LINE_BYTES));
        let kept = cut_front(&self.ending.1, LINE_BYTES).len();
        let gone = self.ending.1.len() - kept;
        self.ending.1.drain(..gone);
    }

    fn tell(&mut self, telling: Telling) {
        let same = self.first.iter().filter(|known| known.class == telling.class).count();
        if same < KEPT {
            self.first.push(telling);
            return;
        }
        self.last.push_back(telling);
        if self.last.len() > 2 * KEPT {
            // Late verdicts are kept before late errors.
            let verdict = |known: &Telling| matches!(known.class, Class::Summary | Class::Passed);
            let drop = self.last.iter().position(|known| !verdict(known)).unwrap_or(0);
            self.last.remove(drop);
        }
    }
}

/// Places of the candidates, which are in their order of lines, in the order of preference: of
/// verdicts the last, of causes and failures the first.
fn ranks(candidates: &[&Telling]) -> Vec<u64> {
    const CLASS: u64 = 1 << 32;
    let bad = candidates.iter().any(|telling| telling.class == Class::Summary);
    let last = candidates.iter().rposition(|telling| telling.class == Class::Passed);
    let cause = candidates.iter().position(|telling| telling.class == Class::Cause);
    let mut verdicts = candidates.iter().filter(|telling| telling.class == Class::Summary).count();
    let rank = |(index, telling): (usize, &&Telling)| match telling.class {
        Class::Summary => {
            verdicts -= 1;
            // The last verdict, the first cause, then a few more verdicts.
            let early = if verdicts < VERDICTS { 0 } else { 4 };
            early * CLASS + 2 * verdicts as u64
        }
        Class::Cause if cause == Some(index) => 1,
        Class::Passed if !bad && last == Some(index) => 0,
        Class::Cause => CLASS + index as u64,
        Class::Failed => 2 * CLASS + index as u64,
        Class::Passed => 3 * CLASS + (candidates.len() - index) as u64,
        Class::Warning => 5 * CLASS + index as u64,
    };
    candidates.iter().enumerate().map(rank).collect()
}

/// How often a line came.
fn said(times: u64) -> String {
    format!(" (×{})", grouped(times))
}

/// A line without the ornaments around it.
fn plain(text: &str) -> &str {
    let bare = text.trim_matches(|c: char| c.is_whitespace() || "=─⎯_".contains(c));
    if bare.is_empty() { text.trim() } else { bare }
}

/// What is the same in a message said again: all but the time at its front, and in a JSON line all but
/// its numbers.
fn key(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let text = text.trim();
    if text.starts_with('{') {
        text.bytes().filter(|byte| !byte.is_ascii_digit()).for_each(|byte| byte.hash(&mut hasher));
    } else {
        let time = |c: char| c.is_ascii_digit() || "0123456789:-+.,/TZ[] ".contains(c);
        let body = text.trim_start_matches(time);
        // Nothing but numbers is no time.
        if body.is_empty() { text } else { body }.hash(&mut hasher);
    }
    hasher.finish()
}

/// The three parts in order; a telling line that an end shows already is left out unless it alone says how
/// often it came. Gaps are marked.
fn join(head: &[Shown], telling: &[Chosen], tail: &[Shown]) -> String {
    let head_end = head.last().map_or(0, |shown| shown.last);
    let tail_start = tail.first().map_or(u64::MAX, |shown| shown.first);
    let mut text = String::new();
    let mut at = head_end;
    let push = |text: &mut String, line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    for shown in head {
        push(&mut text, &shown.line);
    }
    let hidden = |number: u64| number > head_end && number < tail_start;
    let counted = |number: u64, times: u32| {
        head.iter().chain(tail).any(|shown| shown.counts(number, times.into()))
    };
    let tells = |chosen: &&Chosen| {
        let more = |times| !counted(chosen.number, times);
        hidden(chosen.number) || chosen.times.is_some_and(more)
    };
    let between: Vec<_> = telling.iter().filter(tells).collect();
    if !between.is_empty() {
        push(&mut text, "…");
        for chosen in between {
            push(&mut text, &chosen.line);
            at = at.max(chosen.number);
        }
    }
    let rest: Vec<_> = tail.iter().filter(|shown| shown.first > head_end).collect();
    if rest.first().is_some_and(|shown| shown.first > at + 1) {
        push(&mut text, "…");
    }
    for shown in rest {
        push(&mut text, &shown.line);
    }
    text
}

#[cfg(test)]
mod outputs;

#[cfg(test)]
mod tests;
