//! Writes Markdown: collapses blanks, separates blocks, carries list and quote prefixes.

use super::characters::{is_invisible, longest_run, looks_like_markup, words};

/// How far the next text is from the last one. Ordered: the greater one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Break {
    #[default]
    None,
    Line,
    Paragraph,
}

/// Deeper lists and quotes are not indented further: lines must not grow with the depth.
const MAX_PREFIXES: usize = 12;

/// Markup around running text that is only written when there is text in it.
#[derive(Debug)]
pub(super) struct Mark {
    /// Where its text begins, once there is some.
    start: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    prefixes: Vec<&'static str>,
    hidden_prefixes: usize,
    marks: Vec<Mark>,
    wanted: Break,
    /// The fewest prefixes since the break was asked for: those of the empty line.
    common: usize,
    space: bool,
    /// Length of `out` right after a marker or prefix, where breaks are absorbed.
    fresh: Option<usize>,
    /// In headings and table cells a break is a blank.
    flat: u32,
}

impl Writer {
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    pub(super) fn finish(mut self) -> String {
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        self.out
    }

    /// A writer for a table cell.
    pub(super) fn flat() -> Self {
        Self { flat: 1, ..Self::default() }
    }

    pub(super) fn is_flat(&self) -> bool {
        self.flat > 0
    }

    /// Begins a stretch where breaks are blanks.
    pub(super) fn flatten(&mut self) {
        self.flat += 1;
    }

    pub(super) fn unflatten(&mut self) {
        self.flat = self.flat.saturating_sub(1);
    }

    /// What follows stands apart from what was before.
    pub(super) fn separate(&mut self, wanted: Break) {
        if wanted == Break::None {
            return;
        }
        if self.flat > 0 {
            self.space = true;
        } else if self.fresh != Some(self.out.len()) {
            if self.wanted == Break::None {
                self.common = self.prefixes.len();
            }
            self.wanted = self.wanted.max(wanted);
            self.space = false;
        }
    }

    /// Takes back the empty line that the end of a paragraph asked for: lists stay close.
    fn tighten(&mut self) {
        if self.wanted == Break::Paragraph && !self.out.ends_with("```") {
            self.wanted = Break::Line;
        }
    }

    /// A line break asked for by the author; two of them separate paragraphs.
    pub(super) fn line_break(&mut self) {
        let wanted = if self.wanted == Break::None { Break::Line } else { Break::Paragraph };
        self.separate(wanted);
    }

    /// A blank, if text follows.
    pub(super) fn blank(&mut self) {
        self.space = true;
    }

    /// Writes the pending break or blank. True when a new line has begun.
    fn flush(&mut self) -> bool {
        let at_start = self.out.is_empty() || self.fresh == Some(self.out.len());
        if self.wanted > Break::None && !self.out.is_empty() {
            if self.wanted == Break::Paragraph {
                self.out.push('\n');
                let common = self.common.min(self.prefixes.len());
                let line: String = self.prefixes.iter().take(common).copied().collect();
                self.out.push_str(line.trim_end());
            }
            self.out.push('\n');
            for prefix in &self.prefixes {
                self.out.push_str(prefix);
            }
        } else if self.out.is_empty() && self.flat == 0 {
            for prefix in &self.prefixes {
                self.out.push_str(prefix);
            }
        } else if self.space && !at_start {
            self.out.push(' ');
        }
        let new_line = at_start || self.wanted > Break::None;
        (self.wanted, self.space) = (Break::None, false);
        new_line
    }

    /// Running text: blanks collapsed, invisible characters left out, and a start of line that
    /// would read as a heading or a fence escaped. Nothing else is escaped: the text is searched.
    pub(super) fn text(&mut self, text: &str) {
        for (at, word) in words(text) {
            if at > 0 {
                self.space = true;
            }
            if word.chars().all(is_invisible) {
                continue;
            }
            let new_line = self.flush();
            self.start_marks();
            if new_line && self.flat == 0 && looks_like_markup(word, text) {
                self.out.push('\\');
            }
            self.out.extend(word.chars().filter(|c| !is_invisible(*c)));
        }
    }

