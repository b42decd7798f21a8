//! Runs one program at a time: language table, staging, launch, capture to disk, deadline, kill.
//!
//! Everything here blocks: one call is one thread, the caller's, which starts the program and then
//! polls its pipes, its supervisor and the cancel signal with the deadline as time-out. The crate
//! reads no environment and knows no home directory; what a program may see comes in through
//! [`ExecConfig`]. Nothing is global: an [`Executor`] owns all there is, and building one touches
//! nothing.
//!
//! One program's way through: [`Executor::run`] looks up the runtime, stages the program in a
//! private directory, plans the command lines, launches each under a supervisor that outlives
//! nothing and lets nothing outlive it, captures both pipes, and empties the directory.
//!
//! What a program can rely on:
//!
//! - Its working directory is the request's, its standard input is the request's file or
//!   `/dev/null`, and it has no terminal.
//! - Its environment is an allow-list. `TMPDIR` is a directory of its own run, emptied afterwards.
//! - Whatever it starts ends with it. Processes that outlive the main one have a fifth of a second
//!   to finish, and are then killed and counted. Everything ends when the server's process ends,
//!   also by SIGKILL.
//! - Go, Rust and C# programs are compiled first. The compiler's errors are the program's output,
//!   and a program that was compiled is kept, by a hash of all that went into it.

mod built;
mod cancel;
mod capture;
mod confinement;
mod content;
mod environment;
mod error;
mod executor;
mod input;
mod job;
mod language;
mod launch;
mod memory;
mod pdf;
mod plan;
mod project;
mod request;
mod run;
mod runtime;
pub mod sandbox;
mod scratch;
mod signal;
mod spool;
mod watch;

pub use cancel::Cancel;
pub use confinement::{BoxConfig, Confinement, Outbound, Outlet};
pub use content::CONTENT_LIMIT_BYTES;
pub use error::ExecError;
pub use executor::{ExecConfig, Executor, Held};
pub use job::Job;
pub use language::{LANGUAGES, Language, LanguageRow, Smoke};
pub use pdf::{PDF_BYTES, Pdf, PdfError};
pub use request::{Exit, Input, Program, Run, RunRequest, Streams, View};
pub use runtime::Runtime;
pub use spool::{MEMORY_LIMIT_BYTES, Spool};
