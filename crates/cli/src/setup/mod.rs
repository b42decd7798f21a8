//! Entering this server into the configuration of clients, and taking that back.

pub(crate) mod client;
pub(crate) mod clients;
pub(crate) mod diff;
pub(crate) mod edit;
mod file;
mod launch;
mod record;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

pub(crate) use self::launch::{is_this_program, launch, passing};
use self::{
    client::{Approval, Client, Launch},
    edit::{Change, Format},
    file::Original,
    record::{Record, Records},
};
use crate::{
    config::Surroundings,
    daemon::service::{self, Service},
};

/// One file before and after.
pub(crate) struct Edit {
    /// The file, as it is named.
    pub(crate) file: PathBuf,
    original: Original,
    /// What it will hold; `None` when it is to be removed.
    pub(crate) after: Option<String>,
    /// How many of the folders above it were made for it, and go with it.
    folders: usize,
    /// What has to be kept to take this back; `None` when this takes something back.
    record: Option<Record>,
}

impl Edit {
    /// What it held.
    pub(crate) fn before(&self) -> Option<&str> {
        self.original.text.as_deref()
    }

    /// Whether anything changes.
    pub(crate) fn changes(&self) -> bool {
        self.before() != self.after.as_deref()
    }
}

/// What is known of a client on this machine.
pub(crate) struct Status {
    /// The client.
    pub(crate) client: &'static Client,
    /// Whether there are signs of it.
    pub(crate) here: bool,
    /// Its file.
    pub(crate) file: PathBuf,
    /// Its entry for this server; the error says why the file cannot be read.
    pub(crate) entry: Result<Option<Value>>,
    /// Whether it runs all tools unasked.
    pub(crate) unasked: bool,
}

/// Looks at one client.
pub(crate) fn status(client: &'static Client, surroundings: &Surroundings) -> Result<Status> {
    let file = client.place.file(surroundings).ok_or_else(no_home)?;
    let said = said(client, &file);
    let unasked = match (&client.approval, &said) {
        (Approval::Given, _) => true,
        (Approval::Entry(_), Ok(said)) => changes_nothing(said, &client.approving(said)),
        (Approval::Beside(place, changes), _) => place
            .file(surroundings)
            .and_then(|file| self::said(client, &file).ok())
            .is_some_and(|said| changes_nothing(&said, &changes())),
        (Approval::ByHand(_), _) | (Approval::Entry(_), Err(_)) => false,
    };
    let entry = said.map(|said| edit::at(&said, &client.keys(&said)).cloned());
    Ok(Status { client, here: client.is_here(surroundings), file, entry, unasked })
}

fn said(client: &Client, file: &Path) -> Result<Value> {
    let text = file::read(file)?.text.unwrap_or_default();
    edit::read(client.format, &text)
}

fn changes_nothing(said: &Value, changes: &[Change]) -> bool {
    changes.iter().all(|change| edit::effective(said, change).is_none())
}

/// The edits that enter `launch` into a client's configuration; with `approve` also those that let
/// it run the tools unasked. Nothing is written.
///
/// # Errors
///
/// A file that cannot be read or changed, named.
pub(crate) fn plan(
    client: &'static Client,
    launch: &Launch,
    approve: bool,
    surroundings: &Surroundings,
    data_dir: &Path,
) -> Result<Vec<Edit>> {
    let file = client.place.file(surroundings).ok_or_else(no_home)?;
    let own = |said: &Value| {
        let mut changes = client.entry(said, launch);
        if approve {
            changes.extend(client.approving(said));
        }
        changes
    };
    let beside = match &client.approval {
        Approval::Beside(place, changes) if approve => {
            Some((place.file(surroundings).ok_or_else(no_home)?, changes()))
        }
        _ => None,
    };
    let records = Records::load(data_dir)?.of(client.name);
    let mut edits = Vec::new();
    match beside {
        Some((other, more)) if other == file => {
            let both = |said: &Value| own(said).into_iter().chain(more.clone()).collect();
            edits.push(edit_of(client, &file, both, &records)?);
        }
        Some((other, more)) => {
            edits.push(edit_of(client, &file, own, &records)?);
            edits.push(edit_of(client, &other, |_| more.clone(), &records)?);
        }
        None => edits.push(edit_of(client, &file, own, &records)?),
    }
    Ok(edits)
}

