//! `batch`: several commands, each output a document of its own, and passages for the queries.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quietcontext_exec::{Input, Program, Run, RunRequest, Streams};
use quietcontext_store::{DocumentId, Label, Query, Scope, StoreError};

use crate::answer::Draft;
use crate::args::batch::{Command, QueryScope, Request};
use crate::budget::clip;
use crate::call::Answer;
use crate::context::Context;
use crate::digest::Gathered;
use crate::document;
use crate::error::ToolError;
use crate::execute::{self, draft};
use crate::freshness;
use crate::helpers;
use crate::record;
use crate::render::{self, counted, one_line};
use crate::root::{check_root, working_directory};
use crate::schedule::Work;
use crate::search::{Checked, fresh, hit_lines, query_line, stored_list, verdict_line};
use crate::side_by_side::{Step, in_two_steps};

mod entry;

use entry::{Entry, Outcome};

/// Longest label of a command in an answer, in bytes.
const LABEL_BYTES: usize = 60;
/// Most commands whose lines end with what the run said of itself.
const VERDICTS: usize = 20;
/// Results a query of a batch shows.
const PASSAGES: usize = 3;

/// Answers `batch`.
pub(crate) fn batch(context: &Context, request: Request) -> Result<Answer, ToolError> {
    check_root(&context.root.path, context.shared.config.home.as_deref())?;
    let cwd = working_directory(&context.root.path, request.cwd.as_deref())?;
    // Rules that cannot be used are one refusal, not one for each command.
    context.root.policy.rules()?;
    let number = context.root.store.next_number("batch");
    let names = names(&request.commands);
    let total = request.commands.len();
    let done = AtomicUsize::new(0);
    let second = |index: usize, run| {
        let name = names.get(index).map_or("", String::as_str);
        let command = request.commands.get(index).map_or("", |one| one.command.as_str());
        let outcome = stored(context, run, (name, command), &number);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        context.progress(done as f64, Some(total as f64), name);
        outcome
    };
    let first = |index| {
        let command = request.commands.get(index)?;
        if context.late() || context.cancel.is_cancelled() {
            return None;
        }
        let run = run(context, command, &cwd);
        // What takes long to store is stored by as many as run.
        let small = run.as_ref().is_ok_and(|run| !document::is_big(run));
        Some(if small { Step::Left(run) } else { Step::Done(second(index, run)) })
    };
    let outcomes = in_two_steps(total, request.concurrency, first, second);
    context.check_cancelled()?;
    let entries: Vec<Entry> = names
        .into_iter()
        .zip(outcomes)
        .map(|(name, outcome)| Entry { name, outcome: outcome.unwrap_or(Outcome::NotStarted) })
        .collect();
    let failed = entries.iter().filter(|entry| entry.failed()).count();
    if failed > 0 {
        context.meter.outcome(format!("{failed} of {total} failed"));
    }
    Ok(answer(context, &request, &entries))
}

/// Names of the commands as they stand in answers and labels; a repeated one gets `#2`.
fn names(commands: &[Command]) -> Vec<String> {
    let mut used: HashMap<String, usize> = HashMap::new();
    commands
        .iter()
        .enumerate()
        .map(|(index, command)| {
            let given = command.label.as_deref().map(render::source).unwrap_or_default();
            let base =
                if given.is_empty() { (index + 1).to_string() } else { clip(&given, LABEL_BYTES) };
            let count = used.entry(base.clone()).or_insert(0);
            *count += 1;
            if *count == 1 { base } else { format!("{base}#{count}") }
        })
        .collect()
}

/// Runs one of the commands.
fn run(context: &Context, command: &Command, cwd: &std::path::Path) -> Result<Run, ToolError> {
    let context = &context.part(context.queue_blocking(Work::Run));
    let authorized = context.root.policy.authorize(
        &context.shared.executor,
        RunRequest {
            program: Program::Command(command.command.as_str().into()),
            root: context.root.path.clone(),
            cwd: cwd.to_owned(),
            input: Input::Empty,
            deadline: Some(context.deadline),
            streams: Streams::Separate,
            view: context.view(),
        },
    );
    authorized.and_then(|run| execute::run(context, &run))
}

