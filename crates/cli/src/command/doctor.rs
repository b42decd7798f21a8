//! `doctor`: what the server needs on this machine, and what it means where something is missing.

use std::fmt::Write as _;

use quietcontext_exec::{
    Executor, Language,
    sandbox::{LayerState, Rung},
};
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
    let mut checks = sandbox(&wired.executor);
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

/// Prints the profile for distributions on which only named programs may make user namespaces.
///
/// AppArmor confines nothing of the binary by it: the profile only gives it that right back. What
/// programs may do is decided by the box.
pub(crate) fn apparmor() -> Result<Exit, Problem> {
    let binary = std::env::current_exe().map_err(Problem::from)?;
    let binary = binary.display().to_string();
    if binary.contains(['"', '\n']) {
        return Err(Problem::usage(anyhow::anyhow!(
            "the path of this binary cannot stand in a profile"
        )));
    }
    terminal::print(&format!(
        "# quietcontext doctor --apparmor | sudo tee /etc/apparmor.d/quietcontext\n\
         # sudo apparmor_parser -r /etc/apparmor.d/quietcontext\n\
         abi <abi/4.0>,\n\
         include <tunables/global>\n\n\
         profile quietcontext \"{binary}\" flags=(unconfined) {{\n  userns,\n}}\n"
    ))?;
    Ok(Exit::Fine)
}

/// Whether programs can be confined here, layer by layer.
fn sandbox(executor: &Executor) -> Vec<Check> {
    let check = |name: &str, state, text| Check { name: name.to_owned(), state, text };
    let assessment = match executor.assessment() {
        Ok(Some(assessment)) => assessment,
        Ok(None) => {
            let text =
                "off by the configuration: programs run unconfined, and every answer says so";
            return vec![check("sandbox", State::Missing, text.to_owned())];
        }
        Err(error) => return vec![check("sandbox", State::Bad, error.to_string())],
    };
    let (state, words) = match assessment.rung {
        Some(Rung::Namespaces) => (State::Good, "every program runs in a box of its own"),
        Some(Rung::Landlock) => (State::Missing, "programs run with fewer layers"),
        None => {
            (State::Bad, "execute, exec-file and batch refuse; index, search and fetch-index work")
        }
    };
    let said = assessment.announcement.as_deref().map(|line| format!(": {line}"));
    let mut checks = vec![check("sandbox", state, format!("{words}{}", said.unwrap_or_default()))];
    for layer in &assessment.layers {
        let (state, text) = match &layer.state {
            LayerState::Present(how) if how.is_empty() => (State::Good, layer.meaning().to_owned()),
            LayerState::Present(how) => (State::Good, format!("{} ({how})", layer.meaning())),
            LayerState::Missing(why) => {
                let remedy = layer.remedy().map(|remedy| format!("; repair: {remedy}"));
                let text = format!(
                    "{why}; without it not: {}{}",
                    layer.meaning(),
                    remedy.unwrap_or_default()
                );
                (State::Missing, text)
            }
        };
        checks.push(check(&layer.name, state, text));
    }
    checks
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
                let _written = writeln!(text, "{state:<8} {:<17} {}", check.name, check.text);
            }
            terminal::print(&text)
        }
    }
}
