//! `index`: text, a file or a directory into the store; the answer is counts.

use std::collections::HashMap;
use std::io::{Cursor, Read, Seek as _};
use std::path::Path;

use quietcontext_store::{
    ContentKind, DocumentInfo, FileStamp, KnownFile, Label, NewDocument, Origin, Receipt, Status,
    StoreError, Writer,
};

use crate::answer::Draft;
use crate::args::index::{PathArgs, Request};
use crate::budget::ByteBudget;
use crate::call::Answer;
use crate::error::ToolError;
use crate::limits;
use crate::open::{Named, Opened, reopen};
use crate::pages::{self, Pages};
use crate::policy::Rules;
use crate::render::{self, counted, short};
use crate::root::{check_root, reason, shown};
use crate::toolbox::Context;
use crate::walk::{Filters, Found, Reason, Skipped, Walk, odd_rules, unwanted_content};

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

// ---------------------------------------------------------------- directories

/// What indexing a directory did.
#[derive(Debug, Default)]
struct Tally {
    files: u64,
    sections: u64,
    bytes: u64,
    unchanged: u64,
    added: u64,
    replaced: u64,
    removed: u64,
}

fn directory(
    context: &Context,
    args: &PathArgs,
    base: &Path,
    relative: &Path,
) -> Result<Answer, ToolError> {
    check_root(base, context.shared.config.home.as_deref())?;
    let filters = Filters::new(args).map_err(ToolError::Argument)?;
    let start = base.join(relative);
    if args.respect_gitignore
        && let Some(odd) = odd_rules(&start)
    {
        let odd = short(&shown(&context.root.path, odd));
        return Err(ToolError::argument(
            "path",
            format!("has git rules in {odd} that are no regular file; the user must remove that"),
        ));
    }
    let labels = Labels { source: args.source.as_deref(), root: &context.root.path, start: &start };
    let known = known(context, &labels).map_err(not_indexed)?;
    let writer = context.root.store.writer().map_err(not_indexed)?;
    let rules = context.root.policy.rules()?;
    let mut run = Run { context, rules: &rules, base, writer, tally: Tally::default() };
    let mut walk = Walk::new(base, relative, &filters);
    let mut unseen: HashMap<String, KnownFile> =
        known.into_iter().map(|file| (file.label.clone(), file)).collect();
    let mut late = false;
    while let Some(found) = walk.next() {
        if context.cancel.is_cancelled() {
            break;
        }
        if context.late() {
            late = true;
            break;
        }
        let label = labels.of_path(&found.path);
        let before = unseen.remove(&label);
        if let Some(reason) = run.file(&found, &label, before.as_ref()).map_err(not_indexed)? {
            walk.pass_over(reason);
            // What may not be read any more is not kept either.
            if reason == Reason::Denied && run.writer.forget(&label).map_err(not_indexed)? {
                run.tally.removed += 1;
            }
        }
        if run.tally.files.is_multiple_of(100) {
            context.progress(run.tally.files as f64, None, "indexed");
        }
    }
    let skipped = walk.finish();
    let Run { mut writer, mut tally, .. } = run;
    for (label, file) in unseen {
        let path = context.root.path.join(&file.path);
        let deleted = !late
            && filters.would_visit(&start, &path)
            && std::fs::symlink_metadata(&path).is_err();
        if deleted && writer.forget(&label).map_err(not_indexed)? {
            tally.removed += 1;
        }
    }
    writer.finish().map_err(not_indexed)?;
    context.meter.produced(tally.bytes);
    context.check_cancelled()?;
    Ok(directory_answer(context, &tally, &skipped, late))
}

/// The stored files that this call's labels cover, found by their paths.
fn known(context: &Context, labels: &Labels<'_>) -> Result<Vec<KnownFile>, StoreError> {
    let mut prefix = shown(labels.root, labels.start);
    if !prefix.is_empty() && !prefix.ends_with('/') {
        prefix.push('/');
    }
    let files = context.root.store.known_files(&prefix)?;
    Ok(files
        .into_iter()
        .filter(|file| labels.of_path(&labels.root.join(&file.path)) == file.label)
        .collect())
}

