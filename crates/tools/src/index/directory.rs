//! A directory into the store: what has changed, and nothing else.

use std::collections::HashMap;
use std::path::Path;

use quietcontext_store::{KnownFile, Status, StoreError, Writer};

use super::{Text, document, not_indexed, push_notice};
use crate::answer::Draft;
use crate::args::index::PathArgs;
use crate::budget::ByteBudget;
use crate::call::Answer;
use crate::context::Context;
use crate::error::ToolError;
use crate::limits;
use crate::open::reopen;
use crate::pages;
use crate::policy::Rules;
use crate::render::{self, counted, short};
use crate::root::{check_root, shown};
use crate::walk::{Filters, Found, Reason, Skipped, Walk, odd_rules, unwanted_content};

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

pub(super) fn directory(
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
        context.pause();
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
