//! The whole error space of running a program: each variant names the step and what it was about.

use std::io;

/// Why a program could not be run. How it *went* is [`crate::Run`].
///
/// Every text is one line and names no path inside the scratch directories.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// No program that runs this language is on the path.
    #[error("no runtime for {language} on the path ({hint}); available: {}", list(available))]
    MissingRuntime {
        /// The language asked for.
        language: &'static str,
        /// What to install.
        hint: &'static str,
        /// Languages that could run here.
        available: Vec<&'static str>,
    },
    /// The program's private directory or file could not be made.
    #[error("could not stage the program: {step}: {source}")]
    Staging {
        /// What was tried.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The process could not be started.
    #[error("could not start {program}: {step}: {source}")]
    Spawn {
        /// Name of the runtime, without its directory.
        program: String,
        /// What was tried.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The working directory is not there or is not a directory.
    #[error("working directory is missing or not a directory")]
    CwdMissing,
    /// The working directory exists and the box does not show it.
    #[error(
        "the sandbox does not show the working directory; give one in the workspace, or the user \
         can add it to sandbox.readable"
    )]
    CwdHidden,
    /// The input file could not be handed over as standard input.
    #[error("could not read the input file: {step}: {source}")]
    Input {
        /// What was tried.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// `FILE_CONTENT` would hold more than the limit.
    #[error(
        "FILE_CONTENT is limited to {limit_bytes} bytes and the file has {bytes}; \
         read it from standard input or FILE_PATH"
    )]
    FileContentTooLarge {
        /// Size of the file in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// A shell variable cannot hold the NUL bytes of this file.
    #[error(
        "the file contains NUL bytes, which a shell variable cannot hold; \
         read it from standard input or FILE_PATH instead of FILE_CONTENT"
    )]
    FileContentNul,
    /// The program's text cannot be run as given.
    #[error("the program cannot be run: {0}")]
    Program(&'static str),
    /// The sandbox cannot be had on this machine.
    #[error("{0}")]
    Unconfinable(String),
    /// The box of this program could not be built; nothing ran.
    #[error("nothing was run: the sandbox failed at {step}; the user can run: quietcontext doctor")]
    Box {
        /// Which step, what it was about, and why.
        step: String,
    },
    /// The executor was shut down.
    #[error("the server is shutting down")]
    ShutDown,
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
