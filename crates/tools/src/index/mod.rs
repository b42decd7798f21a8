//! `index`: text, a file or a directory into the store; the answer is counts.

use std::io::{Cursor, Read, Seek as _};
use std::path::Path;

use quietcontext_store::{
    ContentKind, DocumentInfo, FileStamp, Label, NewDocument, Origin, Receipt, Status, StoreError,
};

use crate::answer::Draft;
use crate::args::index::{PathArgs, Request};
use crate::budget::ByteBudget;
use crate::call::Answer;
use crate::context::Context;
use crate::error::ToolError;
use crate::limits;
use crate::open::{Named, Opened};
use crate::pages::{self, Pages};
use crate::render::{self, counted};
use crate::root::{reason, shown};

mod directory;

use directory::directory;

/// Answers `index`.
pub(crate) fn index(context: &Context, request: Request) -> Result<Answer, ToolError> {
    match request {
        Request::Content { content, source } => self::content(context, &content, source.as_deref()),
        Request::Path(args) => match context.open(&args.path)? {
            Named::File(opened) => file(context, &args, opened),
            Named::Directory { relative, base } => directory(context, &args, &base, &relative),
        },
    }
}

fn content(context: &Context, content: &str, source: Option<&str>) -> Result<Answer, ToolError> {
    let label = source.map_or(Label::Numbered { family: "content" }, Label::Fixed);
    let document = NewDocument { name: source, ..NewDocument::new(label, Origin::Content) };
    let receipt =
        context.root.store.add(document, &mut content.as_bytes(), None).map_err(not_indexed)?;
    measure(context, &receipt);
    Ok(receipt_answer(context, &receipt, &[]))
}

/// Notes for the journal what was read and where it is.
fn measure(context: &Context, receipt: &Receipt) {
    context.meter.produced(receipt.bytes);
    context.meter.stored(receipt);
}

fn file(context: &Context, args: &PathArgs, mut opened: Opened) -> Result<Answer, ToolError> {
    let path = shown(&context.root.path, &opened.path);
    let label = args.source.clone().unwrap_or_else(|| path.clone());
    let stamp = opened.stamp;
    let known = context.root.store.by_label(&label).map_err(not_indexed)?;
    if let Some(known) = known.filter(|known| known.stamp == Some(stamp)) {
        return Ok(receipt_answer(context, &unchanged(known), &[]));
    }
    let mut text = Text::of(context, &mut opened)?;
    let document = text.describe(document(&label, &path, stamp));
    let notes = text.notes();
    let receipt = context.root.store.add(document, text.reader(), None).map_err(not_indexed)?;
    measure(context, &receipt);
    Ok(receipt_answer(context, &receipt, &notes))
}

/// The receipt of a file that is as it was when it was indexed.
fn unchanged(known: DocumentInfo) -> Receipt {
    Receipt {
        document: known.id,
        label: known.label,
        range: known.range,
        bytes: known.bytes,
        lines: known.lines,
        chunks: known.range.map_or(0, |range| range.last.0 - range.first.0 + 1),
        view: known.view,
        status: Status::Unchanged,
    }
}

/// `indexed 1,234 bytes, 20 lines, 3 sections as notes.md · r:7-9 · unchanged`.
fn receipt_answer(context: &Context, receipt: &Receipt, notes: &[String]) -> Answer {
    let mut draft = Draft::new(ByteBudget::new(limits::RECEIPT_BYTES));
    push_notice(context, &mut draft);
    let mut parts = vec![format!(
        "indexed {}, {}, {} as {}",
        counted(receipt.bytes, "byte"),
        counted(receipt.lines, "line"),
        counted(receipt.chunks, "section"),
        render::source(&receipt.label)
    )];
    parts.extend(receipt.range.map(render::range));
    match &receipt.status {
        Status::New => {}
        Status::Replaced => parts.push("replaced".to_owned()),
        Status::Unchanged => parts.push("unchanged".to_owned()),
        Status::SameAs(label) => parts.push(format!("same text as {}", render::source(label))),
    }
    parts.extend(crate::document::view_words(receipt.view));
    parts.extend(notes.iter().cloned());
    draft.head(&parts.join(" · "));
    draft.finish()
}

