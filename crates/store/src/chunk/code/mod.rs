//! Source code by definition, each with the comments and attributes above it.
//!
//! The title names the definitions that a chunk holds and the ones it lies in:
//! `impl Walk > fn next, fn skip`. Lines and indentation are enough for that; no language is parsed.

mod define;
mod language;
mod rules;
mod shape;
mod words;

use std::ops::Range;

pub(super) use language::{CodeLanguage, ROWS};

use super::cut::{Cutter, Rank};
use super::line::{Line, find, lines, word};
use super::{Context, Step, Titled, title};
use rules::{End, Rules};

/// Bytes below which a piece is joined with the next one.
const TINY: usize = 160;
/// A chunk whose first definition comes after this many lines is named after what it lies in first.
const LEAD_LINES: usize = 4;

/// A definition, or the end of some.
#[derive(Debug)]
struct Mark {
    /// Start of the comment above it, which belongs to it.
    at: usize,
    indent: u32,
    /// None: whatever is open from this indentation on ends here.
    label: Option<String>,
    /// Whether lines after it may belong to it.
    opens: bool,
}

/// Cuts at definitions, then at blank lines.
pub(super) fn cut(language: CodeLanguage, text: &str, context: &mut Context) -> Vec<Titled> {
    let mut scan = Scan {
        rules: words::of(language),
        letters: define::Letters::of(words::of(language)),
        cutter: Cutter::new(text, TINY),
        marks: Vec::new(),
        open: context.trail.iter().map(|step| step.level).collect(),
        lead: Vec::new(),
        lead_rank: Rank::Inner,
        in_comment: false,
    };
    let mut after_blank = false;
    for line in lines(text) {
        if line.is_blank() {
            after_blank = true;
            continue;
        }
        scan.line(line, after_blank);
        after_blank = false;
    }
    scan.settle(None);
    titles(text, scan.cutter.finish(), &scan.marks, context)
}

struct Scan<'a> {
    rules: &'static Rules,
    letters: define::Letters,
    cutter: Cutter<'a>,
    marks: Vec<Mark>,
    /// Indentations of the open definitions, rising.
    open: Vec<u32>,
    /// Starts of the comment and attribute lines right before the current line.
    lead: Vec<(usize, Rank)>,
    lead_rank: Rank,
    in_comment: bool,
}

impl<'a> Scan<'a> {
    fn line(&mut self, line: Line<'a>, after_blank: bool) {
        let (indent, rest) = line.indent();
        let plain = match (after_blank, indent) {
            (true, 0) => Rank::Block,
            (true, _) => Rank::Line,
            (false, 0) if !matches!(rest, [b'}' | b')' | b']' | b'{', ..]) => Rank::Line,
            (false, _) => Rank::Inner,
        };
        if self.is_comment(rest) {
            if after_blank {
                // What stands above a gap belongs to nothing below it, unless it is one line.
                self.settle(None);
            }
            if self.lead.is_empty() {
                self.lead_rank = plain;
            }
            self.lead.push((line.start, plain.min(Rank::Line)));
            return;
        }
        if let Some(found) = define::definition(rest, indent, self.rules, &self.letters) {
            let rank = if indent == 0 { Rank::Head } else { Rank::Part };
            let at = if after_blank { None } else { self.lead.first().map(|(at, _)| *at) };
            if at.is_none() {
                self.settle(None);
                self.cutter.border(line.start, rank);
            } else {
                self.settle(Some(rank));
                self.cutter.border(line.start, Rank::Inner);
            }
            self.open.retain(|&open| open < indent);
            if found.opens {
                self.open.push(indent);
            }
            let (at, label) = (at.unwrap_or(line.start), Some(found.label));
            self.marks.push(Mark { at, indent, label, opens: found.opens });
            return;
        }
        self.settle(None);
        self.cutter.border(line.start, plain);
        let ends = match self.rules.end {
            End::Brace => matches!(rest, [b'}', ..]),
            End::Keyword => word(rest) == b"end",
            End::Indent => !matches!(rest, [b')' | b']' | b'}', ..]),
        };
        if ends && self.open.last().is_some_and(|&open| open >= indent) {
            self.open.retain(|&open| open < indent);
            self.marks.push(Mark { at: line.next, indent, label: None, opens: false });
        }
    }

    /// Hands the waiting comment lines to the cutter; the first gets `rank` if a definition follows.
    fn settle(&mut self, rank: Option<Rank>) {
        for (index, (at, own)) in self.lead.drain(..).enumerate() {
            let own =
                if index == 0 { rank.unwrap_or(self.lead_rank) } else { own.min(Rank::Inner) };
            self.cutter.border(at, own);
        }
    }

    /// Whether a line may stand above a definition: comment, attribute, decorator.
    fn is_comment(&mut self, rest: &[u8]) -> bool {
        if self.in_comment {
            self.in_comment = find(rest, b"*/").is_none();
            return true;
        }
        if self.rules.block_comments && rest.starts_with(b"/*") {
            let after = find(rest, b"*/");
            self.in_comment = after.is_none();
            // Code after the comment on the same line is a line of its own.
            return after.is_none_or(|at| rest[at + 2..].trim_ascii().is_empty());
        }
        self.rules.comments.iter().any(|mark| rest.starts_with(mark.as_bytes()))
    }
}

/// Names each range after what it holds and what it lies in.
fn titles(
    text: &str,
    ranges: Vec<Range<usize>>,
    marks: &[Mark],
    context: &mut Context,
) -> Vec<Titled> {
    let trail = &mut context.trail;
    let mut marks = marks.iter().peekable();
    let mut out = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut prefix: Option<String> = None;
        let mut names: Vec<&str> = Vec::new();
        let inherited = crumbs(trail, u32::MAX);
        while let Some(mark) = marks.next_if(|mark| mark.at < range.end) {
            let close = mark.at;
            trail.retain(|step| step.level < mark.indent);
            let Some(label) = &mark.label else { continue };
            if prefix.is_none() {
                let far = is_far(text, range.start..close);
                let enclosing = crumbs(trail, mark.indent);
                // A chunk that begins deep within a definition is first of all part of that one.
                let inside = far && !inherited.is_empty() && inherited != enclosing;
                prefix = Some(if inside { inherited.clone() + " \u{2026}" } else { enclosing });
            }
            names.push(label);
            if mark.opens {
                trail.push(Step { level: mark.indent, label: label.clone() });
            }
        }
        let held = title::join(names, ", ");
        let prefix = prefix.unwrap_or(inherited);
        let separator = if prefix.ends_with('\u{2026}') { " " } else { " > " };
        out.push((range, title::pair(&prefix, separator, &held)));
    }
    out
}

/// Whether more than a few lines lie in a range.
fn is_far(text: &str, range: Range<usize>) -> bool {
    let before = text.get(range).unwrap_or_default();
    lines(before).filter(|line| !line.is_blank()).count() > LEAD_LINES
}

/// The path of the open definitions below an indentation.
fn crumbs(trail: &[Step], below: u32) -> String {
    let open = trail.iter().filter(|step| step.level < below);
    title::join(open.map(|step| step.label.as_str()), " > ")
}