/// How the files of a directory are called: their path below the root, or below `source`.
struct Labels<'a> {
    source: Option<&'a str>,
    root: &'a Path,
    start: &'a Path,
}

impl Labels<'_> {
    fn of_path(&self, path: &Path) -> String {
        match self.source {
            None => shown(self.root, path),
            Some(source) => {
                let below = path.strip_prefix(self.start).unwrap_or(path);
                format!("{}/{}", source.trim_end_matches('/'), below.to_string_lossy())
            }
        }
    }
}

/// One run over a directory.
struct Run<'a> {
    context: &'a Context,
    rules: &'a Rules,
    base: &'a Path,
    writer: Writer,
    tally: Tally,
}

impl Run<'_> {
    /// Indexes one file; answers why it was skipped, if it was.
    fn file(
        &mut self,
        found: &Found,
        label: &str,
        before: Option<&KnownFile>,
    ) -> Result<Option<Reason>, StoreError> {
        if self.rules.reading(&found.path, false).is_some() {
            return Ok(Some(Reason::Denied));
        }
        if before.is_some_and(|before| before.stamp == found.stamp) {
            self.tally.files += 1;
            self.tally.unchanged += 1;
            return Ok(None);
        }
        let relative = found.path.strip_prefix(self.base).unwrap_or(&found.path);
        let mut opened = match reopen(self.rules, self.base, relative) {
            Ok(opened) => opened,
            Err(reason) => return Ok(Some(reason)),
        };
        if let Some(reason) = unwanted_content(&mut opened) {
            return Ok(Some(reason));
        }
        let path = shown(&self.context.root.path, &opened.path);
        let stamp = opened.stamp;
        let pdf = pages::is_pdf(&opened.file);
        let mut text = match Text::of(self.context, &mut opened) {
            Ok(text) => text,
            Err(error) => {
                tracing::debug!(%error, "a file was not read");
                return Ok(Some(match error {
                    ToolError::Refused(_) if pdf => Reason::PdfUnconfined,
                    _ if pdf => Reason::Pdf,
                    _ => Reason::Unreadable,
                }));
            }
        };
        let document = text.describe(document(label, &path, stamp));
        let receipt = match self.writer.add(document, text.reader(), None) {
            Ok(receipt) => receipt,
            Err(StoreError::Source(error)) => {
                tracing::debug!(%error, "a file was not read");
                return Ok(Some(Reason::Unreadable));
            }
            Err(error) => return Err(error),
        };
        self.tally.files += 1;
        if receipt.status == Status::Unchanged {
            self.writer.restamp(label, stamp)?;
            self.tally.unchanged += 1;
            return Ok(None);
        }
        self.tally.sections += receipt.chunks;
        self.tally.bytes += receipt.bytes;
        let counter =
            if before.is_some() { &mut self.tally.replaced } else { &mut self.tally.added };
        *counter += 1;
        Ok(None)
    }
}

fn directory_answer(context: &Context, tally: &Tally, skipped: &Skipped, late: bool) -> Answer {
    let mut draft = Draft::new(ByteBudget::new(limits::RECEIPT_BYTES));
    push_notice(context, &mut draft);
    let mut parts = vec![counted(tally.files, "file")];
    if tally.added + tally.replaced > 0 {
        let sections = counted(tally.sections, "section");
        parts.push(format!("{sections}, {} read", counted(tally.bytes, "byte")));
    }
    for (count, word) in [
        (tally.added, "added"),
        (tally.replaced, "replaced"),
        (tally.unchanged, "unchanged"),
        (tally.removed, "removed"),
    ] {
        if count > 0 {
            parts.push(format!("{} {word}", render::grouped(count)));
        }
    }
    draft.head(&parts.join(" · "));
    let reasons: Vec<String> = skipped
        .reasons()
        .map(|(reason, count)| format!("{} {reason}", render::grouped(count)))
        .collect();
    if !reasons.is_empty() {
        draft.line(&format!("skipped: {}", reasons.join(", ")));
    }
    if skipped.left > 0 {
        let left = counted(skipped.left, "file");
        draft.tail(&format!("{left} left: max_files was reached; raise it or index a part"));
    }
    if late {
        draft.tail("not all files were reached before the deadline; call again to go on");
    }
    draft.finish()
}
