//! `execute`: one program, its output as it is or as a digest with references.

use std::time::Duration;

use quietcontext_exec::{Exit, Input, Program, Run, RunRequest, Streams};
use quietcontext_store::{Label, Query, Receipt, Scope, Status, StoreError, Verdict};

use crate::answer::Draft;
use crate::args::execute::Request;
use crate::budget::{ByteBudget, cut_at_line, cut_front};
use crate::call::Answer;
use crate::context::Context;
use crate::digest::Gathered;
use crate::document;
use crate::error::ToolError;
use crate::jobs;
use crate::limits;
use crate::policy::Authorized;
use crate::program::ScriptSource;
use crate::render;
use crate::root::{check_root, working_directory};
use crate::scripts::Script;
use crate::search::hit_lines;
use crate::tool::Confinement;

/// Answers `execute`.
pub(crate) fn execute(context: &Context, request: Request) -> Result<Answer, ToolError> {
    match request {
        Request::Stop { label, max_bytes } => jobs::stop(context, &label, max_bytes),
        Request::Run(args) => {
            check_root(&context.root.path, context.shared.config.home.as_deref())?;
            let cwd = working_directory(&context.root.path, args.cwd.as_deref())?;
            let (script, reference) = accept(context, args.script)?;
            let request = |streams| RunRequest {
                program: Program::Code { language: script.language, code: script.code.clone() },
                root: context.root.path.clone(),
                cwd: cwd.clone(),
                input: Input::Empty,
                deadline: Some(context.deadline),
                streams,
                view: context.view(),
            };
            let answering = Answering {
                family: "execute",
                max_bytes: args.max_bytes,
                intent: args.intent,
                reference,
                timeout: args.timeout,
            };
            if args.background {
                let request = RunRequest { deadline: None, ..request(Streams::Merged) };
                let run = context.root.policy.authorize(&context.shared.executor, request)?;
                return jobs::start(context, run, &answering);
            }
            let run = context
                .root
                .policy
                .authorize(&context.shared.executor, request(Streams::Separate))?;
            let run = self::run(context, &run)?;
            answering.conclude(context, &run)
        }
    }
}

/// The program of a call once it is accepted: valid and with a runtime. Only then it is remembered.
///
/// The reference is for the answer's last line; a program sent by reference gets none again.
pub(crate) fn accept(
    context: &Context,
    source: ScriptSource,
) -> Result<(Script, Option<String>), ToolError> {
    let submitted = matches!(source, ScriptSource::Code(_));
    let script = source.resolve(&context.root.scripts)?;
    context.shared.executor.runtime(script.language).map_err(exec_error)?;
    let reference = if submitted { context.root.scripts.remember(&script) } else { None };
    Ok((script, reference))
}

/// Runs a program in this thread until it ends, is stopped, or the call ends.
pub(crate) fn run(context: &Context, run: &Authorized) -> Result<Run, ToolError> {
    let run = context.shared.executor.run(run, &context.cancel);
    context.leave();
    let run = run.map_err(exec_error)?;
    context.meter.produced(run.stdout.len() + run.stderr.len());
    Ok(run)
}

/// An executor's error as the caller's; it is one clear line already.
pub(crate) fn exec_error(error: quietcontext_exec::ExecError) -> ToolError {
    tracing::debug!(?error, "not run");
    ToolError::Failed(error.to_string())
}

/// How the output of a finished run becomes an answer.
#[derive(Debug)]
pub(crate) struct Answering {
    /// Family of the label: `execute`, `exec-file`.
    pub family: &'static str,
    /// The caller's budget; it also lifts the default size of the digest.
    pub max_bytes: Option<usize>,
    /// What the caller looks for in an output that does not fit.
    pub intent: Option<String>,
    /// `s:…`, for the last line.
    pub reference: Option<String>,
    /// The limit a timed-out run is said to have had.
    pub timeout: Duration,
}