/// Stores what it printed.
fn stored(
    context: &Context,
    run: Result<Run, ToolError>,
    (name, command): (&str, &str),
    number: &Result<u64, StoreError>,
) -> Outcome {
    let run = match run {
        Ok(run) => run,
        Err(error) => return Outcome::NotRun(error),
    };
    let mut seen = Box::new(Gathered::new(crate::limits::DIGEST_BYTES, context.shared.salience()));
    let stored = match number {
        Ok(number) => {
            let label = format!("batch:{number}:{name}");
            let command = record::first_line(command);
            document::store(context, &run, Label::Fixed(&label), &command, Some(&mut *seen))
        }
        Err(error) => {
            Err(StoreError::Io { step: "numbering the batch", reason: error.to_string() })
        }
    };
    Outcome::Ran { run: Box::new(run), stored, seen }
}

/// What an answer has shown already.
#[derive(Debug, Default)]
struct Shown {
    advice: HashSet<String>,
    /// Outputs that were shown whole, or as a digest.
    documents: HashSet<DocumentId>,
}

fn answer(context: &Context, request: &Request, entries: &[Entry]) -> Answer {
    let mut draft = draft(context, request.max_bytes);
    if let Some(notice) = context.root.store.notice() {
        draft.head(&format!("[{}]", one_line(&notice)));
    }
    let mut shown = Shown::default();
    // Where queries take the place of digests, each line says how its run went as a whole.
    let verdicts = !request.queries.is_empty() && entries.len() <= VERDICTS;
    let line = |entry: &Entry| entry.line(request.timeout, verdicts);
    let lines: Vec<String> = entries.iter().map(line).collect();
    let queries: usize = request.queries.iter().map(|query| query_line(query).len() + 12).sum();
    let needed: usize = lines.iter().map(|line| line.len() + 1).sum();
    if needed + queries.min(request.max_bytes / 4) > draft.room() {
        push_list(context, &mut draft, &mut shown, entries, &lines, request.max_bytes);
    } else {
        let mut reserved = needed + queries;
        for (entry, line) in entries.iter().zip(&lines) {
            reserved -= line.len() + 1;
            draft.line(line);
            let room = |draft: &Draft| draft.room().saturating_sub(reserved);
            entry.details(context, &mut draft, &mut shown, room);
        }
    }
    if request.queries.is_empty() {
        push_digests(context, &mut draft, shown, entries);
    } else {
        push_passages(context, &mut draft, request, entries);
    }
    draft.finish()
}

/// More commands than lines: totals, the list by reference, and as many lines as fit, failures first.
fn push_list(
    context: &Context,
    draft: &mut Draft,
    shown: &mut Shown,
    entries: &[Entry],
    lines: &[String],
    max_bytes: usize,
) {
    let failed = entries.iter().filter(|entry| entry.failed()).count();
    let totals = format!("{} commands, {failed} failed", entries.len());
    let list: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    stored_list(context, draft, "batch", &totals, &list);
    let (bad, good): (Vec<_>, Vec<_>) =
        entries.iter().zip(lines).partition(|(entry, _)| entry.failed());
    let keep = max_bytes / 4;
    for (entry, line) in bad.into_iter().chain(good) {
        if draft.room() < line.len() + keep {
            break;
        }
        draft.line(line);
        let room = |draft: &Draft| draft.room().saturating_sub(keep * 2);
        entry.details(context, draft, shown, room);
    }
}

