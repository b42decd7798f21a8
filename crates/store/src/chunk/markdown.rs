//! Markdown by heading: the title is the path of headings, fences stay whole.
//!
//! A line scan, not a parser: it must be fast, must accept anything, and needs only headings, fences
//! and blank lines. A fence that is never closed is taken as text, so that a stray one does not hide
//! the headings of the rest of the document.

use super::cut::{Cutter, Rank};
use super::heading::{Heading, breadcrumbs, label};
use super::line::{Line, lines, trim};
use super::{Context, Titled, title};

/// Bytes below which a section is joined with the next one.
const TINY: usize = 120;

/// Cuts at headings, then blank lines and list items.
pub(super) fn cut(text: &str, context: &mut Context) -> Vec<Titled> {
    let mut cutter = Cutter::new(text, TINY);
    let mut headings: Vec<Heading> = Vec::new();
    let mut scan = Scan { text, unclosed: [usize::MAX; 2], previous: None, after_blank: true };
    let mut all = lines(text);
    let mut first = true;
    while let Some(line) = all.next() {
        if std::mem::take(&mut first)
            && let Some((end, found)) = front_matter(text, line)
        {
            // The title of the front matter is the root of the path unless a heading replaces it.
            headings.extend(found.map(|label| Heading { at: 0, level: 0, label }));
            all.skip_to(end);
            scan.after_blank = true;
            continue;
        }
        if let Some(end) = scan.fence_end(line) {
            let rank = if scan.after_blank { Rank::Block } else { Rank::Inner };
            cutter.border(line.start, rank);
            // No border within: the block stays whole as long as it fits.
            all.skip_to(end);
            scan.previous = None;
            scan.after_blank = false;
            if end < text.len() {
                cutter.border(end, Rank::Line);
            }
            continue;
        }
        match scan.heading(line) {
            Some(heading) => {
                cutter.border(heading.at, Rank::Section);
                headings.push(heading);
                scan.previous = None;
                scan.after_blank = false;
            }
            None => scan.text_line(line, &mut cutter),
        }
    }
    breadcrumbs(cutter.finish(), headings, context)
}

/// The state of the line scan.
struct Scan<'a> {
    text: &'a str,
    /// Shortest fence of backticks and of tildes known never to be closed from here on, so that
    /// the rest of the text is searched once and not for each opening mark.
    unclosed: [usize; 2],
    /// The line before, when it may be the text of an underlined heading.
    previous: Option<Line<'a>>,
    after_blank: bool,
}

impl<'a> Scan<'a> {
    /// Where the fenced block that `line` opens ends, if it opens one that is closed somewhere.
    fn fence_end(&mut self, line: Line<'a>) -> Option<usize> {
        let mark = fence_mark(line.text)?;
        let unclosed = &mut self.unclosed[usize::from(mark.sign == b'~')];
        if mark.length >= *unclosed {
            return None;
        }
        // An info string with a backtick is inline code, not a fence.
        if mark.sign == b'`' && mark.rest.contains(&b'`') {
            return None;
        }
        let tail = self.text.get(line.next..)?;
        let close = lines(tail).find(|line| {
            fence_mark(line.text).is_some_and(|end| {
                end.sign == mark.sign && end.length >= mark.length && trim(end.rest).is_empty()
            })
        });
        if close.is_none() {
            *unclosed = mark.length;
        }
        close.map(|close| line.next + close.next)
    }

    /// The heading that `line` is or completes.
    fn heading(&self, line: Line<'a>) -> Option<Heading> {
        let (indent, rest) = line.indent();
        if indent > 3 {
            return None;
        }
        match rest.first()? {
            b'#' => {
                let level = rest.iter().take_while(|&&byte| byte == b'#').count();
                let after = &rest[level..];
                let spaced = after.first().is_none_or(u8::is_ascii_whitespace);
                (level <= 6 && spaced).then(|| Heading {
                    at: line.start,
                    level: level as u32,
                    label: label(after),
                })
            }
            b'<' => match rest {
                [b'<', b'h' | b'H', digit @ b'1'..=b'6', b'>' | b' ', ..] => Some(Heading {
                    at: line.start,
                    level: u32::from(digit - b'0'),
                    label: label(rest),
                }),
                _ => None,
            },
            sign @ (b'=' | b'-') => {
                let above = self.previous?;
                let rest = trim(rest);
                if rest.len() < 2 || !rest.iter().all(|byte| byte == sign) {
                    return None;
                }
                let level = if *sign == b'=' { 1 } else { 2 };
                Some(Heading { at: above.start, level, label: label(above.text) })
            }
            _ => None,
        }
    }

    fn text_line(&mut self, line: Line<'a>, cutter: &mut Cutter<'_>) {
        if line.is_blank() {
            self.after_blank = true;
            self.previous = None;
            return;
        }
        let (indent, rest) = line.indent();
        let item = is_item(rest);
        let rank = match (self.after_blank, indent) {
            (true, 0..=1) => Rank::Block,
            (true, _) => Rank::Line,
            (false, 0..=1) if item => Rank::Line,
            (false, _) => Rank::Inner,
        };
        // The line may turn out to be the text of an underlined heading; its border comes then.
        let candidate =
            self.after_blank && indent <= 3 && !item && !matches!(rest, [b'|' | b'>', ..]);
        self.previous = candidate.then_some(line);
        self.after_blank = false;
        cutter.border(line.start, rank);
    }
}

struct FenceMark<'a> {
    sign: u8,
    length: usize,
    rest: &'a [u8],
}

/// The mark of a fence at the start of a line, also in a list item or a quote.
fn fence_mark(line: &[u8]) -> Option<FenceMark<'_>> {
    let mut rest = line.trim_ascii_start();
    while let [b'>', after @ ..] = rest {
        rest = after.trim_ascii_start();
    }
    let sign = *rest.first()?;
    if sign != b'`' && sign != b'~' {
        return None;
    }
    let length = rest.iter().take_while(|&&byte| byte == sign).count();
    (length >= 3).then(|| FenceMark { sign, length, rest: &rest[length..] })
}

/// Whether a line, without its indentation, starts a list item or a table row.
fn is_item(rest: &[u8]) -> bool {
    match rest {
        [b'-' | b'*' | b'+', b' ' | b'\t', ..] | [b'|', ..] => true,
        [b'0'..=b'9', ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            matches!(rest.get(digits..), Some([b'.' | b')', b' ', ..]))
        }
        _ => false,
    }
}

/// The end of the front matter that `line` opens, and the title in it.
fn front_matter(text: &str, line: Line<'_>) -> Option<(usize, Option<String>)> {
    let mark = line.text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line.text);
    let mark = mark.trim_ascii_end();
    if mark != b"---" && mark != b"+++" {
        return None;
    }
    let mut found = None;
    for (count, inner) in lines(text.get(line.next..)?).enumerate() {
        let trimmed = inner.text.trim_ascii_end();
        if trimmed == mark {
            return Some((line.next + inner.next, found));
        }
        // A rule at the top of a text is not front matter: keys come at once and without gaps.
        if count > 200 || (count == 0 && !trimmed.iter().any(|byte| matches!(byte, b':' | b'='))) {
            return None;
        }
        if let Some(value) = inner.text.strip_prefix(b"title") {
            let value = value.trim_ascii_start();
            if let [b':' | b'=', value @ ..] = value {
                let value = trim(value);
                let value = value.strip_prefix(b"\"").unwrap_or(value);
                let value = value.strip_suffix(b"\"").unwrap_or(value);
                found = Some(title::clean_bytes(value, title::LINE_CHARS));
            }
        }
    }
    None
}
