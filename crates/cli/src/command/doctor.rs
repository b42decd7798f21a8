//! `doctor`: what the server needs on this machine, and what it means where something is missing.

use std::fmt::Write as _;

use quietcontext_exec::Language;
use serde_json::{Value, json};

use crate::{
    args::Form,
    config::Flags,
    terminal::{self, Exit, Problem},
    wire,
};

/// The outcome of one check.
struct Check {
    name: String,
    state: State,
    /// What was found, or what its absence means.
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Something cannot be done, the rest works.
    Missing,
    Bad,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Missing => "missing",
            Self::Bad => "failed",
        }
    }
}

/// Checks and reports.
pub(crate) fn run(flags: &Flags, form: Form) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let mut checks = vec![Check {
        name: "sandbox".to_owned(),
        state: State::Missing,
        text: "not there yet: programs run unconfined, and every answer of one says so".to_owned(),
    }];
    for language in Language::all() {
        let found = wired.executor.runtime(language);
        checks.push(match found {
            Ok(runtime) => Check {
                name: language.name().to_owned(),
                state: State::Good,
                text: runtime.path.display().to_string(),
            },
            Err(error) => Check {
                name: language.name().to_owned(),
                state: State::Missing,
                text: error.to_string(),
            },
        });
    }
    checks.push(wired.toolbox.with_store(&wired.root.path, |store| {
        let (state, text) = match store.check() {
            Ok(faults) if faults.is_empty() => (State::Good, "sound".to_owned()),
            Ok(faults) => (State::Bad, faults.join("; ")),
            Err(error) => (State::Bad, error.to_string()),
        };
        Check { name: "store".to_owned(), state, text }
    }));
    report(&checks, form)?;
    let bad = checks.iter().any(|check| check.state == State::Bad);
    Ok(if bad { Exit::Failed } else { Exit::Fine })
}

fn report(checks: &[Check], form: Form) -> Result<(), Problem> {
    match form {
        Form::Json => {
            let row = |check: &Check| json!({ "check": check.name, "state": check.state.word(), "text": check.text });
            let checks: Value = checks.iter().map(row).collect();
            terminal::print_line(&checks.to_string())
        }
        Form::Text => {
            let mut text = String::new();
            for check in checks {
                let state = check.state.word();
                // A text in memory takes every line.
                let _written = writeln!(text, "{state:<8} {:<11} {}", check.name, check.text);
            }
            terminal::print(&text)
        }
    }
}
