//! Why a run failed, where it says so: a table from what programs print to one line of advice.
//!
//! Only failed runs are looked at, one line is said at most, and none of it is the program's text.

use std::io::Write as _;
use std::path::Path;

use quietcontext_exec::sandbox::Mode;
use quietcontext_exec::{Exit, Held, Job, Run, Spool};

use crate::context::Context;
use crate::render::{grouped, size};

/// The end of each stream that is looked at, in bytes.
const LOOK: u64 = 16 << 10;
/// A disk with less room than this is full, in bytes.
const FULL_BYTES: u64 = 1 << 20;
/// Exit code of a shell whose program was ended by SIGKILL.
const SHELL_KILLED: i32 = 128 + 9;

/// What a program ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    NodeHeap,
    Memory,
    Tasks,
    OpenFiles,
    FileSize,
    Space,
    Login,
    Terminal,
    Input,
    Network,
    Loopback,
    Files,
}

/// The table: the first sign that is there counts, so what is told apart stands before what is vague.
const SIGNS: &[(Cause, &str)] = &[
    (Cause::NodeHeap, "JavaScript heap out of memory"),
    (Cause::Memory, "MemoryError"),
    (Cause::Memory, "Cannot allocate memory"),
    (Cause::Memory, "memory allocation of "),
    (Cause::Memory, "std::bad_alloc"),
    (Cause::Memory, "fatal error: runtime: out of memory"),
    (Cause::Memory, "fatal error: runtime: cannot allocate memory"),
    (Cause::Memory, "java.lang.OutOfMemoryError: Java heap"),
    (Cause::Memory, "failed to allocate memory (NoMemoryError)"),
    (Cause::Memory, "cannot allocate vector of size"),
    (Cause::Memory, "Out of memory"),
    (Cause::Memory, "virtual memory exhausted"),
    (Cause::Tasks, "fork: retry: Resource temporarily unavailable"),
    (Cause::Tasks, "fork: Resource temporarily unavailable"),
    (Cause::Tasks, "Cannot fork"),
    (Cause::Tasks, "can't start new thread"),
    (Cause::Tasks, "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
    (Cause::Tasks, "failed to create new OS thread"),
    (Cause::Tasks, "unable to create native thread"),
    (Cause::Tasks, "failed to spawn thread"),
    (Cause::Tasks, "code: 'EAGAIN',\n  syscall: 'spawn"),
    (Cause::OpenFiles, "Too many open files"),
    (Cause::OpenFiles, "EMFILE"),
    (Cause::FileSize, "File too large"),
    (Cause::FileSize, "File size limit exceeded"),
    (Cause::FileSize, "EFBIG"),
    (Cause::Space, "No space left on device"),
    (Cause::Space, "ENOSPC"),
    (Cause::Login, "could not read Username for "),
    (Cause::Login, "could not read Password for "),
    (Cause::Login, "terminal prompts disabled"),
    (Cause::Login, "Host key verification failed"),
    (Cause::Login, "Permission denied (publickey"),
    (Cause::Login, "Permission denied (password"),
    (Cause::Login, "sudo: a terminal is required"),
    (Cause::Login, "sudo: a password is required"),
    (Cause::Login, "su: must be run from a terminal"),
    (Cause::Login, "GetPassWarning"),
    (Cause::Login, "no password supplied"),
    (Cause::Login, "Cannot perform an interactive login"),
    (Cause::Login, "gpg: cannot open '/dev/tty'"),
    (Cause::Login, "gpg: signing failed: Inappropriate ioctl"),
    (Cause::Login, "gpg: decryption failed: Inappropriate ioctl"),
    (Cause::Login, "npm error code ENEEDAUTH"),
    (Cause::Login, "gh auth login"),
    (Cause::Terminal, "Inappropriate ioctl for device"),
    (Cause::Terminal, "the input device is not a TTY"),
    (Cause::Terminal, "Output is not to a terminal"),
    (Cause::Terminal, "standard input is not a terminal"),
    (Cause::Terminal, "requires a terminal"),
    (Cause::Terminal, "not a tty"),
    (Cause::Terminal, "/dev/tty: No such"),
    (Cause::Terminal, "Error opening terminal"),
    (Cause::Terminal, "TERM environment variable not set"),
    (Cause::Terminal, "Terminal is dumb, but EDITOR unset"),
    (Cause::Input, "EOFError: EOF when reading a line"),
    (Cause::Input, "Do you want to continue? [Y/n] Abort."),
    (Cause::Input, "end of file reached (EOFError)"),
    (Cause::Network, "Could not resolve host"),
    (Cause::Network, "Temporary failure in name resolution"),
    (Cause::Network, "Name or service not known"),
    (Cause::Network, "getaddrinfo EAI_AGAIN"),
    (Cause::Network, "getaddrinfo ENOTFOUND"),
    (Cause::Network, "Network is unreachable"),
    (Cause::Network, "ENETUNREACH"),
    (Cause::Network, ": no such host"),
    (Cause::Loopback, "Connection refused"),
    (Cause::Loopback, "connection refused"),
    (Cause::Loopback, "Couldn't connect to server"),
    (Cause::Loopback, "ECONNREFUSED"),
    (Cause::Files, "Read-only file system"),
    (Cause::Files, "Permission denied"),
    (Cause::Files, "Operation not permitted"),
];

/// What is known of a failed run.
#[derive(Debug)]
struct Failed<'a> {
    exit: Exit,
    /// The kernel ended some program for lack of memory meanwhile.
    out_of_memory: bool,
    /// Hosts that it was refused are named already.
    network_said: bool,
    /// The last text of its streams.
    text: String,
    /// The sandbox, if there is one.
    held: Option<Held<'a>>,
    root: &'a Path,
}

