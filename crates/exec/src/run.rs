//! One run from request to result: stage, plan, compile where needed, start, follow, account.

use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::built;
use crate::cancel::Cancel;
use crate::capture::Capture;
use crate::confinement::{Place, may_build};
use crate::error::ExecError;
use crate::executor::Shared;
use crate::input::{open_input, stage_content};
use crate::language::Language;
use crate::launch::{Launch, Supervisor};
use crate::memory;
use crate::plan::{Build, Plan, Planning};
use crate::project::ProjectTools;
use crate::request::{Exit, Input, Program, Run, RunRequest, Streams};
use crate::runtime::Runtime;
use crate::sandbox::{Failure, Step};
use crate::scratch::RunDirectory;
use crate::spool::SpoolWriter;
use crate::watch::{Ended, Limits, watch};

/// How often a start is tried again while the program's file is still open for writing: a process
/// that is just being started elsewhere may hold a copy of the descriptor for a moment.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// A run that can be started: everything that can be refused has been checked.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Emptied or removed when the run is over.
    directory: RunDirectory,
    project: ProjectTools,
    plan: Plan,
}

/// How a run ended, before its spools are handed over.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) exit: Exit,
    pub(crate) left_behind: u32,
    /// What it asked of the network and did not get.
    pub(crate) blocked: Option<String>,
    /// Something was ended for lack of memory meanwhile.
    pub(crate) out_of_memory: bool,
}

impl Outcome {
    /// The program did not come to ask for anything.
    pub(crate) fn of(exit: Exit) -> Self {
        Self { exit, left_behind: 0, blocked: None, out_of_memory: false }
    }
}

impl Prepared {
    /// A command line as it is, without a project's tools.
    pub(crate) fn of(directory: RunDirectory, plan: Plan) -> Self {
        Self { directory, project: ProjectTools::default(), plan }
    }

    /// Finds the runtime and stages the program.
    pub(crate) fn new(shared: &Shared, request: &RunRequest) -> Result<Self, ExecError> {
        if shared.shutdown.is_cancelled() {
            return Err(ExecError::ShutDown);
        }
        if !request.cwd.is_dir() {
            return Err(ExecError::CwdMissing);
        }
        shared.check_confinement()?;
        let (language, code) = match &request.program {
            Program::Code { language, code } => (*language, code),
            Program::Command(text) => (Language::shell(), text),
        };
        let project = ProjectTools::find(&request.root, &request.cwd);
        let runtime = shared.runtime(language, &project)?;
        let staged = Self::stage(shared, request, &runtime, code);
        let (directory, plan) = match staged {
            // A full disk need not be everybody's.
            Err(ExecError::Staging { source, .. })
                if is_full(&source) && shared.scratch.move_on() =>
            {
                Self::stage(shared, request, &runtime, code)?
            }
            staged => staged?,
        };
        Ok(Self { directory, project, plan })
    }

    /// The program in a directory of its own, and how it is started.
    fn stage(
        shared: &Shared,
        request: &RunRequest,
        runtime: &Runtime,
        code: &str,
    ) -> Result<(RunDirectory, Plan), ExecError> {
        let language = runtime.language;
        let directory = shared.scratch.run_directory()?;
        let stage = shared.shown(directory.path())?;
        let content = stage_content(language, code, &request.input, directory.path())?;
        let candidate = language.row().candidates.get(runtime.candidate);
        let plan = candidate.ok_or(ExecError::Program("its runtime is unknown"))?.plan;
        let mut plan = plan(&Planning {
            code,
            stage: &stage,
            disk: directory.path(),
            runtime,
            cwd: &request.cwd,
            content: content.map(|name| stage.join(name)).as_deref(),
            find: &|name| shared.find_beside(&runtime.path, name),
        })?;
        if let Input::File { path, .. } = &request.input {
            plan = plan.with("FILE_PATH", path);
        }
        Ok((directory, plan))
    }