/// Without queries: a digest of each output that has room and was not shown.
fn push_digests(context: &Context, draft: &mut Draft, mut shown: Shown, entries: &[Entry]) {
    let with_output: Vec<&Entry> = entries
        .iter()
        .filter(|e| matches!(&e.outcome, Outcome::Ran { stored: Ok(r), .. } if r.bytes > 0))
        .filter(|e| e.document().is_some_and(|document| shown.documents.insert(document)))
        .collect();
    let mut left = with_output.len();
    for entry in with_output {
        let Outcome::Ran { stored: Ok(receipt), seen, .. } = &entry.outcome else { continue };
        let share = (draft.room() / left.max(1)).min(crate::limits::DIGEST_BYTES);
        left = left.saturating_sub(1);
        let header = format!("== {}", entry.name);
        if share < header.len() + 48 {
            continue;
        }
        let store = &context.root.store;
        let chunk = |line| store.chunk_of_line(receipt.document, line).ok().flatten();
        let digest = seen.render(share - header.len() - 4, chunk);
        draft.line(&header);
        draft.line(digest.trim_end_matches('\n'));
    }
}

fn push_passages(context: &Context, draft: &mut Draft, request: &Request, entries: &[Entry]) {
    let documents: Vec<DocumentId> = entries.iter().filter_map(Entry::document).collect();
    let scope = match request.scope {
        QueryScope::Batch => Scope::Documents(&documents),
        QueryScope::Global => Scope::All,
    };
    if request.scope == QueryScope::Global {
        freshness::sweep(context);
    }
    let searched = match request.scope {
        QueryScope::Batch => counted(documents.len() as u64, "output"),
        QueryScope::Global => "all that is stored".to_owned(),
    };
    let mut shown = HashSet::new();
    let mut reserved: usize =
        request.queries.iter().map(|query| query_line(query).len() + 40).sum();
    let mut unanswered = 0;
    let like = Query { scope, ..Query::new("", PASSAGES) };
    let together = context.root.store.queries(like);
    let found = helpers::together(request.queries.len(), |number| {
        let text = request.queries.get(number).map_or("", String::as_str);
        // What was run is searched even when the deadline has passed: its answer is due now.
        let deadline = context.deadline.max(Instant::now() + Duration::from_secs(2));
        fresh(context, &together, &Query { text, deadline: Some(deadline), ..like })
    });
    for (text, found) in request.queries.iter().zip(found) {
        let line = query_line(text);
        reserved = reserved.saturating_sub(line.len() + 40);
        if !draft.line(&line) {
            unanswered += 1;
            continue;
        }
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                draft.line(&one_line(&error.to_string()));
                continue;
            }
        };
        if let Some(verdict) = verdict_line(&found, text) {
            draft.line(&format!("{verdict} in {searched}"));
        }
        let mut seen = Vec::new();
        for Checked { hit, freshness } in &found.checked {
            if !shown.insert(hit.chunk) {
                seen.push(format!("r:{}", hit.chunk));
                continue;
            }
            let (mut line, preview) = hit_lines(hit, found.verdict);
            line.push_str(freshness.mark());
            let spare = draft.room().saturating_sub(reserved);
            if line.len() > spare {
                seen.push(format!("r:{}", hit.chunk));
                continue;
            }
            draft.line(&line);
            let spare = draft.room().saturating_sub(reserved);
            let preview = crate::budget::cut_at_line(&preview, spare).trim_end_matches('\n');
            if !preview.is_empty() {
                draft.line(preview);
            }
        }
        if !seen.is_empty() {
            draft.line(&format!("see {}", seen.join(" ")));
        }
    }
    if unanswered > 0 {
        draft.line(&format!("+{unanswered} queries without room; use search"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-034: equal, empty and hostile labels stay apart and cannot forge a reference.
    #[test]
    fn commands_get_unique_bounded_names() {
        let command = |label: &str| Command { label: Some(label.into()), command: "x".into() };
        let long = format!("[r:1]\n{}", "y".repeat(5_000));
        let names = names(&[command("t"), command("t"), command(""), command(&long)]);
        assert_eq!(names[..3], ["t", "t#2", "3"]);
        assert!(names[3].starts_with("(r:1] yyy") && names[3].len() <= LABEL_BYTES);
    }
}
