//! Nested data (JSON, XML) as a flat list of members that each fit a chunk, and their paths.
//!
//! A scanner reports members as they open and close. A member that turns out to fit a chunk loses
//! its inner members at once, so that the list stays short; a bigger one keeps them and is cut there.

use std::ops::Range;

use super::cut::{Cutter, LIMIT, Rank, TARGET};
use super::title;

/// Bytes below which members are joined across the border of a container.
const TINY: usize = 160;
/// A member of a list from this size on gets a chunk of its own.
const OWN: usize = TARGET * 3 / 10;
/// Deeper nesting than this is not told apart.
const MAX_DEPTH: usize = 64;
/// Steps of a path that a title shows.
const MAX_STEPS: usize = 24;

/// No parent.
const ROOT: usize = usize::MAX;

/// How a member is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Label {
    /// Its key, as bytes of the text.
    Key(Range<usize>),
    /// Its place in a list, from 0.
    Index(u64),
    /// From the window before.
    Known(String),
}

/// A member: the place where a chunk may start, and its name.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) at: usize,
    pub(super) label: Label,
    parent: usize,
    /// Members around it.
    depth: u8,
    /// Whether it holds other members.
    container: bool,
    /// Whether it was too big for one chunk, so that its inner members are listed after it.
    expanded: bool,
}

/// The members found so far.
#[derive(Debug, Default)]
pub(super) struct Outline {
    members: Vec<Member>,
    /// Open containers, by index in `members`.
    open: Vec<usize>,
    /// Members at this depth, if there is one, get a chunk of their own however small all is.
    apart: Option<u8>,
    /// Containers beyond [`MAX_DEPTH`].
    too_deep: usize,
}

impl Outline {
    /// An outline that keeps the members at `depth` apart.
    pub(super) fn apart(depth: u8) -> Self {
        Self { apart: Some(depth), ..Self::default() }
    }

    /// A member starts at `at`.
    pub(super) fn member(&mut self, at: usize, label: Label) {
        if self.too_deep == 0 {
            let parent = self.open.last().copied().unwrap_or(ROOT);
            let depth = self.open.len() as u8;
            let member = Member { at, label, parent, depth, container: false, expanded: false };
            self.members.push(member);
        }
    }

    /// The member reported last holds others, which follow until [`Outline::close`].
    pub(super) fn open(&mut self) {
        if self.too_deep > 0 || self.open.len() >= MAX_DEPTH {
            self.too_deep += 1;
        } else if let Some(last) = self.members.last_mut() {
            last.container = true;
            self.open.push(self.members.len() - 1);
        }
    }