    /// Runs to the end and hands over what was captured.
    pub(crate) fn run(
        self,
        shared: &Shared,
        request: &RunRequest,
        cancel: &Cancel,
        started: Instant,
    ) -> Result<Run, ExecError> {
        let stdout = SpoolWriter::new(shared.scratch.clone());
        let stderr = SpoolWriter::new(shared.scratch.clone());
        let outcome = self.follow(shared, request, cancel, &stdout, &stderr)?;
        Ok(Run {
            exit: outcome.exit,
            left_behind: outcome.left_behind,
            blocked: outcome.blocked,
            out_of_memory: outcome.out_of_memory,
            duration: started.elapsed(),
            io_lost: lost(request.streams, &stdout, &stderr),
            stdout: stdout.snapshot(),
            stderr: stderr.snapshot(),
        })
    }

    /// Compiles where needed and runs the program; the private directory goes with the end.
    pub(crate) fn follow(
        self,
        shared: &Shared,
        request: &RunRequest,
        cancel: &Cancel,
        stdout: &SpoolWriter,
        stderr: &SpoolWriter,
    ) -> Result<Outcome, ExecError> {
        let limits = Limits { deadline: request.deadline, cancel, shutdown: &shared.shutdown };
        let mut capture = Capture::new(stdout.clone(), stderr.clone(), shared.output_cap);
        let mut ending = None;
        let outcome = self.commands(shared, request, limits, &mut capture, &mut ending);
        // The supervisor has reported and is ending: the directory is tidied up meanwhile.
        drop(self);
        if let Some(supervisor) = ending {
            supervisor.release();
        }
        outcome
    }

    fn commands(
        &self,
        shared: &Shared,
        request: &RunRequest,
        limits: Limits<'_>,
        capture: &mut Capture,
        ending: &mut Option<Supervisor>,
    ) -> Result<Outcome, ExecError> {
        let context = Context { shared, request, limits, prepared: self };
        if let Some(build) = &self.plan.build
            && let Some(outcome) = context.build(build, capture, ending)?
        {
            return Ok(outcome);
        }
        context.command(&Command::of(&self.plan, &request.cwd), &request.input, capture, ending)
    }
}

/// One command line of a run.
struct Command<'a> {
    program: &'a Path,
    arguments: &'a [std::ffi::OsString],
    cwd: &'a Path,
}

impl<'a> Command<'a> {
    fn of(plan: &'a Plan, cwd: &'a Path) -> Self {
        Self { program: &plan.program, arguments: &plan.arguments, cwd }
    }
}

/// What the command lines of one run share.
struct Context<'a> {
    shared: &'a Shared,
    request: &'a RunRequest,
    limits: Limits<'a>,
    prepared: &'a Prepared,
}