    /// Markup or text as it is, with the pending break before it.
    pub(super) fn raw(&mut self, text: &str) {
        self.flush();
        self.start_marks();
        self.out.push_str(text);
    }

    fn start_marks(&mut self) {
        let at = self.out.len();
        for mark in self.marks.iter_mut().rev() {
            if mark.start.is_some() {
                break;
            }
            mark.start = Some(at);
        }
    }

    /// Opens a mark; [`Writer::close`] closes the latest.
    pub(super) fn open(&mut self) {
        self.marks.push(Mark { start: None });
    }

    /// Closes the latest mark and gives its text: empty when there was none.
    pub(super) fn close(&mut self) -> Option<Marked<'_>> {
        let start = self.marks.pop()?.start?;
        Some(Marked { start, out: &mut self.out })
    }

    /// Begins a list item: its marker now, its indentation on every later line.
    pub(super) fn item(&mut self, marker: &str, indent: &'static str) {
        self.separate(Break::Line);
        if self.flat > 0 {
            return;
        }
        self.flush();
        self.out.push_str(marker);
        self.fresh = Some(self.out.len());
        self.indent(indent);
    }

    /// Ends a list item; one without text leaves no line.
    pub(super) fn end_item(&mut self, marker: &str) {
        if self.flat > 0 {
            return;
        }
        self.outdent();
        if self.fresh == Some(self.out.len()) {
            let kept = self.out.len() - marker.len();
            self.out.truncate(kept);
            let kept = self.out.trim_end_matches([' ', '>']).trim_end_matches('\n').len();
            self.out.truncate(kept);
        }
        self.fresh = None;
        self.tighten();
        self.separate(Break::Line);
    }

    pub(super) fn indent(&mut self, prefix: &'static str) {
        if self.prefixes.len() < MAX_PREFIXES {
            self.prefixes.push(prefix);
        } else {
            self.hidden_prefixes += 1;
        }
    }

    pub(super) fn outdent(&mut self) {
        if self.hidden_prefixes > 0 {
            self.hidden_prefixes -= 1;
        } else {
            self.prefixes.pop();
            self.common = self.common.min(self.prefixes.len());
        }
    }

    /// A fenced block at the left margin whatever surrounds it, so that the code stays exact.
    pub(super) fn fence(&mut self, code: &str, language: &str) {
        let prefixes = std::mem::take(&mut self.prefixes);
        // Right after a list marker no empty line is needed.
        let fresh = self.fresh.take_if(|fresh| *fresh == self.out.len()).is_some();
        self.separate(if fresh { Break::Line } else { Break::Paragraph });
        self.flush();
        self.start_marks();
        let ticks = "`".repeat(longest_run(code, '`').max(2) + 1);
        for part in [ticks.as_str(), language, "\n", code] {
            self.out.push_str(part);
        }
        if !code.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.push_str(&ticks);
        self.prefixes = prefixes;
        self.separate(Break::Paragraph);
    }
}

/// The text a closed mark stands around.
pub(super) struct Marked<'a> {
    start: usize,
    out: &'a mut String,
}

impl Marked<'_> {
    pub(super) fn text(&self) -> &str {
        self.out.get(self.start..).unwrap_or_default()
    }

    /// The character before the text, if any.
    pub(super) fn before(&self) -> Option<char> {
        self.out.get(..self.start).and_then(|text| text.chars().next_back())
    }

    /// Puts markup around the text.
    pub(super) fn wrap(self, before: &str, after: &str) {
        self.out.insert_str(self.start, before);
        self.out.push_str(after);
    }

    /// Replaces the text.
    pub(super) fn replace(self, text: &str) {
        self.out.truncate(self.start);
        self.out.push_str(text);
    }

    /// Adds to the text.
    pub(super) fn append(self, text: &str) {
        self.out.push_str(text);
    }
}
