//! What people see: standard output, standard error and exit codes.

pub(crate) mod clock;
pub(crate) mod look;
pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod text;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use self::look::{Look, Style};

/// How the program ends. The numbers are documented in `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked.
    Fine,
    /// The call answered with an error, or what was asked for is not there.
    Failed,
    /// The arguments or the configuration are wrong; nothing was done.
    Usage,
    /// A signal ended it.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130,
        })
    }
}

/// Something that ends the program with a line for the person who started it.
#[derive(Debug)]
pub(crate) struct Problem {
    exit: Exit,
    error: anyhow::Error,
}

impl Problem {
    /// Wrong arguments or a wrong configuration.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self { exit: Exit::Failed, error: error.into() }
    }
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a line to standard output, ending it if need be.
pub(crate) fn print_line(text: &str) -> Result<(), Problem> {
    print(text)?;
    if text.ends_with('\n') { Ok(()) } else { print("\n") }
}

/// Writes a line to standard error. Nothing can be done where that fails.
pub(crate) fn warn(text: &str) {
    // What is said may hold names that came from elsewhere.
    let text = text::clean(text);
    let _unheard = writeln!(io::stderr().lock(), "quietcontext: {text}");
}

/// Writes a question to standard error, where it is not taken for output.
pub(crate) fn ask(question: &str) -> Result<(), Problem> {
    let mut out = io::stderr().lock();
    out.write_all(text::clean(question).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Says to a person what to type next; a pipe or a log does not need to know.
pub(crate) fn hint(text: &str) {
    let look = Look::stderr();
    if look.person {
        let _unheard = writeln!(io::stderr().lock(), "{}", look.paint(Style::Dim, text));
    }
}

/// The exit code of an outcome; tells of a problem first.
pub(crate) fn finish(outcome: Result<Exit, Problem>) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(problem) if is_broken_pipe(&problem.error) => Exit::Fine.into(),
        Err(problem) => {
            warn(&format!("{:#}", problem.error));
            problem.exit.into()
        }
    }
}

/// Whoever read our output has seen enough (`quietcontext cat … | head`).
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
