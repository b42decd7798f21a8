//! Background jobs: output is stored while they run, readable by their label during and after.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quietcontext_exec::{Exit, Job};
use quietcontext_store::{ChunkId, Growing, Label, NewDocument, Origin, Receipt, StoreError};

use crate::budget::cut_at_line;
use crate::call::Answer;
use crate::cause;
use crate::context::Context;
use crate::digest::Gathered;
use crate::document::exit_words;
use crate::error::ToolError;
use crate::execute::{Answering, draft, exec_error};
use crate::limits;
use crate::policy::Authorized;
use crate::render::{self, short};

mod announced;

pub use announced::LiveJob;
use announced::Told;

/// How often new output is moved into the store while a job runs.
const PUMP: Duration = Duration::from_millis(100);
/// Longest wait for the last output of a job that has ended.
const SETTLE: Duration = Duration::from_secs(10);
/// Most of a job's output that is looked at for a digest, in bytes.
const LOOK: u64 = 8 << 20;

/// Ended jobs of a root whose end can still be asked for with `stop`; their output stays in the store.
const REMEMBERED: usize = 256;

/// The jobs of one root that this process started, by label.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    running: Mutex<HashMap<String, Arc<Entry>>>,
}

/// A job and what is known of its stored output.
#[derive(Debug)]
struct Entry {
    job: Job,
    /// The first chunk its output has, or will have.
    first: ChunkId,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    receipt: Receipt,
    /// The last byte is stored, or could not be.
    settled: bool,
    lost: Option<String>,
}

