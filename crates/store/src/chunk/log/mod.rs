//! Logs and the output of tests, compilers and version control, by block.
//!
//! A chunk starts at each header of a failure, a commit or a changed file, else after a blank line,
//! else at a line that is not indented (so that a stack trace stays with its message). Its title is
//! the header it stands under and its most telling line.

mod header;
mod tap;

use std::ops::Range;

use memchr::memmem::Finder;

use super::cut::{Cutter, Rank};
use super::line::{lines, trim};
use super::{Context, Step, Titled, title};
pub(super) use header::is_telling;
use header::{Tells, is_placed, tells};
use tap::{Part, Tap};

/// Bytes below which a block is joined with the next one.
const TINY: usize = 160;

/// Bytes that the header of one error reaches; the header of a test, a commit or a file reaches to
/// the next header.
const REACH: usize = 4_096;

#[derive(Debug)]
struct Mark {
    at: usize,
    tells: Tells,
}

/// Words that make a line telling wherever they stand, best first.
const LEVELS: [&str; 9] =
    ["FATAL", "CRITICAL", "panicked", "ERROR", "Exception", "error:", "FAILED", "failed", "WARN"];

/// Cuts at headers, blank lines and line starts.
pub(super) fn cut(text: &str, context: &mut Context) -> Vec<Titled> {
    let mut cutter = Cutter::new(text, TINY);
    let mut marks: Vec<Mark> = Vec::new();
    let mut after_blank = false;
    let mut tap = Tap::default();
    // Compilers put the place first, so this one is looked for in the whole text at once.
    let finder = Finder::new(b": error");
    let mut placed = finder.find_iter(text.as_bytes()).peekable();
    for line in lines(text) {
        if line.is_blank() {
            after_blank = true;
            continue;
        }
        while placed.next_if(|&at| at < line.start).is_some() {}
        let tells = if placed.peek().is_some_and(|&at| at < line.next) && is_placed(line.text) {
            Some(Tells::Header)
        } else {
            tells(line.text)
        };
        let part = tap.read(&line, &text.as_bytes()[line.next..]);
        let tells = match part {
            // Of one failure, which the point has told of.
            Some(Part::Detail) => tells.map(|_| Tells::Trouble),
            _ => tells,
        };
        let rank = match (part, tells, after_blank, line.is_indented()) {
            (Some(Part::Point | Part::Detail), ..) => Rank::Inner,
            (Some(Part::Name), ..) | (_, Some(Tells::Header), ..) => Rank::Section,
            (_, _, true, _) => Rank::Block,
            (_, _, false, false) => Rank::Line,
            (_, _, false, true) => Rank::Inner,
        };
        cutter.border(line.start, rank);
        marks.extend(tells.map(|tells| Mark { at: line.start, tells }));
        after_blank = false;
    }
    titles(text, cutter.finish(), &marks, context)
}

/// A header as it reads in titles.
#[derive(Debug, Default, Clone)]
struct Head {
    label: String,
    /// Bytes of the text up to which later chunks stand under it.
    reach: usize,
}

fn titles(
    text: &str,
    ranges: Vec<Range<usize>>,
    marks: &[Mark],
    context: &mut Context,
) -> Vec<Titled> {
    let bytes = text.as_bytes();
    let finders = LEVELS.map(|level| Finder::new(level.as_bytes()));
    let mut open = match context.trail.pop() {
        Some(step) => Head { label: step.label, reach: REACH },
        None => Head::default(),
    };
    // The file that the hunks of a diff are about.
    let mut file = String::new();
    let mut marks = marks.iter().peekable();
    let mut out = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut heads: Vec<String> = Vec::new();
        let mut trouble = None;
        while let Some(mark) = marks.next_if(|mark| mark.at < range.end) {
            if mark.tells == Tells::Header {
                open = head(bytes, mark.at, &mut file);
                heads.push(open.label.clone());
            } else {
                trouble = trouble.or(Some(mark.at));
            }
        }
        let fresh = !heads.is_empty();
        if !fresh && range.start < open.reach {
            heads.push(open.label.clone());
        }
        let chunk = &bytes[range.clone()];
        let telling = match trouble {
            Some(at) => line_label(&bytes[at..range.end]),
            None if fresh => String::new(),
            None => by_level(chunk, &finders).unwrap_or_else(|| first_line(chunk)),
        };
        let joined = title::join(heads.iter().map(String::as_str), ", ");
        let rest = if repeats(&joined, &telling) { "" } else { telling.as_str() };
        out.push((range, title::pair(&joined, " > ", rest)));
    }
    if open.reach > text.len() && !open.label.is_empty() {
        context.trail.push(Step { level: 0, label: open.label });
    }
    out
}

