//! The public face: one executor owns the configuration, the found runtimes and the shutdown flag.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::cancel::Cancel;
use crate::confinement::{Boxes, Confinement, untried};
use crate::environment::Environment;
use crate::error::ExecError;
use crate::job::Job;
use crate::language::{Candidate, Language, Needs};
use crate::launch::{Launch, Supervisor};
use crate::project::ProjectTools;
use crate::request::{Run, RunRequest};
use crate::run::Prepared;
use crate::runtime::{self, Runtime};
use crate::sandbox::{self, Assessment, Launcher, Limits, Mode, Rung, STAGE};
use crate::scratch::Scratch;

/// What an executor is built from. Taken once, by the one place that reads the environment.
#[derive(Debug, Clone)]
pub struct ExecConfig {
    /// Directories for staged programs and spooled output, best first; made (0700) on first use.
    /// Short paths are better: programs make sockets below them, whose names are limited.
    pub scratch: Vec<PathBuf>,
    /// Search path for runtimes and for the programs themselves.
    pub path: OsString,
    /// Snapshot of the server's environment; an allow-list decides what of it programs see.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables of it that the user passes through on top of the allow-list.
    pub passed: Vec<OsString>,
    /// Most bytes one run may print (both streams together) before it is stopped.
    pub output_cap: u64,
    /// How programs are held.
    pub confinement: Confinement,
    /// The binary whose `main` calls [`crate::sandbox::child_main`] for its hidden role:
    /// `/proc/self/exe` but for tests.
    pub binary: PathBuf,
}

/// What holds the programs of an executor: to say it where a program ran into it.
#[derive(Debug, Clone, Copy)]
pub struct Held<'a> {
    /// Whether workspaces may be written.
    pub mode: Mode,
    /// Bounds of one box.
    pub limits: &'a Limits,
}

/// Runs programs. Shared between threads; dropping it does not stop what it runs.
#[derive(Debug)]
pub struct Executor {
    shared: Arc<Shared>,
}

/// What runs and background jobs need of their executor.
#[derive(Debug)]
pub(crate) struct Shared {
    /// `None`: programs are not confined.
    boxes: Option<Arc<Boxes>>,
    /// What starts the supervisors of programs.
    pub(crate) launcher: Arc<Launcher>,
    /// Whether what is weaker on this machine has been said.
    announced: AtomicBool,
    pub(crate) environment: Environment,
    pub(crate) scratch: Arc<Scratch>,
    pub(crate) output_cap: u64,
    pub(crate) shutdown: Cancel,
    /// Found runtimes. What is missing is looked for again: somebody may just have installed it.
    runtimes: Mutex<HashMap<Language, Runtime>>,
}

