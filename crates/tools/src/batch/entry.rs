//! One command of a batch: what became of it, and how that is said.

use std::time::Duration;

use quietcontext_exec::{Exit, Run};
use quietcontext_store::{DocumentId, Receipt, StoreError};

use super::Shown;
use crate::answer::Draft;
use crate::budget::{clip, cut_front};
use crate::cause;
use crate::context::Context;
use crate::digest::Gathered;
use crate::document;
use crate::error::ToolError;
use crate::execute::not_stored;
use crate::render::{self, counted, one_line};

/// Last part of a failing command's standard error that is shown, in bytes.
const STDERR_BYTES: usize = 300;

/// Longest verdict of a run on its line, in bytes.
const VERDICT_BYTES: usize = 100;

/// What became of one command.
pub(super) enum Outcome {
    Ran { run: Box<Run>, stored: Result<Receipt, StoreError>, seen: Box<Gathered> },
    NotRun(ToolError),
    NotStarted,
}

/// One command of the batch with its place and name.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

impl Entry {
    pub(super) fn failed(&self) -> bool {
        match &self.outcome {
            Outcome::Ran { run, stored, .. } => run.exit != Exit::Code(0) || stored.is_err(),
            Outcome::NotRun(_) | Outcome::NotStarted => true,
        }
    }

    pub(super) fn document(&self) -> Option<DocumentId> {
        match &self.outcome {
            Outcome::Ran { stored: Ok(receipt), .. } => Some(receipt.document),
            _ => None,
        }
    }

    /// `label: exit 3 · 1,024 bytes, 20 lines · r:7-9 · 2.1 s`, and the run's own verdict where that is
    /// wanted.
    pub(super) fn line(&self, timeout: Duration, verdict: bool) -> String {
        let mut parts = Vec::new();
        match &self.outcome {
            Outcome::NotStarted => parts.push("not started: the deadline had passed".to_owned()),
            Outcome::NotRun(error) => {
                parts.push(format!("not run: {}", one_line(&error.to_string())));
            }
            Outcome::Ran { run, stored, seen } => {
                parts.push(document::outcome(run, timeout));
                match stored {
                    Ok(receipt) => {
                        parts.push(if receipt.bytes == 0 {
                            "no output".to_owned()
                        } else {
                            let lines = counted(receipt.lines, "line");
                            format!("{}, {lines}", counted(receipt.bytes, "byte"))
                        });
                        parts.extend(receipt.range.map(render::range));
                        parts.extend(document::view_words(receipt.view));
                    }
                    Err(error) => parts.push(not_stored(error)),
                }
                parts.extend(document::took(run));
                if run.left_behind > 0 {
                    parts.push(format!("stopped {} left running", run.left_behind));
                }
                if let Some(text) = seen.verdict().filter(|_| verdict) {
                    parts.push(clip(&one_line(text), VERDICT_BYTES));
                }
                if let Some(lost) = &run.io_lost {
                    parts.push(format!("output lost: {}", one_line(lost)));
                }
            }
        }
        format!("{}: {}", self.name, parts.join(" · "))
    }

    /// The last lines of a failing command's standard error, and whether they are its whole output.
    pub(super) fn stderr_tail(&self) -> Option<(String, bool)> {
        let Outcome::Ran { run, .. } = &self.outcome else { return None };
        if run.exit == Exit::Code(0) || run.stderr.is_empty() {
            return None;
        }
        let mut buffer = vec![0; STDERR_BYTES * 2];
        let from = run.stderr.len().saturating_sub(buffer.len() as u64);
        let read = run.stderr.read_at(from, &mut buffer).ok()?;
        buffer.truncate(read);
        let (text, _) = quietcontext_store::clean(&buffer);
        let text = text.trim_end();
        let tail = cut_front(text, STDERR_BYTES);
        // A line that was cut in front is left out where whole lines follow.
        let tail = match tail.split_once('\n') {
            Some((_, rest)) if tail.len() < text.len() => rest,
            _ => tail,
        };
        let whole = run.stdout.is_empty() && from == 0 && tail.len() == text.len();
        (!tail.trim().is_empty()).then(|| (format!("[stderr]\n{tail}"), whole))
    }

    /// What stands below the line of a failing command as far as it fits `room`: the end of its
    /// standard error, and what held it up if that can be told and was not said before.
    pub(super) fn details(
        &self,
        context: &Context,
        draft: &mut Draft,
        shown: &mut Shown,
        room: impl Fn(&Draft) -> usize,
    ) {
        let Outcome::Ran { run, stored, .. } = &self.outcome else { return };
        if let Some((tail, whole)) = self.stderr_tail()
            && tail.len() < room(draft)
            && draft.line(&tail)
            && whole
        {
            shown.documents.extend(stored.as_ref().ok().map(|receipt| receipt.document));
        }
        let advice = document::blocked_network(run.blocked.as_deref()).into_iter();
        for line in advice.chain(cause::of_run(context, run)) {
            if line.len() < room(draft) && shown.advice.insert(line.clone()) {
                draft.line(&line);
            }
        }
    }
}