/// Whether a title says already what the line says, decoration apart.
fn repeats(title: &str, line: &str) -> bool {
    let plain = line.trim_matches(|sign| matches!(sign, '-' | '_' | '=' | ' '));
    !title.is_empty() && (title.contains(plain) || line.contains(title))
}

/// The header at `at` without its decoration. A commit gets its subject, a hunk its file.
fn head(bytes: &[u8], at: usize, file: &mut String) -> Head {
    let rest = &bytes[at..];
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let line = trim(&rest[..end]);
    let whole =
        |label: String| Head { label: title::clean(&label, title::LINE_CHARS), reach: usize::MAX };
    if let Some(hash) = line.strip_prefix(b"commit ") {
        let body = &rest[end..rest.len().min(end + 600)];
        let subject =
            lines_of(body).find(|line| line.starts_with(b"    ") && !trim(line).is_empty());
        let commit = title::clean_bytes(&hash[..hash.len().min(12)], 12);
        let subject = title::clean_bytes(subject.unwrap_or_default(), title::LINE_CHARS);
        return whole(title::pair(&title::pair("commit", " ", &commit), " ", &subject));
    }
    if line.starts_with(b"diff -") {
        let name = line.rsplit(|&byte| byte == b' ').next().unwrap_or(line);
        let name = name.strip_prefix(b"b/").unwrap_or(name);
        *file = title::pair("diff", " ", &title::clean_bytes(name, title::LINE_CHARS));
        return whole(file.clone());
    }
    if line.starts_with(b"@@ ") {
        let place = memchr::memmem::find(line, b" @@ ").map_or(line, |at| &line[at + 4..]);
        let place = title::clean_bytes(place, 60);
        return whole(title::pair(file, " > ", &place));
    }
    let is_sign = |byte: &u8| matches!(byte, b'_' | b'=' | b'-' | b' ');
    let front = line.iter().take_while(|byte| is_sign(byte)).count();
    if front < 4 {
        return Head { label: title::clean_bytes(line, title::LINE_CHARS), reach: at + REACH };
    }
    let end = line.iter().rposition(|byte| !is_sign(byte)).map_or(front, |last| last + 1);
    let label = title::clean_bytes(&line[front..end.max(front)], title::LINE_CHARS);
    // A heading between `=` opens a part of a report, not one failure.
    let reach = if line.starts_with(b"=") { at + REACH } else { usize::MAX };
    Head { label, reach }
}

fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n')
}

/// The line with the most serious word of [`LEVELS`].
fn by_level(chunk: &[u8], finders: &[Finder<'_>]) -> Option<String> {
    let at = finders.iter().find_map(|finder| finder.find(chunk))?;
    let start = memchr::memrchr(b'\n', &chunk[..at]).map_or(0, |feed| feed + 1);
    // Of a very long line, the part around the word.
    let start = if at - start > title::LINE_CHARS { at - 40 } else { start };
    Some(line_label(&chunk[start..]))
}

fn first_line(chunk: &[u8]) -> String {
    line_label(chunk.trim_ascii_start())
}

fn line_label(rest: &[u8]) -> String {
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    title::clean_bytes(&rest[..end], title::LINE_CHARS)
}