impl Context<'_> {
    /// Makes the program, or takes it from an earlier run. `Some` when that was the end of it: the
    /// compiler's errors are the program's output.
    fn build(
        &self,
        build: &Build,
        capture: &mut Capture,
        ending: &mut Option<Supervisor>,
    ) -> Result<Option<Outcome>, ExecError> {
        let scratch = &self.shared.scratch;
        let key = built::key(build);
        let output = self.prepared.directory.path().join(build.output);
        if let Some(key) = &key
            && built::fetch(scratch, key, &output)
        {
            return Ok(None);
        }
        let command =
            Command { program: &build.program, arguments: &build.arguments, cwd: &build.cwd };
        let outcome = self.command(&command, &Input::Empty, capture, ending)?;
        if outcome.exit != Exit::Code(0) {
            return Ok(Some(outcome));
        }
        if let Some(key) = &key {
            built::keep(scratch, key, &output);
        }
        Ok(None)
    }

    /// Starts one command line and follows it to its end.
    fn command(
        &self,
        command: &Command<'_>,
        input: &Input,
        capture: &mut Capture,
        ending: &mut Option<Supervisor>,
    ) -> Result<Outcome, ExecError> {
        let stdin = open_input(input)?;
        let environment = self.shared.environment.for_run(
            &self.prepared.project,
            command.cwd,
            self.prepared.directory.temporary(),
            &self.prepared.plan.environment,
        );
        let mut tries = 0;
        loop {
            if let Some(exit) = self.limits.reached() {
                return Ok(Outcome::of(exit));
            }
            let spawn = |step: &'static str, source| ExecError::Spawn {
                program: file_name(command.program),
                step,
                source,
            };
            let ends = capture
                .connect(self.request.streams)
                .map_err(|source| spawn("make a pipe", source))?;
            let launch = Launch {
                program: command.program.to_owned(),
                arguments: std::iter::once(command.program.into())
                    .chain(command.arguments.iter().cloned())
                    .collect(),
                environment: environment.clone(),
                cwd: command.cwd.to_owned(),
                stdin: stdin.as_fd(),
                stdout: ends.stdout(),
                stderr: ends.stderr(),
                place: self.prepared.place(self.request),
            };
            let mut launched = self.shared.start(&launch)?;
            drop(ends);
            // The program is only just being started: this costs no time of the run.
            let kills = memory::kills();
            let ended = watch(&mut launched, capture, self.limits);
            let blocked = launched.blocked();
            if ended.is_ok()
                && let Some(before) = ending.replace(launched)
            {
                before.release();
            }
            // A supervisor that could not be followed is stopped where it goes out of scope.
            match ended {
                Ok(Ended::Ran { exit, left_behind }) => {
                    let out_of_memory = exit != Exit::Code(0) && memory::kills() > kills;
                    return Ok(Outcome { exit, left_behind, blocked, out_of_memory });
                }
                Ok(Ended::Refused(failure))
                    if failure.step == Step::Execute
                        && failure.errno == libc::ETXTBSY
                        && tries < BUSY_TRIES =>
                {
                    tries += 1;
                    std::thread::sleep(BUSY_PAUSE);
                }
                Ok(Ended::Refused(failure)) => return Err(self.refused(command, &failure)),
                Err(source) => return Err(spawn("follow the process", source)),
            }
        }
    }
}

impl Context<'_> {
    /// A supervisor's failure as the caller's: the program's own where it is one.
    fn refused(&self, command: &Command<'_>, failure: &Failure) -> ExecError {
        let confined = self.shared.boxes().is_some();
        let spawn = |step| ExecError::Spawn {
            program: file_name(command.program),
            step,
            source: std::io::Error::from_raw_os_error(failure.errno),
        };
        match failure.step {
            Step::WorkingDirectory if confined => ExecError::CwdHidden,
            Step::WorkingDirectory => ExecError::CwdMissing,
            Step::Execute => spawn("execute"),
            _ => {
                tracing::warn!(%failure, "nothing was started");
                if confined {
                    ExecError::Box { step: self.shown(failure) }
                } else {
                    spawn(failure.step.name())
                }
            }
        }
    }

    /// The failed step in words; of paths only those in the workspace.
    fn shown(&self, failure: &Failure) -> String {
        let mut failure = failure.clone();
        let path = Path::new(&failure.detail);
        if path.is_absolute() {
            let below = path.strip_prefix(&self.request.root);
            failure.detail = below.map(|path| path.display().to_string()).unwrap_or_default();
        }
        failure.to_string()
    }
}

impl Prepared {
    /// Where the run works, for its boxes.
    fn place<'a>(&'a self, request: &'a RunRequest) -> Place<'a> {
        let own = self.directory.path();
        let (Program::Code { code: text, .. } | Program::Command(text)) = &request.program;
        Place {
            root: (request.root != own).then_some(&request.root),
            scratch: own,
            builds: self.plan.build.is_some() || may_build(text),
            hidden: &request.view.hidden,
            outbound: request.view.outbound.as_ref(),
            shares_ports: request.deadline.is_none(),
        }
    }
}

/// What of the output is missing, by stream.
pub(crate) fn lost(streams: Streams, stdout: &SpoolWriter, stderr: &SpoolWriter) -> Option<String> {
    let name = match streams {
        Streams::Separate => "stdout",
        Streams::Merged => "output",
    };
    let parts = [(name, stdout.lost()), ("stderr", stderr.lost())];
    let said: Vec<String> = parts
        .into_iter()
        .filter_map(|(name, lost)| lost.map(|lost| format!("{name} {lost}")))
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Whether an error means that nothing more can be written there.
fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// A program's name without its directory.
pub(crate) fn file_name(program: &Path) -> String {
    program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
