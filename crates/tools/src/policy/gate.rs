//! The only way to a program: what is run was authorized, or it does not compile.

use std::fs::File;
use std::io;
use std::sync::Arc;

use quietcontext_exec::{Cancel, ExecError, Executor, Job, Language, Run, RunRequest, Runtime};

use super::Policy;
use crate::error::ToolError;

/// A run that the deny rules let pass. Only [`Policy::authorize`] makes one.
#[derive(Debug)]
pub(crate) struct Authorized(RunRequest);

impl Policy {
    /// Lets a run pass, or says in one line which rule denies it or why that cannot be told.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the rules follow")]
    pub(crate) fn authorize(
        &self,
        _executor: &Gate,
        request: RunRequest,
    ) -> Result<Authorized, ToolError> {
        Ok(Authorized(request))
    }
}

/// The executor, behind the policy: it takes nothing that was not authorized.
pub(crate) struct Gate(Arc<Executor>);

impl Gate {
    /// What is weaker on this machine than promised, once.
    pub(crate) fn announcement(&self) -> Option<String> {
        self.0.announcement()
    }

    pub(crate) fn new(executor: Arc<Executor>) -> Self {
        Self(executor)
    }

    /// Runs a program in the calling thread, to its end.
    pub(crate) fn run(&self, run: &Authorized, cancel: &Cancel) -> Result<Run, ExecError> {
        self.0.run(&run.0, cancel)
    }

    /// Starts a program in the background.
    pub(crate) fn start(&self, run: Authorized) -> Result<Job, ExecError> {
        self.0.start(run.0)
    }

    /// The program that runs `language`.
    pub(crate) fn runtime(&self, language: Language) -> Result<Runtime, ExecError> {
        self.0.runtime(language)
    }

    /// An open file without a name, for text that is handed to a program.
    pub(crate) fn scratch_file(&self) -> io::Result<File> {
        self.0.scratch_file()
    }

    /// Stops every program at once.
    pub(crate) fn shutdown(&self) {
        self.0.shutdown();
    }
}
