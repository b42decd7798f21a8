//! Cuts a view into titled sections by its kind of content.

use std::ops::Range;

/// The most bytes one section may have.
pub(crate) const MAX_SECTION_BYTES: usize = 2_048;

/// What a text is: picks the way it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentKind {
    /// Output of a program: blocks.
    Log,
    /// Anything else: paragraphs.
    Plain,
}

/// Which of the two a searcher may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Source code and data.
    Code,
    /// Text for people.
    Prose,
}

impl ContentKind {
    /// The kind by file name, else MIME type, else the first bytes.
    pub fn detect(name: Option<&str>, mime: Option<&str>, head: &str) -> ContentKind {
        let _ = (name, mime, head);
        ContentKind::Plain
    }

    /// Code or prose.
    pub fn class(self) -> Kind {
        Kind::Prose
    }

    /// The name it is stored under; [`ContentKind::parse`] reads it back.
    pub fn name(self) -> &'static str {
        match self {
            ContentKind::Log => "log",
            ContentKind::Plain => "plain",
        }
    }

    /// The kind with that stored name.
    pub fn parse(name: &str) -> Option<ContentKind> {
        [ContentKind::Log, ContentKind::Plain].into_iter().find(|kind| kind.name() == name)
    }
}

/// A piece of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// What it is about.
    pub(crate) title: String,
    /// Where it lies in the text it was cut from. Sections tile that text.
    pub(crate) bytes: Range<usize>,
    /// First and last line, from 1, counted in the text it was cut from.
    pub(crate) lines: Range<u64>,
}

/// What a window of a larger document needs to know about the rest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context<'a> {
    /// The first line of the document, when the window does not begin with it.
    pub(crate) header: Option<&'a str>,
}

/// Cuts a whole text. Sections tile it, are at most [`MAX_SECTION_BYTES`] long, and end at
/// character borders; an empty text has none.
pub(crate) fn sections(kind: ContentKind, name: Option<&str>, text: &str) -> Vec<Section> {
    sections_with(kind, name, text, Context::default())
}

/// Cuts one window of a larger text.
pub(crate) fn sections_with(
    _kind: ContentKind,
    _name: Option<&str>,
    text: &str,
    _context: Context<'_>,
) -> Vec<Section> {
    let mut sections = Vec::new();
    let (mut start, mut line) = (0, 1);
    while start < text.len() {
        let mut end = text.floor_char_boundary(start + 1_500);
        if end < text.len()
            && let Some(newline) = memchr::memrchr(b'\n', &text.as_bytes()[start..end])
        {
            end = start + newline + 1;
        }
        let piece = &text.as_bytes()[start..end];
        let newlines = memchr::memchr_iter(b'\n', piece).count() as u64;
        let ends_line = piece.last() == Some(&b'\n');
        let last = line + newlines - u64::from(ends_line);
        sections.push(Section { title: String::new(), bytes: start..end, lines: line..last });
        line += newlines;
        start = end;
    }
    sections
}
