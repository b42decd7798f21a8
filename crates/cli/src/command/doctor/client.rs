//! The clients on this machine: whether they start this program, and whether they run its tools
//! unasked.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Check, Patient, State, version};
use crate::setup::{self, Status, client::Approval, clients::CLIENTS};

/// A row for each client that is here or has an entry.
pub(super) fn checks(patient: &Patient) -> Vec<Check> {
    let statuses =
        CLIENTS.iter().filter_map(|client| setup::status(client, &patient.surroundings).ok());
    let shown: Vec<Status> =
        statuses.filter(|status| status.here || !matches!(status.entry, Ok(None))).collect();
    let started: Vec<_> = shown.iter().map(|status| started(status, patient)).collect();
    // Only another one has to be asked.
    let others: Vec<_> = started
        .iter()
        .flatten()
        .filter(|file| file.is_file() && !setup::is_this_program(file))
        .cloned()
        .collect();
    let versions = version::of(&others, patient);
    shown
        .iter()
        .zip(&started)
        .map(|(status, program)| {
            let other =
                program.as_deref().filter(|program| others.iter().any(|other| other == program));
            let version =
                other.map(|program| versions.get(program).map_or("unknown", String::as_str));
            check(status, program.as_deref(), version, patient)
        })
        .collect()
}

/// The program of an entry; a bare name is looked up as clients do.
fn started(status: &Status, patient: &Patient) -> Option<PathBuf> {
    let Ok(Some(entry)) = &status.entry else { return None };
    let command = match entry.get("command").or_else(|| entry.get("cmd"))? {
        Value::Array(words) => words.first()?.as_str()?,
        word => word.as_str()?,
    };
    if command.contains('/') {
        return Some(PathBuf::from(command));
    }
    let path = patient.surroundings.variable("PATH").unwrap_or_default();
    let mut named = std::env::split_paths(path).map(|folder| folder.join(command));
    Some(named.find(|file| file.is_file()).unwrap_or_else(|| PathBuf::from(command)))
}

/// `version`: of a program that is not this one.
fn check(
    status: &Status,
    program: Option<&Path>,
    version: Option<&str>,
    patient: &Patient,
) -> Check {
    const OWN: &str = env!("CARGO_PKG_VERSION");
    let client = status.client;
    let setup = format!("quietcontext setup {}", client.name);
    let file = status.file.display();
    match &status.entry {
        Err(error) => {
            return Check::bad(client.title, format!("{file} cannot be read: {error:#}"))
                .means("the client may not start, or not with this server")
                .repaired_by(format!("mend {file}"));
        }
        Ok(None) => {
            return Check::missing(client.title, "it does not know this server").repaired_by(setup);
        }
        Ok(Some(_)) => {}
    }
    if let Some(program) = program
        && !program.is_file()
    {
        return Check::bad(
            client.title,
            format!("its entry starts {}, which is not there", program.display()),
        )
        .means("the client has no tools of this server")
        .repaired_by(setup);
    }
    let own = if program.is_some() { "set up" } else { "set up to use the daemon" };
    let known = version.map_or_else(
        || own.to_owned(),
        |version| format!("set up with another program, version {version}"),
    );
    let (word, how) = match (&client.approval, status.unasked) {
        (Approval::Given, _) => (client.otherwise.to_owned(), None),
        (_, true) => ("it runs all six tools unasked".to_owned(), None),
        (Approval::ByHand(how), false) => (client.otherwise.to_owned(), Some((*how).to_owned())),
        (_, false) => (client.otherwise.to_owned(), Some(format!("{setup} --approve"))),
    };
    let mut check = Check::good(client.title, format!("{known}; {word}"));
    if version.is_some_and(|version| version != OWN) {
        let program = program.unwrap_or(Path::new("")).display();
        check.state = State::Missing;
        return check.means(format!("it starts {program}, this is {OWN}")).repaired_by(setup);
    }
    if status.unasked && patient.settings.sandbox.mode.is_none() {
        check.state = State::Missing;
        return check
            .means("the sandbox is off: what its model wants to run is run at once, unconfined");
    }
    if let Some(how) = how {
        check.consequence = format!("to let it run them unasked: {how}");
    }
    check
}
