//! A program that runs in the background: its growing output, its state, and how to stop it.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::cancel::{Cancel, CancelOfAnother};
use crate::error::ExecError;
use crate::executor::Shared;
use crate::request::{Exit, RunRequest, Streams};
use crate::run::{Outcome, Prepared};
use crate::spool::{Spool, SpoolWriter};

/// A background program. Dropping the handle asks it to stop, and does not wait.
///
/// It has a thread of its own, which follows it from its start to its end.
#[derive(Debug)]
pub struct Job {
    output: SpoolWriter,
    cancel: CancelOfAnother,
    started: Instant,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    end: Mutex<Option<End>>,
    ended: Condvar,
}

#[derive(Debug, Clone)]
struct End {
    outcome: Outcome,
    duration: Duration,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that the job has ended, also when its thread panics.
struct Announce {
    state: Arc<State>,
    started: Instant,
    outcome: Outcome,
}

impl Drop for Announce {
    fn drop(&mut self) {
        let end = End { outcome: self.outcome.clone(), duration: self.started.elapsed() };
        *self.state.lock() = Some(end);
        self.state.ended.notify_all();
    }
}

impl Job {
    pub(crate) fn start(shared: Arc<Shared>, mut request: RunRequest) -> Result<Self, ExecError> {
        request.streams = Streams::Merged;
        let started = Instant::now();
        let prepared = Prepared::new(&shared, &request)?;
        let output = SpoolWriter::new(shared.scratch.clone());
        let unused = SpoolWriter::new(shared.scratch.clone());
        let cancel = Cancel::new();
        let state = Arc::new(State { end: Mutex::new(None), ended: Condvar::new() });
        let job = Self {
            output: output.clone(),
            cancel: cancel.of_another(),
            started,
            state: state.clone(),
        };
        let body = move || {
            let failed = Outcome::of(Exit::Code(126));
            let mut announce = Announce { state, started, outcome: failed };
            // Dropped before the end is announced: an ended job holds no descriptor.
            let asked = cancel;
            match prepared.follow(&shared, &request, &asked, &output, &unused) {
                Ok(outcome) => announce.outcome = outcome,
                // Nobody waits for the result any more: the reason goes where they will look.
                Err(error) => output.append(format!("error: {error}\n").as_bytes()),
            }
        };
        thread::Builder::new().name("job".into()).spawn(body).map_err(|source| {
            ExecError::Spawn { program: "the job".into(), step: "make a thread", source }
        })?;
        Ok(job)
    }

    /// Waits up to `limit` for the end; `true` when it has ended.
    pub fn wait(&self, limit: Duration) -> bool {
        let end = self.state.lock();
        let waited = self.state.ended.wait_timeout_while(end, limit, |end| end.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    /// Bytes printed so far.
    pub fn output_len(&self) -> u64 {
        self.output.len()
    }

    /// Reads captured output from `offset` on; 0 at the present end.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read_at(offset, buffer)
    }

    /// Lets go of the output once the job has ended and somebody else keeps it; nothing can be read
    /// here any more.
    pub fn release_output(&self) {
        if self.exit().is_some() {
            self.output.release();
        }
    }

    /// The output up to now, as a spool that grows no more.
    pub fn output(&self) -> Spool {
        self.output.snapshot()
    }

    /// How it ended, once it has.
    pub fn exit(&self) -> Option<Exit> {
        self.state.lock().as_ref().map(|end| end.outcome.exit)
    }

    /// How long it has run, or ran.
    pub fn duration(&self) -> Duration {
        self.state.lock().as_ref().map_or_else(|| self.started.elapsed(), |end| end.duration)
    }

    /// Stops the program and everything below it; returns when all of it is gone.
    pub fn stop(&self) {
        self.cancel.cancel();
        let end = self.state.lock();
        drop(self.state.ended.wait_while(end, |end| end.is_none()));
    }

    /// Processes that had to be stopped after the main process had ended.
    pub fn left_behind(&self) -> u32 {
        self.state.lock().as_ref().map_or(0, |end| end.outcome.left_behind)
    }

    /// What it asked of the network and did not get, once it has ended.
    pub fn blocked(&self) -> Option<String> {
        self.state.lock().as_ref().and_then(|end| end.outcome.blocked.clone())
    }

    /// Whether it failed while the kernel ended some program for lack of memory.
    pub fn out_of_memory(&self) -> bool {
        self.state.lock().as_ref().is_some_and(|end| end.outcome.out_of_memory)
    }

    /// What of the output could not be kept, as in [`crate::Run::io_lost`].
    pub fn io_lost(&self) -> Option<String> {
        self.output.lost().map(|lost| format!("output {lost}"))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