    /// The innermost open member ends before `end`.
    pub(super) fn close(&mut self, end: usize) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
        } else if let Some(index) = self.open.pop() {
            let size = end - self.members[index].at;
            // Whole up to the limit, with room for the comma and brackets that follow it.
            let member = &self.members[index];
            let first = index == 0 || member.parent == 0;
            let around = first && self.apart.is_some_and(|depth| member.depth < depth);
            let begun_before = matches!(member.label, Label::Known(_));
            if size <= LIMIT - 64 && !around && !begun_before {
                self.members.truncate(index + 1);
            } else {
                self.members[index].expanded = true;
            }
        }
    }

    /// The open containers' labels, outermost first.
    pub(super) fn trail(&self) -> impl Iterator<Item = &Label> {
        self.open.iter().map(|&index| &self.members[index].label)
    }

    /// Cuts the text between members and gives each range the paths of what it holds.
    pub(super) fn cut(mut self, text: &str, style: &Style<'_>) -> Vec<super::Titled> {
        for index in std::mem::take(&mut self.open) {
            self.members[index].expanded = true;
        }
        let mut cutter = Cutter::new(text, TINY);
        for (index, member) in self.members.iter().enumerate() {
            if let Some(rank) = self.rank(index, member, text.len()) {
                cutter.border(member.at, rank);
            }
        }
        let mut next = 0;
        let titled = |range: Range<usize>| {
            let from = next;
            while self.members.get(next).is_some_and(|member| member.at < range.end) {
                next += 1;
            }
            let title = self.title(text, &range, from..next, style);
            (range, title)
        };
        cutter.finish().into_iter().map(titled).collect()
    }

    /// How good the start of a member is for a chunk; none for the first one in its container,
    /// which stays with the name of the container.
    fn rank(&self, index: usize, member: &Member, end: usize) -> Option<Rank> {
        let before = &self.members[index.checked_sub(1)?];
        if before.expanded && member.parent == index - 1 {
            return None;
        }
        let size = |index: usize| {
            self.members.get(index + 1).map_or(end, |next| next.at) - self.members[index].at
        };
        let big = |index: usize| self.members[index].container && size(index) >= OWN;
        let apart = self.apart == Some(member.depth) && member.container;
        let own = apart
            || member.parent != before.parent
            || member.expanded
            || big(index)
            || big(index - 1);
        Some(if own { Rank::Section } else { Rank::Block })
    }

    fn title(
        &self,
        text: &str,
        range: &Range<usize>,
        members: Range<usize>,
        style: &Style<'_>,
    ) -> String {
        // A chunk that starts within a long value belongs to the member before it.
        let inside = self.members.get(members.start).is_none_or(|member| member.at > range.start);
        let before = if inside { members.start.checked_sub(1) } else { None };
        let leaf = |&index: &usize| !self.members[index].expanded || members.len() <= 1;
        let shown: Vec<usize> = before.into_iter().chain(members.clone()).filter(leaf).collect();
        let mut title = String::new();
        let mut parent = None;
        for &index in &shown {
            let member = &self.members[index];
            let whole = self.members.get(index + 1).map_or(range.end, |next| next.at);
            let note = (style.note)(text, member.at..whole);
            if parent == Some(member.parent) {
                // Bare numbers of a list say nothing.
                if note.is_empty() && matches!(member.label, Label::Index(_)) {
                    continue;
                }
                title.push_str(", ");
                title.push_str(&step(text, member, style));
            } else {
                title = title::pair(&title, "; ", &self.path(text, index, style));
                parent = Some(member.parent);
            }
            if !note.is_empty() {
                title.push(' ');
                title.push_str(&note);
            }
            if title.len() >= title::TITLE_CHARS {
                break;
            }
        }
        title
    }

    /// All steps from the root to a member; a step in a list shows what identifies it.
    fn path(&self, text: &str, index: usize, style: &Style<'_>) -> String {
        let mut steps = Vec::new();
        let mut next = index;
        while let Some(member) = self.members.get(next).filter(|_| steps.len() < MAX_STEPS) {
            let note = match member.label {
                Label::Index(_) if next != index => (style.note)(text, member.at..text.len()),
                _ => String::new(),
            };
            steps.push((step(text, member, style), note));
            next = member.parent;
        }
        let mut path = String::new();
        let mut noted = false;
        for (step, note) in steps.iter().rev().filter(|(step, _)| !step.is_empty()) {
            if noted {
                path.push_str(" > ");
            } else if !path.is_empty() && !step.starts_with('[') {
                path.push(style.separator);
            }
            path.push_str(&title::pair(step, " ", note));
            noted = !note.is_empty();
        }
        path
    }
}

/// One step of a path; lists show the number in brackets.
fn step(text: &str, member: &Member, style: &Style<'_>) -> String {
    match &member.label {
        Label::Key(key) => {
            title::clean(text.get(key.clone()).unwrap_or_default(), title::LINE_CHARS)
        }
        Label::Index(index) if member.parent == ROOT => (style.root)(*index),
        Label::Index(index) => format!("[{index}]"),
        Label::Known(label) => label.clone(),
    }
}

/// How the paths of one format read.
pub(super) struct Style<'a> {
    /// Between two keys.
    pub(super) separator: char,
    /// The name of the n-th top-level value, from 0.
    pub(super) root: &'a dyn Fn(u64) -> String,
    /// What identifies a member besides its path, such as its name; may be empty.
    pub(super) note: &'a dyn Fn(&str, Range<usize>) -> String,
}
