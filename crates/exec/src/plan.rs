//! From a program's text to command lines: what each language's row is handed and what it answers.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use crate::error::ExecError;
use crate::runtime::Runtime;

/// The variable that tells a loader where the staged `FILE_CONTENT` text is. Loaders remove it
/// before the program starts.
pub(crate) const CONTENT_VARIABLE: &str = "QUIETCONTEXT_FILE_CONTENT";

/// What a language's row knows when it plans one run.
pub(crate) struct Planning<'a> {
    /// The program as submitted.
    pub(crate) code: &'a str,
    /// The run's private directory by the path under which the program sees it.
    pub(crate) stage: &'a Path,
    /// The same directory on the server's disk.
    pub(crate) disk: &'a Path,
    /// What will run it.
    pub(crate) runtime: &'a Runtime,
    /// Working directory of the program.
    pub(crate) cwd: &'a Path,
    /// The staged text for `FILE_CONTENT`, when the program uses that name and has a file.
    pub(crate) content: Option<&'a Path>,
    /// Looks another program up, beside the runtime's own directory and on the search path.
    pub(crate) find: &'a dyn Fn(&str) -> Option<PathBuf>,
}

/// The command lines of one run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Compiles first, where the language does.
    pub(crate) build: Option<Build>,
    /// The program to start: absolute path.
    pub(crate) program: PathBuf,
    /// Its arguments, without the zeroth.
    pub(crate) arguments: Vec<OsString>,
    /// Variables on top of the environment that every run gets.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// A compilation and what comes out of it.
#[derive(Debug)]
pub(crate) struct Build {
    /// The compiler: absolute path.
    pub(crate) program: PathBuf,
    /// Its arguments, without the zeroth.
    pub(crate) arguments: Vec<OsString>,
    /// Where it is run.
    pub(crate) cwd: PathBuf,
    /// Name of the file it makes in the run's private directory; what is kept for a rerun.
    pub(crate) output: &'static str,
    /// Everything that decides the output: texts and flags. Hashed into its name in the cache;
    /// `None` when the output must not be used again.
    pub(crate) inputs: Option<Vec<Vec<u8>>>,
}

impl Plan {
    /// A plan without a compilation.
    pub(crate) fn run(program: &Path, arguments: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            build: None,
            program: program.to_owned(),
            arguments: arguments.into_iter().collect(),
            environment: Vec::new(),
        }
    }

    /// Adds a variable.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }
}

impl Planning<'_> {
    /// The path of something in the run's directory on the server's disk.
    pub(crate) fn on_disk(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.stage).map_or_else(|_| path.to_owned(), |name| self.disk.join(name))
    }

    /// Writes the program, byte for byte, and names its file.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf, ExecError> {
        self.write(name, self.code.as_bytes())
    }

    /// Writes a file (0600) into the run's directory.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ExecError> {
        write_private(&self.disk.join(name), bytes).map_err(|source| ExecError::Staging {
            step: "write the program's private file",
            source,
        })?;
        Ok(self.stage.join(name))
    }

    /// Makes a directory (0700) in the run's directory.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf, ExecError> {
        make_private(&self.disk.join(name))?;
        Ok(self.stage.join(name))
    }

    /// Adds the variable that the loaders read, when there is a content to load.
    pub(crate) fn with_content(&self, plan: Plan) -> Plan {
        match self.content {
            Some(content) => plan.with(CONTENT_VARIABLE, content),
            None => plan,
        }
    }
}

/// Makes one directory (0700).
pub(crate) fn make_private(path: &Path) -> Result<(), ExecError> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(|source| ExecError::Staging { step: "make a private directory", source })
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Beyond this limit a write raises SIGXFSZ, whose default is to end the server.
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| bytes.len() as u64 > limit) {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}