impl Executor {
    /// Builds an executor. Starts nothing and writes nothing.
    pub fn new(config: ExecConfig) -> Self {
        let boxes = match config.confinement {
            Confinement::Off => None,
            Confinement::Boxed(boxes) => Some(Arc::new(Boxes::new(*boxes, &config.path))),
        };
        let limits = boxes.as_ref().map(|boxes| boxes.held().limits.clone());
        let shared = Shared {
            boxes,
            launcher: Arc::new(Launcher::new(config.binary, limits)),
            announced: AtomicBool::new(false),
            environment: Environment::new(&config.environment, &config.passed, config.path),
            scratch: Arc::new(Scratch::new(config.scratch)),
            output_cap: config.output_cap,
            shutdown: Cancel::new(),
            runtimes: Mutex::new(HashMap::new()),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The program that runs `language`: looked for on the path when first asked, then remembered.
    pub fn runtime(&self, language: Language) -> Result<Runtime, ExecError> {
        self.shared.runtime(language, &ProjectTools::default())
    }

    /// Where programs are looked for: the search path that the executor was built with.
    pub fn search_path(&self) -> &OsStr {
        self.shared.environment.search_path()
    }

    /// Runs one program to its end, its deadline or its cancellation, in the calling thread.
    pub fn run(&self, request: &RunRequest, cancel: &Cancel) -> Result<Run, ExecError> {
        let prepared = Prepared::new(&self.shared, request)?;
        // What the first run of a server tries before it is not the program's time.
        prepared.run(&self.shared, request, cancel, Instant::now())
    }

    /// Starts one program in the background, in a thread of its own. Its streams are merged.
    pub fn start(&self, request: RunRequest) -> Result<Job, ExecError> {
        Job::start(Arc::clone(&self.shared), request)
    }

    /// What this machine can hold of the sandbox, layer by layer; `None` where programs are not
    /// confined.
    pub fn assessment(&self) -> Result<Option<Assessment>, ExecError> {
        if self.shared.boxes.is_none() {
            return Ok(None);
        }
        let directory = self.shared.scratch.run_directory()?;
        let assessed = sandbox::assess(self.shared.launcher.binary(), directory.path());
        assessed.map(Some).map_err(untried)
    }

    /// What holds programs here; `None` where they are not confined.
    pub fn held(&self) -> Option<Held<'_>> {
        self.shared.boxes.as_ref().map(|boxes| boxes.held())
    }

    /// What is weaker here than promised, the first time this is asked after a run; then nothing.
    pub fn announcement(&self) -> Option<String> {
        let text = self.shared.boxes.as_ref()?.known()?.announcement.clone()?;
        (!self.shared.announced.swap(true, Ordering::Relaxed)).then_some(text)
    }

    /// An open file without a name in a scratch directory, for text that is handed to a program as
    /// its input. It is gone with its last descriptor.
    pub fn scratch_file(&self) -> io::Result<File> {
        self.shared.scratch.spool_file()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Stops every run and job at once and refuses new ones. Does not wait; idempotent.
    ///
    /// A process that ends right after this call, or without it, takes its programs along as well.
    pub fn shutdown(&self) {
        self.shared.shutdown.cancel();
        self.shared.launcher.dismiss();
    }
}

impl Shared {
    /// The boxes; `None` where programs are not confined.
    pub(crate) fn boxes(&self) -> Option<&Boxes> {
        self.boxes.as_deref()
    }

    /// The layers that hold a box here, or the line with which programs are refused.
    pub(crate) fn rung(&self, boxes: &Boxes) -> Result<Rung, ExecError> {
        let standing = boxes.standing(&self.launcher, &self.scratch)?;
        standing.rung.ok_or_else(|| {
            ExecError::Unconfinable(standing.announcement.clone().unwrap_or_default())
        })
    }

    /// Starts a command line, in a box where the user did not choose otherwise. Either way the run
    /// gets a supervisor and follows it in the same manner.
    pub(crate) fn start(&self, launch: &Launch<'_>) -> Result<Supervisor, ExecError> {
        let started = match &self.boxes {
            None => launch.start_unconfined(&self.launcher),
            Some(boxes) => launch.start_boxed(&self.launcher, boxes, self.rung(boxes)?),
        };
        started.map_err(|source| ExecError::Spawn {
            program: crate::run::file_name(&launch.program),
            step: "make a process",
            source,
        })
    }

    /// Where a program sees its run's directory: where it is, but for boxes, whose programs all see
    /// the same short path. It stands in every message that names the program.
    pub(crate) fn shown(&self, directory: &Path) -> Result<PathBuf, ExecError> {
        match &self.boxes {
            Some(boxes) if self.rung(boxes)? == Rung::Namespaces => Ok(STAGE.into()),
            _ => Ok(directory.to_owned()),
        }
    }

    /// Refuses where the machine cannot hold what the user asked for: before anything is staged.
    pub(crate) fn check_confinement(&self) -> Result<(), ExecError> {
        match &self.boxes {
            None => Ok(()),
            Some(boxes) => self.rung(boxes).map(drop),
        }
    }

    /// The program that runs `language`; a project's own one counts first.
    pub(crate) fn runtime(
        &self,
        language: Language,
        project: &ProjectTools,
    ) -> Result<Runtime, ExecError> {
        self.find_runtime(language, project).ok_or_else(|| {
            let available = Language::all()
                .filter(|other| self.find_runtime(*other, project).is_some())
                .map(Language::name)
                .collect();
            ExecError::MissingRuntime {
                language: language.name(),
                hint: language.row().install,
                available,
            }
        })
    }

    fn find_runtime(&self, language: Language, project: &ProjectTools) -> Option<Runtime> {
        for (number, candidate) in language.row().candidates.iter().enumerate() {
            let directories = project.directories().iter().map(PathBuf::as_path);
            let found = candidate.from_project.then(|| find_binary_in(candidate, directories));
            if let Some(path) = found.flatten() {
                let name = candidate.name;
                return Some(Runtime { language, name, path, version: None, candidate: number });
            }
        }
        let known = |runtimes: &HashMap<Language, Runtime>| runtimes.get(&language).cloned();
        if let Some(runtime) = known(&self.runtimes.lock().unwrap_or_else(PoisonError::into_inner))
        {
            return Some(runtime);
        }
        // Outside the lock: looking may start a process.
        let mut candidates = language.row().candidates.iter().enumerate();
        let found = candidates
            .find_map(|(number, candidate)| self.look_for(language, number, candidate))?;
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.insert(language, found.clone());
        Some(found)
    }

    fn look_for(&self, language: Language, number: usize, row: &Candidate) -> Option<Runtime> {
        let search_path = self.environment.search_path();
        let path = row.binaries.iter().find_map(|name| runtime::find_on_path(search_path, name))?;
        let mut version = None;
        match row.needs {
            Needs::Nothing => {}
            Needs::Version(major, minor) => {
                version = self.version_of(&path);
                if version < Some((major, minor)) {
                    return None;
                }
            }
            Needs::Companion(name) => {
                self.find_beside(&path, name)?;
            }
        }
        Some(Runtime { language, name: row.name, path, version, candidate: number })
    }

    /// Another program, beside this one or else on the search path.
    pub(crate) fn find_beside(&self, program: &Path, name: &str) -> Option<PathBuf> {
        runtime::find_in(program.parent(), name)
            .or_else(|| runtime::find_on_path(self.environment.search_path(), name))
    }
}

fn find_binary_in<'a>(
    candidate: &Candidate,
    directories: impl Iterator<Item = &'a Path> + Clone,
) -> Option<PathBuf> {
    candidate.binaries.iter().find_map(|name| runtime::find_in(directories.clone(), name))
}