impl Jobs {
    /// Whether none was ever started.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    pub(crate) fn any_runs(&self) -> bool {
        self.all().values().any(|entry| entry.job.exit().is_none())
    }

    /// How the job stands whose output begins at `first` and has no text yet.
    pub(crate) fn silent(&self, first: u64) -> Option<String> {
        let running = self.all();
        let entry = running.values().find(|entry| entry.first.0 == first)?;
        entry.state(|state| state.receipt.range.is_none()).then(|| entry.words())
    }

    /// Takes in a job, and lets go of the oldest that have ended where there are too many.
    fn insert(&self, label: &str, entry: &Arc<Entry>) {
        let mut running = self.all();
        running.insert(label.to_owned(), Arc::clone(entry));
        let ended = running.iter().filter(|(_, entry)| entry.state(|state| state.settled));
        for label in beyond(ended.map(|(label, entry)| (entry.first.0, label.clone())), REMEMBERED)
        {
            running.remove(&label);
        }
    }

    fn find(&self, label: &str) -> Option<Arc<Entry>> {
        self.all().get(label).cloned()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Entry>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was numbered before the `most` last ones.
fn beyond<T: Ord>(numbered: impl Iterator<Item = (u64, T)>, most: usize) -> Vec<T> {
    let mut all: Vec<_> = numbered.collect();
    all.sort_unstable();
    all.truncate(all.len().saturating_sub(most));
    all.into_iter().map(|(_, value)| value).collect()
}

impl Entry {
    fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// `running`, or how it ended.
    fn words(&self) -> String {
        match self.job.exit() {
            None => "running".to_owned(),
            Some(exit) => ended(exit, self.job.output_len()),
        }
    }

    /// Waits until everything that was printed is stored.
    fn settle(&self) {
        let until = Instant::now() + SETTLE;
        while !self.state(|state| state.settled) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// How a job ended; it has no deadline, and being stopped is what its user wanted.
fn ended(exit: Exit, bytes: u64) -> String {
    match exit {
        Exit::Cancelled | Exit::TimedOut => "stopped".to_owned(),
        exit => exit_words(exit, Duration::ZERO, bytes),
    }
}

/// Starts a job, waits as long as asked, and answers its handle and the output so far.
pub(crate) fn start(
    context: &Context,
    run: Authorized,
    answering: &Answering,
) -> Result<Answer, ToolError> {
    // The label comes first: a job whose output could not be stored is not started.
    let label = Label::Numbered { family: answering.family };
    let command = Some(context.meter.summary());
    let document = NewDocument { command, ..NewDocument::new(label, Origin::Run) };
    let growing = context.root.store.begin(document).map_err(store_failed)?;
    let label = growing.receipt().label;
    let job = context.shared.executor.start(run).map_err(exec_error)?;
    let state = State { receipt: growing.receipt(), settled: false, lost: None };
    let entry = Arc::new(Entry { job, first: growing.first(), state: Mutex::new(state) });
    context.root.jobs.insert(&label, &entry);
    let told = Told::of(context, &label, entry.first);
    let pumped = Arc::clone(&entry);
    std::thread::Builder::new()
        .name("job".into())
        .spawn(move || pump(&pumped, growing, told))
        .map_err(|error| ToolError::Failed(format!("no thread for the job: {error}")))?;
    let until = Instant::now() + answering.timeout;
    while Instant::now() < until && !context.cancel.is_cancelled() {
        let left = until.saturating_duration_since(Instant::now()).min(PUMP);
        if entry.job.wait(left) {
            entry.settle();
            break;
        }
    }
    if context.cancel.is_cancelled() {
        entry.job.stop();
        return Err(ToolError::Cancelled);
    }
    context.meter.outcome(entry.words());
    Ok(report(context, &entry, answering.max_bytes, answering.reference.as_deref()))
}

/// Stops a job, or finds it ended, and answers its final digest.
pub(crate) fn stop(
    context: &Context,
    label: &str,
    max_bytes: Option<usize>,
) -> Result<Answer, ToolError> {
    let label = label.trim().trim_start_matches('[').trim_end_matches(']');
    let Some(entry) = context.root.jobs.find(label) else {
        return Err(ToolError::argument(
            "stop",
            format!(
                "{} is no background job of this server, or ended long ago; give its label, such as execute:17",
                short(label)
            ),
        ));
    };
    entry.job.stop();
    entry.settle();
    context.meter.outcome(entry.words());
    Ok(report(context, &entry, max_bytes, None))
}

/// Moves output into the store until the job has ended and all of it is there.
fn pump(entry: &Entry, mut growing: Growing, told: Told) {
    let mut at = 0;
    let mut lost = None;
    loop {
        let ended = entry.job.wait(PUMP);
        if told.stop_asked() {
            entry.job.stop();
        }
        match drain(entry, &mut growing, &mut at) {
            Ok(()) => {}
            Err(error) => {
                tracing::warn!(%error, "output of a job was not stored");
                lost = Some(error.to_string());
                break;
            }
        }
        let receipt = growing.receipt();
        entry.state(|state| state.receipt = receipt);
        if ended {
            break;
        }
    }
    while !entry.job.wait(PUMP) {
        if told.stop_asked() {
            entry.job.stop();
        }
    }
    let outcome = entry.words();
    let finished = growing.finish(&outcome);
    let bytes = entry.job.output_len();
    entry.state(|state| {
        match finished {
            Ok(receipt) => state.receipt = receipt,
            Err(error) => lost = lost.take().or(Some(error.to_string())),
        }
        state.lost = lost.take().or_else(|| entry.job.io_lost());
        state.settled = true;
        told.ended(outcome, &state.receipt, bytes);
        // The store has all of it: the disk gets the space back.
        if state.lost.is_none() {
            entry.job.release_output();
        }
    });
}

fn drain(entry: &Entry, growing: &mut Growing, at: &mut u64) -> Result<(), StoreError> {
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = entry.job.read_at(*at, &mut buffer).map_err(StoreError::Source)?;
        if read == 0 {
            return Ok(());
        }
        growing.append(buffer.get(..read).unwrap_or_default())?;
        *at += read as u64;
    }
}

/// `[execute:17 · r:20101- · running]` and the output so far, or its digest.
fn report(
    context: &Context,
    entry: &Entry,
    max_bytes: Option<usize>,
    reference: Option<&str>,
) -> Answer {
    let (receipt, lost) = entry.state(|state| (state.receipt.clone(), state.lost.clone()));
    let words = entry.words();
    let running = words == "running";
    let bytes = entry.job.output_len();
    let budget = max_bytes.unwrap_or(if bytes > limits::DIGEST_BYTES as u64 {
        limits::DIGEST_BYTES
    } else {
        limits::ANSWER_BYTES
    });
    let mut draft = draft(context, budget);
    let mut parts = vec![receipt.label.clone()];
    if running {
        parts.push(format!("r:{}-", entry.first));
    } else {
        parts.extend(receipt.range.map(render::range));
    }
    if !running {
        parts.push(render::counted(receipt.bytes, "byte"));
    }
    parts.push(words.clone());
    draft.head(&format!("[{}]", parts.join(" · ")));
    if let Some(lost) = lost {
        draft.head(&format!("[output lost: {}]", render::one_line(&lost)));
    }
    let end = end_of(context, entry, &receipt);
    let left = entry.job.left_behind();
    if left > 0 {
        draft.tail(&crate::document::left_running(left));
    }
    let blocked = entry.job.blocked();
    let blocked = crate::document::blocked_network(blocked.as_deref());
    for line in blocked.into_iter().chain(cause::of_job(context, &entry.job, &end.1)) {
        draft.tail(&line);
    }
    if let Some(reference) = reference {
        draft.tail(&format!("[{reference}]"));
    }
    push_output(context, &mut draft, &receipt, &end);
    draft.finish()
}

/// The last part of a job's output that is looked at, and how many bytes are before it.
fn end_of(context: &Context, entry: &Entry, receipt: &Receipt) -> (u64, Vec<u8>) {
    let total = entry.job.output_len();
    let from = total.saturating_sub(LOOK);
    let mut bytes = Vec::new();
    // The stored bytes are all there is of a job whose spool was released.
    let stored = entry.state(|state| state.settled && state.lost.is_none());
    let read = if stored {
        context.root.store.raw(receipt.document).map_err(io::Error::other).and_then(|mut raw| {
            io::copy(&mut raw.by_ref().take(from), &mut io::sink())?;
            raw.take(LOOK).read_to_end(&mut bytes)
        })
    } else {
        bytes.resize((total - from) as usize, 0);
        let mut read = 0;
        while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty())
            && let Ok(more @ 1..) = entry.job.read_at(from + read as u64, rest)
        {
            read += more;
        }
        bytes.truncate(read);
        Ok(read)
    };
    if let Err(error) = read {
        tracing::warn!(%error, "output of a job could not be read back");
    }
    (from, bytes)
}

/// The output so far where it fits, else its digest.
fn push_output(
    context: &Context,
    draft: &mut crate::answer::Draft,
    receipt: &Receipt,
    (from, bytes): &(u64, Vec<u8>),
) {
    let (text, _) = quietcontext_store::clean(bytes);
    if *from == 0 && draft.exact(&text) {
        return;
    }
    let mut gathered = Gathered::new(draft.room(), context.shared.salience());
    for (index, line) in text.lines().enumerate() {
        quietcontext_store::Observer::line(&mut gathered, index as u64 + 1, line);
    }
    let store = &context.root.store;
    let chunk = |line| {
        if *from > 0 { None } else { store.chunk_of_line(receipt.document, line).ok().flatten() }
    };
    let digest = gathered.render(draft.room(), chunk);
    let room = draft.room();
    draft.line(cut_at_line(&digest, room).trim_end_matches('\n'));
}

fn store_failed(error: StoreError) -> ToolError {
    ToolError::Failed(format!("the job was not started: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_jobs_that_ended_are_let_go_of() {
        let jobs = || [(30, "c"), (10, "a"), (20, "b")].into_iter();
        assert_eq!(beyond(jobs(), 1), ["a", "b"]);
        assert_eq!(beyond(jobs(), 3), [""; 0]);
        assert_eq!(beyond(jobs(), 0).len(), 3);
    }
}