/// A draft of a run's answer: it begins with `[unconfined]` where that is so, and says once what
/// this machine cannot hold.
pub(crate) fn draft(context: &Context, budget: usize) -> Draft {
    let mut draft = Draft::new(ByteBudget::new(budget));
    if context.shared.config.confinement == Confinement::Off {
        draft.head("[unconfined]");
    } else if let Some(line) = context.shared.executor.announcement() {
        draft.head(&format!("[{line}]"));
    }
    draft
}

impl Answering {
    fn budget(&self) -> usize {
        self.max_bytes.unwrap_or(limits::ANSWER_BYTES)
    }

    /// Bytes of a digest, its handle and markers included.
    fn digest_bytes(&self) -> usize {
        self.max_bytes.unwrap_or(limits::DIGEST_BYTES)
    }

    fn draft(&self, context: &Context, budget: usize) -> Draft {
        let mut draft = draft(context, budget);
        if let Some(reference) = &self.reference {
            draft.tail(&format!("[{reference}]"));
        }
        draft
    }

    /// Answers a finished run: as it is where all of it fits, else stored and digested.
    pub(crate) fn conclude(&self, context: &Context, run: &Run) -> Result<Answer, ToolError> {
        context.meter.outcome(document::outcome(run, self.timeout));
        if run.exit == Exit::Cancelled {
            // Nobody reads the answer, but what was printed stays searchable.
            if !run.stdout.is_empty() || !run.stderr.is_empty() {
                let label = Label::Numbered { family: self.family };
                if let Err(error) =
                    document::store(context, run, label, context.meter.summary(), None)
                {
                    tracing::warn!(%error, "output of a cancelled run was not stored");
                }
            }
            return Err(ToolError::Cancelled);
        }
        match self.inline(context, run) {
            Some(answer) => Ok(answer),
            None => Ok(self.indexed(context, run)),
        }
    }

    /// The output as it is, if it is text and all of it fits.
    fn inline(&self, context: &Context, run: &Run) -> Option<Answer> {
        let (stdout, out_view) = quietcontext_store::clean(run.stdout.bytes()?);
        let (stderr, err_view) = quietcontext_store::clean(run.stderr.bytes()?);
        let views = [out_view, err_view];
        if views.iter().any(|view| view.binary || view.replaced) {
            return None;
        }
        let mut text = stdout.into_owned();
        if !stderr.is_empty() {
            render::push_line(&mut text, document::STDERR);
            text.push_str(&stderr);
        }
        if text.is_empty() {
            "[no output]".clone_into(&mut text);
        }
        let took = document::took(run).map(|took| format!("[{took}]"));
        let state = document::state_lines(context, run, self.timeout);
        let answer = |stored: Option<String>| {
            let mut draft = draft(context, self.budget());
            for line in took.iter().chain(&state).chain(stored.as_ref()) {
                draft.tail(line);
            }
            if let Some(reference) = &self.reference {
                draft.tail(&format!("[{reference}]"));
            }
            draft.exact(&text).then(|| draft.finish())
        };
        let fitting = answer(None)?;
        if !views.iter().any(|view| view.differs) {
            return Some(fitting);
        }
        // Escapes were taken out: the bytes as they came stay retrievable under their label.
        let label = Label::Numbered { family: self.family };
        match document::store(context, run, label, context.meter.summary(), None) {
            Ok(_) => Some(fitting),
            Err(error) => answer(Some(not_stored(&error))).or(Some(fitting)),
        }
    }

    /// The output stored whole; the answer is the handle and a digest.
    fn indexed(&self, context: &Context, run: &Run) -> Answer {
        let mut gathered = Gathered::new(self.digest_bytes(), context.shared.salience());
        let label = Label::Numbered { family: self.family };
        let command = context.meter.summary();
        match document::store(context, run, label, command, Some(&mut gathered)) {
            Ok(receipt) => self.digest(context, run, &receipt, &gathered),
            Err(error) => self.unstored(context, run, &error),
        }
    }