/// One line on why a finished run failed, if that can be told.
pub(crate) fn of_run(context: &Context, run: &Run) -> Option<String> {
    if run.exit == Exit::Code(0) {
        return None;
    }
    let end = |spool: &Spool| text_end(spool.len(), |at, buffer| spool.read_at(at, buffer));
    let failed = Failed {
        exit: run.exit,
        out_of_memory: run.out_of_memory,
        network_said: run.blocked.is_some(),
        text: end(&run.stdout) + &end(&run.stderr),
        held: context.shared.executor.held(),
        root: &context.root.path,
    };
    failed.line()
}

/// The same for a background job, whose output ends in `end`.
pub(crate) fn of_job(context: &Context, job: &Job, end: &[u8]) -> Option<String> {
    let exit = job.exit().filter(|exit| *exit != Exit::Code(0))?;
    let failed = Failed {
        exit,
        out_of_memory: job.out_of_memory(),
        network_said: job.blocked().is_some(),
        text: text_end(end.len() as u64, |at, mut buffer| {
            buffer.write(end.get(at as usize..).unwrap_or_default())
        }),
        held: context.shared.executor.held(),
        root: &context.root.path,
    };
    failed.line()
}

fn text_end(len: u64, read_at: impl Fn(u64, &mut [u8]) -> std::io::Result<usize>) -> String {
    let mut end = vec![0; len.min(LOOK) as usize];
    let read = read_at(len.saturating_sub(LOOK), &mut end).unwrap_or(0);
    String::from_utf8_lossy(end.get(..read).unwrap_or_default()).into_owned()
}

