//! Cuts a text into titled chunks that tile it exactly; one chunker for each kind of content.
//!
//! Everything here is pure. [`table::KINDS`] has one row for each kind of content; a chunker walks
//! the text once, names the borders it finds and the titles that go with them, and
//! [`cut::Cutter`] makes the ranges. What core relies on: sections are in order, without gap or
//! overlap, at most [`cut::LIMIT`] bytes long, and begin and end between characters.

mod code;
mod csv;
mod cut;
mod heading;
mod identity;
mod json;
mod line;
mod log;
mod markdown;
mod markup;
mod notebook;
mod outline;
mod pages;
mod plain;
mod rst;
mod sniff;
mod table;
#[cfg(test)]
mod tests;
mod title;

use std::ops::Range;

#[cfg(any(test, fuzzing))]
pub(crate) use cut::LIMIT;
pub use table::{ContentKind, Kind};

/// One piece of a text: what it is about and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    /// One line, at most 160 characters, no control characters.
    pub(crate) title: String,
    /// Bytes of the text.
    pub(crate) bytes: Range<usize>,
    /// First and last line, from 1, both inclusive (`start` is the first, `end` the last); a line
    /// ends with its `\n`.
    pub(crate) lines: Range<u64>,
}

/// What a chunker knows at the end of one window of a text and needs at the start of the next.
///
/// A caller that cuts a long text into windows keeps one `Context` for the document and passes it
/// to each call in order. Bytes and lines of the sections count from the start of their window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Context {
    /// What is open, outermost first: headings, definitions, JSON keys, the header of a failure.
    trail: Vec<Step>,
    /// The header line of a CSV file; set by the caller or by the first window.
    pub(crate) header: Option<String>,
    /// Rows or records in earlier windows; the page that the last one ended on.
    records: u64,
    /// Whether the window before ended inside a quoted string.
    quoted: bool,
    /// Whether the next key or value starts a member.
    fresh: bool,
}

/// One step of a [`Context`]'s trail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Step {
    /// Heading level, indentation, or the kind of a JSON container.
    level: u32,
    /// How the step reads in a title.
    label: String,
}

/// Every kind there is.
#[cfg(any(test, fuzzing))]
pub(crate) fn all_kinds() -> impl Iterator<Item = ContentKind> {
    table::rows().map(|row| row.kind)
}

/// Cuts a whole text. `name` is the title of last resort.
pub(crate) fn sections(kind: ContentKind, name: Option<&str>, text: &str) -> Vec<Section> {
    sections_with(kind, name, text, &mut Context::default())
}

/// Cuts one window of a text and leaves in `context` what the next window needs.
pub(crate) fn sections_with(
    kind: ContentKind,
    name: Option<&str>,
    text: &str,
    context: &mut Context,
) -> Vec<Section> {
    let chunks = match table::chunker(kind) {
        table::Chunker::Code(language) => code::cut(language, text, context),
        table::Chunker::Csv(delimiter) => csv::cut(delimiter, text, context),
        table::Chunker::Json => json::cut(json::Form::Document, text, context),
        table::Chunker::Log => log::cut(text, context),
        table::Chunker::Html => markup::html(text, context),
        table::Chunker::Markdown => markdown::cut(text, context),
        table::Chunker::Ndjson => json::cut(json::Form::Records, text, context),
        table::Chunker::Notebook => notebook::cut(text, context),
        table::Chunker::Pages => pages::cut(text, context),
        table::Chunker::Plain => plain::cut(text),
        table::Chunker::Rst => rst::cut(text, context),
        table::Chunker::Xml => markup::xml(text, context),
    };
    number(name, text, chunks)
}

/// Says in the title of a text's first section what printed it; in place of a title that only repeats the
/// section's first line.
pub(crate) fn lead(command: Option<&str>, sections: &mut [Section], text: &str) {
    let Some((command, section)) = command.zip(sections.first_mut()) else { return };
    let command = title::clean(command, title::LINE_CHARS);
    if command.is_empty() {
        return;
    }
    let repeated = title::first_line(text.get(section.bytes.clone()).unwrap_or_default());
    let rest = if section.title == repeated { "" } else { section.title.as_str() };
    section.title = title::clean(&title::pair(&command, " > ", rest), title::TITLE_CHARS);
}

/// A range and its title, before lines are counted.
type Titled = (Range<usize>, String);

/// Counts lines, and sees to it that every title is there and fits.
fn number(name: Option<&str>, text: &str, chunks: Vec<Titled>) -> Vec<Section> {
    let mut first: u64 = 1;
    let mut sections = Vec::with_capacity(chunks.len());
    for (bytes, found) in chunks {
        let body = &text.as_bytes()[bytes.clone()];
        let feeds = memchr::memchr_iter(b'\n', body).count() as u64;
        let last = first + feeds - u64::from(body.last() == Some(&b'\n'));
        let mut title = title::clean(&found, title::TITLE_CHARS);
        if title.is_empty() {
            title = title::first_line(text.get(bytes.clone()).unwrap_or_default());
        }
        if title.is_empty() {
            title = title::clean(name.unwrap_or_default(), title::TITLE_CHARS);
        }
        sections.push(Section { title, bytes, lines: first..last });
        first += feeds;
    }
    sections
}