fn edit_of(
    client: &Client,
    file: &Path,
    changes: impl Fn(&Value) -> Vec<Change>,
    records: &[Record],
) -> Result<Edit> {
    let edit = || -> Result<Edit> {
        let original = file::read(file)?;
        let now = original.text.as_deref().unwrap_or_default();
        let changes = changes(&edit::read(client.format, now)?);
        let text = edit::apply(client.format, now, &changes)?;
        let back = edit::inverse(client.format, now, &changes)?;
        let known = records.iter().find(|record| record.file == file);
        let folders = made(&original, known);
        let record = match known {
            // What was there before the first time is what comes back.
            Some(known) => {
                let before = known.taken_back(client.format, now)?;
                Record::new(file, before.as_deref(), &text, known.back_behind(back))
            }
            None => Record::new(file, original.text.as_deref(), &text, back),
        };
        // A file is not made for nothing.
        let unchanged = original.text.is_none() && text.is_empty();
        let after = if unchanged { None } else { Some(text) };
        let record = record.with_folders(folders);
        Ok(Edit { file: file.to_owned(), original, after, folders, record: Some(record) })
    };
    edit().with_context(|| file.display().to_string())
}

/// The edits that take back what setup changed. Nothing is written.
///
/// # Errors
///
/// Nothing to take back; a file that cannot be read or changed.
pub(crate) fn plan_back(name: &str, format: Format, data_dir: &Path) -> Result<Vec<Edit>> {
    let records = Records::load(data_dir)?.of(name);
    if records.is_empty() {
        bail!("nothing was set up by this command, so nothing is taken back");
    }
    let edit = |record: &Record| -> Result<Edit> {
        let original = file::read(&record.file)?;
        let after = match &original.text {
            Some(now) => record.taken_back(format, now)?,
            None => None,
        };
        let folders = record.folders;
        Ok(Edit { file: record.file.clone(), original, after, folders, record: None })
    };
    records
        .iter()
        .map(|record| edit(record).with_context(|| record.file.display().to_string()))
        .collect()
}

/// Whether something was set up that can be taken back.
pub(crate) fn can_go_back(client: &Client, data_dir: &Path) -> Result<bool> {
    Ok(Records::load(data_dir)?.has(client.name))
}

/// Writes one edit. What takes it back is kept first.
/// `name`: the client's, or [`UNIT`].
pub(crate) fn carry_out(name: &str, edit: &Edit, data_dir: &Path) -> Result<()> {
    let mut records = Records::load(data_dir)?;
    let before = records.of(name).into_iter().find(|record| record.file == edit.file);
    let write = || match &edit.after {
        Some(text) => edit.original.replace(text),
        None => edit.original.remove(edit.folders),
    };
    let written = |outcome: Result<()>| {
        outcome.with_context(|| format!("{} stays as it is", edit.file.display()))
    };
    if edit.record.is_none() {
        if edit.changes() {
            written(write())?;
        }
        return records.put(name, &edit.file, None);
    }
    records.put(name, &edit.file, edit.record.as_ref())?;
    let outcome = written(write());
    if outcome.is_err() {
        records.put(name, &edit.file, before.as_ref())?;
    }
    outcome
}

/// Under which name the unit of the daemon is kept in the records.
pub(crate) const UNIT: &str = "daemon";

/// The edit that writes the unit which starts the daemon with the user's session.
pub(crate) fn plan_unit(
    service: &Service,
    surroundings: &Surroundings,
    data_dir: &Path,
) -> Result<Edit> {
    let home = surroundings.home.as_ref().ok_or_else(no_home)?;
    let (file, text) = if cfg!(target_os = "macos") {
        let name = format!("Library/LaunchAgents/{}.plist", service::LABEL);
        (home.join(name), service.launchd())
    } else {
        (home.join(".config/systemd/user").join(service::UNIT), service.systemd())
    };
    let original = file::read(&file).with_context(|| file.display().to_string())?;
    let records = Records::load(data_dir)?.of(UNIT);
    let known = records.iter().find(|record| record.file == file);
    // One that somebody else changed since is what comes back.
    let before = match (&original.text, known) {
        (Some(now), Some(known)) => {
            known.taken_back(Format::Json, now).unwrap_or_else(|_| original.text.clone())
        }
        (now, _) => now.clone(),
    };
    let folders = made(&original, known);
    let record = Record::new(&file, before.as_deref(), &text, Vec::new()).with_folders(folders);
    Ok(Edit { file, original, after: Some(text), folders, record: Some(record) })
}

/// How many folders are made for a file, or were when setup wrote it first.
fn made(original: &Original, known: Option<&Record>) -> usize {
    known.map_or_else(|| original.missing_folders(), |known| known.folders)
}

fn no_home() -> anyhow::Error {
    anyhow!("no home directory is known")
}

#[cfg(test)]
mod tests;