impl Failed<'_> {
    fn line(&self) -> Option<String> {
        let text = match self.exit {
            Exit::Cancelled | Exit::OutputCap => None,
            Exit::Signal { name: "SIGKILL", .. } | Exit::Code(SHELL_KILLED)
                if self.out_of_memory =>
            {
                Some(self.killed_for_memory())
            }
            Exit::Signal { name: "SIGXFSZ", .. } => self.advice(Cause::FileSize),
            Exit::TimedOut if asks(&self.text) => Some(ASKS.to_owned()),
            _ if self.out_of_memory && self.text.contains("Killed") => {
                Some(self.killed_for_memory())
            }
            _ => {
                let mut signs = SIGNS.iter().filter(|(_, sign)| self.text.contains(sign));
                signs.find_map(|(cause, _)| self.advice(*cause))
            }
        };
        text.map(|text| format!("[{text}]"))
    }

    fn killed_for_memory(&self) -> String {
        match self.held.map(|held| held.limits.memory_bytes).filter(|bytes| *bytes > 0) {
            Some(bytes) => format!(
                "out of memory, the kernel ended it; it may use {}, the user can set sandbox.memory_bytes",
                size(bytes)
            ),
            None => "out of memory, the kernel ended it".to_owned(),
        }
    }

    /// What to say of a cause; nothing where it cannot have been the one.
    fn advice(&self, cause: Cause) -> Option<String> {
        let bound = |what: &str, value: u64, setting: &str| {
            (value > 0).then(|| format!("possibly {what}; the user can set {setting}"))
        };
        let limits = self.held.map(|held| held.limits);
        match cause {
            Cause::NodeHeap => Some(
                "out of memory: the heap limit of Node.js itself; work on parts, or start \
                 node --max-old-space-size=MIB from shell"
                    .to_owned(),
            ),
            Cause::Memory => {
                let bytes = limits?.memory_bytes;
                let what = format!("out of memory: a process may use {}", size(bytes));
                bound(&what, bytes, "sandbox.memory_bytes")
            }
            Cause::Tasks => {
                let tasks = limits?.tasks;
                let what = format!("at the limit of {} processes and threads", grouped(tasks));
                bound(&what, tasks, "sandbox.tasks")
            }
            Cause::OpenFiles => {
                let files = limits?.open_files;
                Some(format!("possibly at the sandbox's limit of {} open files", grouped(files)))
            }
            Cause::FileSize => {
                let bytes = limits?.file_bytes;
                let what = format!("at the limit of {} for one file", size(bytes));
                bound(&what, bytes, "sandbox.file_bytes")
            }
            Cause::Space => self.space(),
            Cause::Login => Some(
                "it asked for a password, key or login, and nobody can answer: the user has to do this"
                    .to_owned(),
            ),
            Cause::Terminal => {
                Some("there is no terminal: use an option that needs none".to_owned())
            }
            Cause::Input => Some(
                "it wanted more standard input than there is: put the input into the program"
                    .to_owned(),
            ),
            Cause::Network => {
                limits?;
                (!self.network_said).then(|| {
                    "the sandbox has no network but its HTTP proxy, to hosts that the user allows: \
                     quietcontext allow HOST"
                        .to_owned()
                })
            }
            Cause::Loopback => {
                limits?;
                (!self.network_said).then(|| {
                    "127.0.0.1 is the sandbox's own: reachable are this program's ports and those of \
                     background jobs, not the host's"
                        .to_owned()
                })
            }
            Cause::Files => self.files(),
        }
    }

    /// Which place is full: the workspace's disk, or else the temporary space in memory.
    fn space(&self) -> Option<String> {
        let disk = rustix::fs::statvfs(self.root).ok()?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < FULL_BYTES {
            return Some("the disk of the workspace is full".to_owned());
        }
        let bytes = self.held?.limits.temporary_bytes;
        (bytes > 0).then(|| {
            format!(
                "possibly full: the temporary space, {} for /tmp and the home; write to the workspace, \
                 or the user can set sandbox.temporary_bytes",
                size(bytes)
            )
        })
    }

    fn files(&self) -> Option<String> {
        let text = match self.held?.mode {
            Mode::WorkspaceWrite => {
                "possibly blocked by sandbox: writable are the workspace and /tmp; the user can set \
                 sandbox.writable or sandbox.readable"
            }
            Mode::ReadOnly => {
                "possibly blocked by sandbox: it is read-only, writable is /tmp alone; the user can \
                 set sandbox.mode"
            }
        };
        Some(text.to_owned())
    }
}

/// Said of a run that was stopped while its last line was a question.
const ASKS: &str = "it waits for an answer to its last line, and nobody can answer: use an option that \
                    needs none";

/// Whether the output ends in a question that waits for its answer on the same line.
fn asks(text: &str) -> bool {
    const WORDS: [&str; 8] =
        ["password", "passphrase", "[y/n]", "(y/n)", "yes/no", "continue?", "proceed?", "username"];
    let last = text.rsplit(['\n', '\r']).next().unwrap_or_default().trim_end().to_lowercase();
    let open = last.ends_with([':', '?', ']', ')', '>']);
    open && last.len() < 200 && WORDS.iter().any(|word| last.contains(word))
}

#[cfg(test)]
mod tests;