/// What the user must know about the store once: a damaged one was set aside.
fn push_notice(context: &Context, draft: &mut Draft) {
    if let Some(notice) = context.root.store.notice() {
        draft.head(&format!("[{}]", render::one_line(&notice)));
    }
}

fn not_indexed(error: StoreError) -> ToolError {
    tracing::warn!(?error, "not indexed");
    ToolError::Failed(format!("not indexed: {error}"))
}

fn document<'a>(label: &'a str, path: &'a str, stamp: FileStamp) -> NewDocument<'a> {
    NewDocument {
        name: Some(path),
        stamp: Some(stamp),
        path: Some(path),
        ..NewDocument::new(Label::Fixed(label), Origin::File)
    }
}

/// What of a file is indexed: its bytes, the text of a web page as Markdown, or the pages of a PDF.
enum Text<'a> {
    Bytes(&'a mut std::fs::File),
    Markdown(Cursor<Vec<u8>>),
    Pages(Cursor<Vec<u8>>, Vec<String>),
}

/// Largest web page that is converted, in bytes; a larger one is indexed as it is.
const HTML_BYTES: u64 = 16 << 20;

impl<'a> Text<'a> {
    fn of(context: &Context, opened: &'a mut Opened) -> Result<Self, ToolError> {
        let extension = opened.relative.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if pages::is_pdf(&opened.file) {
            let Pages { text, notes } = Pages::read(context, &opened.file)?;
            return Ok(Self::Pages(Cursor::new(text.into_bytes()), notes));
        }
        let html = matches!(extension.to_ascii_lowercase().as_str(), "html" | "htm" | "xhtml");
        if !html || opened.stamp.size > HTML_BYTES {
            return Ok(Self::Bytes(&mut opened.file));
        }
        let mut bytes = Vec::new();
        (&opened.file).take(HTML_BYTES).read_to_end(&mut bytes).map_err(io_failed)?;
        let (source, view) = quietcontext_store::clean(&bytes);
        let page = quietcontext_fetch::html_to_markdown(&source, None);
        if view.binary || page.text.trim().is_empty() {
            opened.file.rewind().map_err(io_failed)?;
            return Ok(Self::Bytes(&mut opened.file));
        }
        Ok(Self::Markdown(Cursor::new(page.text.into_bytes())))
    }

    /// Says of the document what kind of text this is, where the file's name does not.
    fn describe<'d>(&self, document: NewDocument<'d>) -> NewDocument<'d> {
        let kind = match self {
            Self::Bytes(_) => None,
            Self::Markdown(_) => Some(ContentKind::Markdown),
            Self::Pages(..) => Some(ContentKind::Pages),
        };
        NewDocument { kind, ..document }
    }

    /// What the answer should say about it.
    fn notes(&self) -> Vec<String> {
        if let Self::Pages(_, notes) = self { notes.clone() } else { Vec::new() }
    }

    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Self::Bytes(file) => file,
            Self::Markdown(text) | Self::Pages(text, _) => text,
        }
    }
}

/// Indexes one file again under its label; used when a search finds that it has changed.
pub(crate) fn refresh_file(context: &Context, label: &str, path: &Path) -> Result<(), ToolError> {
    let named = context.open(&path.to_string_lossy())?;
    let Named::File(mut opened) = named else {
        return Err(ToolError::argument("path", "is a directory now"));
    };
    let path = shown(&context.root.path, &opened.path);
    let stamp = opened.stamp;
    let mut text = Text::of(context, &mut opened)?;
    let document = text.describe(document(label, &path, stamp));
    context.root.store.add(document, text.reader(), None).map_err(not_indexed)?;
    Ok(())
}

fn io_failed(error: std::io::Error) -> ToolError {
    ToolError::argument("path", format!("could not be read: {}", reason(&error)))
}
