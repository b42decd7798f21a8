//! What a caller asks for and what it gets back: plain data, no behaviour.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::confinement::Outbound;
use crate::language::Language;
use crate::spool::Spool;

/// One program to run, and everything it is given.
#[derive(Debug)]
pub struct RunRequest {
    /// What to run.
    pub program: Program,
    /// The workspace root; its `.venv` and `node_modules/.bin` go first on `PATH`.
    pub root: PathBuf,
    /// Working directory of the program.
    pub cwd: PathBuf,
    /// Standard input.
    pub input: Input,
    /// When the program is stopped; `None` means never. Spawning counts too.
    pub deadline: Option<Instant>,
    /// Whether the two output streams are kept apart.
    pub streams: Streams,
    /// What the program may see and reach beyond what is the same for all.
    pub view: View,
}

/// What one program may see and reach in its box; without confinement nothing of it counts.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Files and directories that are not there for it (canonical).
    pub hidden: Vec<PathBuf>,
    /// Its way to other machines; `None`: there is none.
    pub outbound: Option<Arc<dyn Outbound>>,
}

/// The program's text.
#[derive(Debug, Clone)]
pub enum Program {
    /// A program in one of the languages, run from a private file byte for byte as given.
    Code {
        /// Row of [`crate::LANGUAGES`].
        language: Language,
        /// The text as submitted.
        code: Arc<str>,
    },
    /// Shell text exactly as written: a command of a batch.
    Command(Arc<str>),
}

/// Standard input of the program.
#[derive(Debug)]
pub enum Input {
    /// Nothing to read: end of file at once.
    Empty,
    /// Standard input *is* this file, from its first byte.
    File {
        /// The open file; the description's own offset is neither used nor moved.
        file: File,
        /// The name the program gets in `FILE_PATH`.
        path: PathBuf,
    },
}

/// How the two output streams are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Two pipes, two spools.
    Separate,
    /// One pipe for both: true order. [`Run::stderr`] is then empty.
    Merged,
}

/// How one run went. A non-zero exit, a signal or a time-out is data, not an error.
#[derive(Debug)]
pub struct Run {
    /// How the main process ended.
    pub exit: Exit,
    /// Captured standard output (both streams when merged).
    pub stdout: Spool,
    /// Captured standard error.
    pub stderr: Spool,
    /// From the call to the end of the main process and the drain of its pipes.
    pub duration: Duration,
    /// Processes that had to be stopped after the main process had ended.
    pub left_behind: u32,
    /// It failed, and meanwhile the kernel ended some program of this machine for lack of memory.
    pub out_of_memory: bool,
    /// What it asked of the network and did not get, and what the user can do, in a few lines.
    pub blocked: Option<String>,
    /// Set when capture failed (disk full): what failed and from which byte on output is missing.
    pub io_lost: Option<String>,
}

/// How the main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited by itself.
    Code(i32),
    /// A signal ended it.
    Signal {
        /// Number of the signal.
        number: i32,
        /// Its name, such as `SIGSEGV`.
        name: &'static str,
        /// Whether it left a core file.
        core: bool,
    },
    /// The deadline passed and it was stopped.
    TimedOut,
    /// The call was cancelled or the executor shut down, and it was stopped.
    Cancelled,
    /// It printed more than the cap and was stopped; what was captured is kept.
    OutputCap,
}