    fn digest(&self, context: &Context, run: &Run, receipt: &Receipt, seen: &Gathered) -> Answer {
        let mut draft = self.draft(context, self.digest_bytes());
        draft.head(&document::handle(receipt, run, self.timeout));
        let same = match &receipt.status {
            Status::SameAs(label) => Some(label.as_str()),
            _ => None,
        };
        let known = context.root.digested(&receipt.label, same);
        for line in document::state_lines(context, run, self.timeout) {
            draft.tail(&line);
        }
        if let Some(notice) = context.root.store.notice() {
            draft.head(&format!("[{}]", render::one_line(&notice)));
        }
        let matched = self
            .intent
            .as_deref()
            .is_some_and(|intent| push_matches(context, &mut draft, intent, receipt));
        if known && self.intent.is_none() && self.max_bytes.is_none() {
            return draft.finish();
        }
        if !matched {
            let store = &context.root.store;
            let chunk = |line| store.chunk_of_line(receipt.document, line).ok().flatten();
            let text = seen.render(draft.room(), chunk);
            draft.line(text.trim_end_matches('\n'));
        }
        draft.finish()
    }

    /// The store is of no use: as much of both ends as fits, and the answer says so.
    fn unstored(&self, context: &Context, run: &Run, error: &StoreError) -> Answer {
        let mut draft = self.draft(context, self.budget());
        draft.head(&not_stored(error));
        for line in document::state_lines(context, run, self.timeout) {
            draft.tail(&line);
        }
        let bytes = run.stdout.len() + run.stderr.len();
        let room = draft.room().saturating_sub(80);
        let (head, tail) = ends(run, room);
        let shown = (head.len() + tail.len()) as u64;
        let gap = format!("… {} not shown …", render::counted(bytes.saturating_sub(shown), "byte"));
        draft.line(head.trim_end_matches('\n'));
        draft.line(&gap);
        draft.line(&tail);
        draft.finish()
    }
}

/// `[not stored: …]`.
pub(crate) fn not_stored(error: &StoreError) -> String {
    format!("[not stored: {}]", crate::budget::clip(&render::one_line(&error.to_string()), 160))
}

/// The best matches for an intent within one document. `false`: there was no good one, show the digest.
fn push_matches(context: &Context, draft: &mut Draft, intent: &str, receipt: &Receipt) -> bool {
    let query = Query {
        scope: Scope::Documents(&[receipt.document]),
        deadline: Some(context.deadline),
        ..Query::new(intent, 5)
    };
    let found = match context.root.store.search(&query) {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "intent was not searched");
            draft.line("no search for the intent was possible");
            return false;
        }
    };
    if found.hits.is_empty() {
        draft.line("no match for the intent");
        return false;
    }
    let weak = found.verdict == Verdict::Weak;
    if weak {
        draft.line("no good match for the intent");
    }
    for hit in &found.hits {
        let (line, preview) = hit_lines(hit, found.verdict);
        if !draft.line(&line) {
            break;
        }
        let room = draft.room();
        draft.line(cut_at_line(&preview, room).trim_end_matches('\n'));
    }
    !weak
}

/// Text from both ends of an output, each at most half of `room`.
fn ends(run: &Run, room: usize) -> (String, String) {
    let whole = [&run.stdout, &run.stderr];
    let half = room / 2;
    let read = |spool: &quietcontext_exec::Spool, from: u64, most: usize| {
        let mut buffer = vec![0; most];
        let read = spool.read_at(from, &mut buffer).unwrap_or(0);
        buffer.truncate(read);
        quietcontext_store::clean(&buffer).0.into_owned()
    };
    let first = whole.iter().find(|spool| !spool.is_empty()).copied().unwrap_or(&run.stdout);
    let last = whole.iter().rev().find(|spool| !spool.is_empty()).copied().unwrap_or(&run.stdout);
    let head = read(first, 0, half);
    let tail = read(last, last.len().saturating_sub(half as u64), half);
    (cut_at_line(&head, half).to_owned(), cut_front(&tail, half).to_owned())
}
