//! The only way to a program: what is run was authorized, or it does not compile.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use quietcontext_exec::{
    Cancel, ExecError, Executor, Held, Job, Language, Pdf, PdfError, Program, Run, RunRequest,
    Runtime,
};

use super::{Dialect, Policy};
use crate::error::ToolError;

/// A run that the deny rules let pass. Only [`Policy::authorize`] makes one.
#[derive(Debug)]
pub(crate) struct Authorized(RunRequest);

impl Policy {
    /// Lets a run pass, or says in one line which rule denies it or why that cannot be told.
    pub(crate) fn authorize(
        &self,
        executor: &Gate,
        mut request: RunRequest,
    ) -> Result<Authorized, ToolError> {
        let rules = self.rules()?;
        let programs = self.programs(&rules, executor);
        if self.boxed {
            request.view.hidden = self.hidden(&rules)?;
            request.view.hidden.extend(programs.iter().map(|(program, _)| program.clone()));
        }
        if rules.loaded.bash.is_empty() {
            return Ok(Authorized(request));
        }
        let (language, text) = match &request.program {
            Program::Command(text) => (Language::parse("shell"), Some(text)),
            Program::Code { language, code } => {
                (Some(*language), (language.name() == "shell").then_some(code))
            }
        };
        let runtime = language.and_then(|language| executor.runtime(language).ok());
        if let Some(text) = text {
            let bash = runtime.as_ref().is_some_and(|runtime| runtime.name == "bash");
            let dialect = if bash { Dialect::Bash } else { Dialect::Posix };
            rules.check_shell(text, dialect, &request.cwd).map_err(ToolError::Refused)?;
        }
        // A program that is taken out of the view cannot run others either.
        let real = runtime.and_then(|runtime| runtime.path.canonicalize().ok());
        let denied = programs
            .iter()
            .find(|(program, _)| Some(program) == real.as_ref())
            .and_then(|(_, rule)| rules.loaded.bash.get(*rule));
        match (denied, language) {
            (Some(rule), Some(language)) => Err(ToolError::Refused(format!(
                "the program for {} is denied by the rule {}",
                language.name(),
                rule.shown
            ))),
            _ => Ok(Authorized(request)),
        }
    }
}

/// The executor, behind the policy: it takes nothing that was not authorized.
pub(crate) struct Gate(Arc<Executor>);

impl Gate {
    /// What is weaker on this machine than promised, once.
    pub(crate) fn announcement(&self) -> Option<String> {
        self.0.announcement()
    }

    /// What holds programs here, if anything does.
    pub(crate) fn held(&self) -> Option<Held<'_>> {
        self.0.held()
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

    /// Reads a PDF: no program of anybody's, and the file was held against the rules when opened.
    pub(crate) fn pdf(
        &self,
        file: &File,
        deadline: Instant,
        cancel: &Cancel,
    ) -> Result<Pdf, PdfError> {
        self.0.pdf(file, deadline, cancel)
    }

    /// Where programs are looked for.
    pub(crate) fn search_path(&self) -> &OsStr {
        self.0.search_path()
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
