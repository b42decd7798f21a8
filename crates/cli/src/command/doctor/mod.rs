//! `doctor`: what the server needs on this machine, what it means where something is missing, and
//! what repairs it.
//!
//! People wait for it, so what takes long runs side by side, and what does not answer in time is said
//! to be unknown.

mod client;
mod daemon;
mod disk;
mod programs;
mod sandbox;
mod version;

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::anyhow;
use serde_json::{Value, json};

use crate::{
    args::Form,
    config::{self, Flags, Settings, Surroundings},
    network::Reach,
    terminal::{
        self, Exit, Problem,
        look::{Look, Style},
        text,
    },
    wire,
};

/// How long programs and the store may take to answer when people wait.
const PATIENCE: Duration = Duration::from_millis(150);

/// The same for who asked for everything.
const MUCH_PATIENCE: Duration = Duration::from_secs(10);

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    name: String,
    state: State,
    /// What was found.
    found: String,
    /// What that means for the user, where it is not what they want.
    consequence: String,
    /// The command, or what else repairs it.
    repair: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    fn style(self) -> Style {
        match self {
            Self::Good => Style::Good,
            Self::Missing => Style::Place,
            Self::Bad => Style::Bad,
        }
    }
}

impl Check {
    fn good(name: &str, found: impl Into<String>) -> Self {
        let (consequence, repair) = (String::new(), None);
        Self { name: name.to_owned(), state: State::Good, found: found.into(), consequence, repair }
    }

    fn missing(name: &str, found: impl Into<String>) -> Self {
        Self { state: State::Missing, ..Self::good(name, found) }
    }

    fn bad(name: &str, found: impl Into<String>) -> Self {
        Self { state: State::Bad, ..Self::good(name, found) }
    }

    fn means(self, consequence: impl Into<String>) -> Self {
        Self { consequence: consequence.into(), ..self }
    }

    fn repaired_by(self, repair: impl Into<String>) -> Self {
        Self { repair: Some(repair.into()), ..self }
    }
}

/// What the checks are about.
struct Patient {
    surroundings: Surroundings,
    settings: Settings,
    data_dir: PathBuf,
    /// When nobody waits any longer.
    deadline: Instant,
}

/// Checks and reports. `thorough`: every byte of the store and every program, however long that takes.
pub(crate) fn run(flags: &Flags, thorough: bool, form: Form) -> Result<Exit, Problem> {
    let deadline = Instant::now() + if thorough { MUCH_PATIENCE } else { PATIENCE };
    let wired = wire::wire(flags)?;
    let surroundings = Surroundings::of_process();
    let settings = config::load(flags, &surroundings).map_err(Problem::usage)?.settings;
    let no_home = || anyhow!("no home directory is known: give --data-dir");
    let data_dir = settings.data_dir.clone().ok_or_else(no_home).map_err(Problem::usage)?;
    let patient = Patient { surroundings, settings, data_dir, deadline };

    let (store, executor) = (Arc::clone(&wired.toolbox), Arc::clone(&wired.executor));
    let root = wired.root.path.clone();
    let (say, stored) = mpsc::channel();
    // Not joined: the check of a large store ends with the process.
    thread::spawn(move || say.send(store.with_store(&root, disk::store)));
    let checks = thread::scope(|scope| {
        let confined = scope.spawn(|| sandbox::checks(&executor));
        let languages = scope.spawn(|| programs::languages(&executor, &patient));
        let clients = scope.spawn(|| client::checks(&patient));
        let daemon = scope.spawn(|| vec![daemon::check(&patient)]);
        let mut checks = vec![programs::own(&patient)];
        checks.extend(joined(confined.join(), "sandbox"));
        checks.push(network(&patient.settings));
        checks.extend(joined(languages.join(), "runtimes"));
        let left = if thorough {
            stored.recv().ok()
        } else {
            stored.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
        };
        checks.push(left.unwrap_or_else(|| {
            Check::good(
                "store",
                "it opens; checking all of it takes longer: quietcontext doctor --thorough",
            )
        }));
        checks.push(disk::space(&patient));
        checks.extend(joined(daemon.join(), "daemon"));
        checks.extend(joined(clients.join(), "clients"));
        checks
    });
    report(&checks, form)?;
    let bad = checks.iter().any(|check| check.state == State::Bad);
    Ok(if bad { Exit::Failed } else { Exit::Fine })
}

/// A check that panicked is a row, too.
fn joined(outcome: thread::Result<Vec<Check>>, name: &str) -> Vec<Check> {
    outcome.unwrap_or_else(|_| vec![Check::bad(name, "the check itself failed")])
}

/// Prints the profile for distributions on which only named programs may make user namespaces.
///
/// AppArmor confines nothing of the binary by it: the profile only gives it that right back. What
/// programs may do is decided by the box.
pub(crate) fn apparmor() -> Result<Exit, Problem> {
    let binary = std::env::current_exe().map_err(Problem::from)?;
    let binary = binary.display().to_string();
    if binary.contains(['"', '\n']) {
        return Err(Problem::usage(anyhow!("the path of this binary cannot stand in a profile")));
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

/// What programs reach.
fn network(settings: &Settings) -> Check {
    let check = |found: &str| Check::good("network", found);
    match settings.network {
        Reach::Allowlist => check("allowlist: programs reach the hosts of `quietcontext allowed`"),
        Reach::Off => check("off: programs reach nothing").means("installing packages fails"),
        Reach::On => check("on: programs reach every host but this machine")
            .means("what a program reads it can send anywhere"),
    }
}

fn report(checks: &[Check], form: Form) -> Result<(), Problem> {
    match form {
        Form::Json => {
            let row = |check: &Check| {
                json!({
                    "check": check.name,
                    "state": check.state.word(),
                    "text": check.found,
                    "consequence": check.consequence,
                    "repair": check.repair,
                })
            };
            let checks: Value = checks.iter().map(row).collect();
            terminal::print_line(&checks.to_string())
        }
        Form::Text => terminal::print(&lines(checks, Look::stdout())),
    }
}

/// A line for each check; below it what follows from it, and what repairs it.
fn lines(checks: &[Check], look: Look) -> String {
    const STATE: usize = 8;
    let width = checks.iter().map(|check| text::columns(&check.name)).max().unwrap_or(0) + 1;
    let below = " ".repeat(STATE + 1 + width);
    let mut lines = String::new();
    for check in checks {
        let word = check.state.word();
        let word = look.paint(check.state.style(), word) + &" ".repeat(STATE - word.len());
        let name = &check.name;
        let blanks = " ".repeat(width.saturating_sub(text::columns(name)));
        lines += &format!("{word} {name}{blanks}{}\n", text::one_line(&check.found));
        if !check.consequence.is_empty() {
            lines += &format!("{below}{}\n", text::one_line(&check.consequence));
        }
        if let Some(repair) = &check.repair {
            let repair = text::one_line(repair);
            lines += &format!("{below}{} {repair}\n", look.paint(Style::Dim, "repair:"));
        }
    }
    let count = |state| checks.iter().filter(|check| check.state == state).count() as u64;
    let (missing, bad) = (count(State::Missing), count(State::Bad));
    lines += &match (missing, bad) {
        (0, 0) => "\nall is well\n".to_owned(),
        (missing, 0) => {
            format!("\nnothing is broken; {missing} of {} could be better\n", checks.len())
        }
        (_, bad) => format!("\n{} broken\n", text::counted(bad, "check").replace("check", "row")),
    };
    lines
}
