//! HTML by heading, XML by element.

use std::ops::Range;

use super::cut::{Cutter, Rank};
use super::heading::{Heading, breadcrumbs, label};
use super::outline::{Label, Outline, Style};
use super::{Context, Titled, identity};

/// Bytes below which a section is joined with the next one.
const TINY: usize = 160;

/// Open elements among which the partner of a closing tag is looked for.
const NEAR: usize = 16;

/// Bytes of the longest attribute value.
const LONGEST_VALUE: usize = 65_536;

/// A tag of the text.
#[derive(Debug)]
struct Tag<'a> {
    /// From `<` to after `>`.
    bytes: Range<usize>,
    name: &'a [u8],
    closing: bool,
    /// `<x/>`.
    empty: bool,
}

/// What is skipped as a whole: how it starts and how it ends.
const SKIPPED: [(&[u8], &[u8]); 4] =
    [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"), (b"<!", b">")];

/// Walks the tags; comments, CDATA, declarations and instructions are skipped.
struct Tags<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Which of [`SKIPPED`] have no end in the rest of the text: not looked for again.
    endless: [bool; SKIPPED.len()],
}

impl<'a> Tags<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, endless: [false; SKIPPED.len()] }
    }

    /// The end of the comment or the like that starts at `open`; after its mark when it has none.
    fn skip(&mut self, open: usize) -> Option<usize> {
        let rest = &self.bytes[open..];
        let kind = SKIPPED.iter().position(|(start, _)| rest.starts_with(start))?;
        let (start, end) = SKIPPED[kind];
        let inside = open + start.len();
        if !self.endless[kind] {
            match memchr::memmem::find(&self.bytes[inside..], end) {
                Some(found) => return Some(inside + found + end.len()),
                None => self.endless[kind] = true,
            }
        }
        Some(inside)
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let open = self.at + memchr::memchr(b'<', self.bytes.get(self.at..)?)?;
            if let Some(after) = self.skip(open) {
                self.at = after;
                continue;
            }
            let rest = &self.bytes[open..];
            let closing = rest.get(1) == Some(&b'/');
            let name = name(rest.get(if closing { 2 } else { 1 }..).unwrap_or_default());
            let end = if name.is_empty() { None } else { tag_end(rest) };
            let Some(end) = end else {
                self.at = open + 1;
                continue;
            };
            self.at = open + end;
            let empty = rest[..end].ends_with(b"/>");
            return Some(Tag { bytes: open..open + end, name, closing, empty });
        }
    }
}

fn name(bytes: &[u8]) -> &[u8] {
    if !bytes
        .first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_' || *byte >= 0x80)
    {
        return &[];
    }
    let end = bytes
        .iter()
        .position(|byte| matches!(byte, b'<' | b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r'));
    &bytes[..end.unwrap_or(bytes.len())]
}

/// The end of a tag, looking past `>` in quoted attributes; another `<` means that it is none.
fn tag_end(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += rest.get(at..)?.iter().position(|byte| matches!(byte, b'>' | b'<' | b'"' | b'\''))?;
        match rest[at] {
            b'>' => return Some(at + 1),
            b'<' => return None,
            quote => {
                let value = &rest[at + 1..rest.len().min(at + LONGEST_VALUE)];
                at += memchr::memchr(quote, value)? + 2;
            }
        }
    }
}

/// Cuts HTML at headings, then at block elements.
pub(super) fn html(text: &str, context: &mut Context) -> Vec<Titled> {
    let bytes = text.as_bytes();
    let mut cutter = Cutter::new(text, TINY);
    let mut headings: Vec<Heading> = Vec::new();
    let mut tags = Tags::new(bytes);
    // Whether a script and a style sheet are closed somewhere ahead.
    let mut raw_ends = [true; 2];
    while let Some(tag) = tags.next() {
        if tag.closing {
            continue;
        }
        let lower = tag.name.to_ascii_lowercase();
        let rank = match lower.as_slice() {
            [b'h', digit @ b'1'..=b'6'] => {
                let label = inner(bytes, tag.bytes.end, &lower);
                headings.push(Heading {
                    at: tag.bytes.start,
                    level: u32::from(digit - b'0'),
                    label,
                });
                Rank::Section
            }
            b"title" => {
                let label = inner(bytes, tag.bytes.end, &lower);
                headings.push(Heading { at: tag.bytes.start, level: 0, label });
                Rank::Line
            }
            b"section" | b"article" | b"table" | b"main" | b"aside" | b"nav" | b"header"
            | b"footer" => Rank::Part,
            b"p" | b"pre" | b"ul" | b"ol" | b"dl" | b"blockquote" | b"figure" | b"form"
            | b"script" | b"style" => Rank::Block,
            b"div" | b"li" | b"tr" | b"dt" | b"option" | b"link" | b"meta" => Rank::Line,
            _ => Rank::Inner,
        };
        cutter.border(tag.bytes.start, rank);
        let raw = [b"</script".as_slice(), b"</style"].into_iter().find(|end| end[2..] == *lower);
        if let Some(end) = raw {
            // What stands inside is no markup; without an end it is taken as if it were.
            let kind = usize::from(end == b"</style");
            let inside = &bytes[tag.bytes.end..];
            let found = if raw_ends[kind] { memchr::memmem::find(inside, end) } else { None };
            raw_ends[kind] = found.is_some();
            tags.at = tag.bytes.end + found.unwrap_or(0);
        }
    }
    breadcrumbs(cutter.finish(), headings, context)
}

/// The text of an element up to its closing tag, without tags.
fn inner(bytes: &[u8], start: usize, name: &[u8]) -> String {
    let window = &bytes[start..bytes.len().min(start + 256)];
    let lower = window.to_ascii_lowercase();
    let mut close = b"</".to_vec();
    close.extend_from_slice(name);
    let end = memchr::memmem::find(&lower, &close).unwrap_or(window.len().min(80));
    label(&window[..end])
}

/// Cuts XML at elements; the title is their path, with the name or id of the element.
pub(super) fn xml(text: &str, _context: &mut Context) -> Vec<Titled> {
    let bytes = text.as_bytes();
    let mut outline = Outline::default();
    let mut open: Vec<&[u8]> = Vec::new();
    for tag in Tags::new(bytes) {
        if tag.closing {
            // A closing tag that fits nothing open is passed over; others close what they must.
            let above = open.iter().rev().take(NEAR).position(|name| *name == tag.name);
            for _ in 0..above.map_or(0, |above| above + 1) {
                open.pop();
                outline.close(tag.bytes.end);
            }
            continue;
        }
        let start = tag.bytes.start + 1;
        outline
            .member(line_start(bytes, tag.bytes.start), Label::Key(start..start + tag.name.len()));
        outline.open();
        open.push(tag.name);
        if tag.empty {
            open.pop();
            outline.close(tag.bytes.end);
        }
    }
    let style = Style { separator: '/', root: &|_| String::new(), note: &identity::of_xml };
    outline.cut(text, &style)
}

/// The start of the line when only white space stands before `at` on it.
fn line_start(bytes: &[u8], at: usize) -> usize {
    let blank = bytes[..at].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let start = at - blank;
    if start == 0 || bytes[start - 1] == b'\n' { start } else { at }
}
