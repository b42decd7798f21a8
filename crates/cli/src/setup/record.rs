//! What setup changed, kept so that it can be taken back.
//!
//! Kept is the changed part of a file, not the file: such files hold what is nobody's business.
//! As long as the file is what setup left, its bytes come back exactly; when others changed it
//! since, only what setup set is taken back.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    edit::{self, Change, Format, Keys},
    file,
};

/// One changed file.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// The file.
    pub(crate) file: PathBuf,
    /// There was none before.
    created: bool,
    /// How many of the folders above it there were not, either.
    pub(crate) folders: usize,
    /// Digest of what setup left.
    after: String,
    /// Where the changed part begins, in bytes.
    at: usize,
    /// How many bytes it has now.
    length: usize,
    /// What was there.
    was: String,
    /// What takes the changes back one by one.
    back: Vec<Change>,
}

impl Record {
    /// Of a file that held `before` and holds `after`, where `back` takes the difference back.
    pub(crate) fn new(file: &Path, before: Option<&str>, after: &str, back: Vec<Change>) -> Self {
        let old = before.unwrap_or_default();
        let head = common(old.chars(), after.chars());
        let (rest, new) =
            (old.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
        let tail = common(rest.chars().rev(), new.chars().rev());
        Self {
            file: file.to_owned(),
            created: before.is_none(),
            folders: 0,
            after: digest(after),
            at: head,
            length: new.len() - tail,
            was: rest.get(..rest.len() - tail).unwrap_or_default().to_owned(),
            back,
        }
    }

    /// The same, where so many folders above the file are made with it.
    pub(crate) fn with_folders(self, folders: usize) -> Self {
        Self { folders, ..self }
    }

    /// What the file holds without the change; `None`: there was none, and nothing else is in it.
    pub(crate) fn taken_back(&self, format: Format, now: &str) -> Result<Option<String>> {
        if digest(now) == self.after {
            let head = now.get(..self.at).context("the record does not fit")?;
            let tail = now.get(self.at + self.length..).context("the record does not fit")?;
            return Ok((!self.created).then(|| format!("{head}{}{tail}", self.was)));
        }
        if self.back.is_empty() {
            bail!("it was changed since, and only you know what of it is to stay");
        }
        let text = edit::apply(format, now, &self.back)?;
        let is_empty = edit::read(format, &text)?.as_object().is_some_and(Map::is_empty);
        Ok(Some(text).filter(|_| !(self.created && is_empty)))
    }

    /// What takes this change back, behind `newer`, which goes first.
    pub(crate) fn back_behind(&self, mut newer: Vec<Change>) -> Vec<Change> {
        newer.extend(self.back.iter().cloned());
        newer
    }

    fn as_json(&self) -> Value {
        json!({
            "file": self.file.to_string_lossy(),
            "created": self.created,
            "folders": self.folders,
            "after": self.after,
            "at": self.at,
            "length": self.length,
            "was": self.was,
            "back": self.back.iter().map(change_as_json).collect::<Vec<_>>(),
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let number = |key: &str| usize::try_from(value.get(key)?.as_u64()?).ok();
        Some(Self {
            file: value.get("file")?.as_str()?.into(),
            created: value.get("created")?.as_bool()?,
            // Earlier ones do not say.
            folders: number("folders").unwrap_or(0),
            after: value.get("after")?.as_str()?.to_owned(),
            at: number("at")?,
            length: number("length")?,
            was: value.get("was")?.as_str()?.to_owned(),
            back: value
                .get("back")?
                .as_array()?
                .iter()
                .map(change_from_json)
                .collect::<Option<_>>()?,
        })
    }
}

/// All records, by client.
pub(crate) struct Records {
    path: PathBuf,
    clients: Map<String, Value>,
}

impl Records {
    /// Those in the folder of the stores.
    ///
    /// # Errors
    ///
    /// A file that is there and cannot be read.
    pub(crate) fn load(data_dir: &Path) -> Result<Self> {
        let path = data_dir.join("setup.json");
        let original = file::read(&path).with_context(|| path.display().to_string())?;
        let clients = match &original.text {
            Some(text) => serde_json::from_str(text).with_context(|| path.display().to_string())?,
            None => Map::new(),
        };
        Ok(Self { path, clients })
    }

    /// Those of one client, the oldest first.
    pub(crate) fn of(&self, client: &str) -> Vec<Record> {
        let records = self.clients.get(client).and_then(Value::as_array);
        records.into_iter().flatten().filter_map(Record::from_json).collect()
    }

    /// Whether there are any of this client.
    pub(crate) fn has(&self, client: &str) -> bool {
        !self.of(client).is_empty()
    }

    /// Keeps `record` instead of the one of the same file, or none of it.
    pub(crate) fn put(&mut self, client: &str, file: &Path, record: Option<&Record>) -> Result<()> {
        let mut records = self.of(client);
        records.retain(|known| known.file != file);
        records.extend(record.cloned());
        if records.is_empty() {
            self.clients.shift_remove(client);
        } else {
            let records = records.iter().map(Record::as_json).collect();
            self.clients.insert(client.to_owned(), records);
        }
        let original = file::read(&self.path)?;
        if self.clients.is_empty() && original.text.is_some() {
            return original.remove(0);
        }
        let text = format!("{:#}\n", Value::Object(self.clients.clone()));
        original.replace(&text).with_context(|| self.path.display().to_string())
    }
}

/// How many bytes two texts have in common, from where they are read.
fn common(left: impl Iterator<Item = char>, right: impl Iterator<Item = char>) -> usize {
    left.zip(right).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn change_as_json(change: &Change) -> Value {
    match change {
        Change::Set(keys, value) => json!({ "set": keys, "value": value }),
        Change::Remove(keys) => json!({ "remove": keys }),
        Change::Prune(keys) => json!({ "prune": keys }),
        Change::Include(keys, item) => json!({ "include": keys, "value": item }),
        Change::Exclude(keys, item) => json!({ "exclude": keys, "value": item }),
    }
}

fn change_from_json(value: &Value) -> Option<Change> {
    let keys = |name: &str| -> Option<Keys> {
        let keys = value.get(name)?.as_array()?.iter();
        keys.map(|key| key.as_str().map(str::to_owned)).collect()
    };
    let item = || value.get("value")?.as_str().map(str::to_owned);
    if let Some(keys) = keys("set") {
        return Some(Change::Set(keys, value.get("value")?.clone()));
    }
    if let Some(keys) = keys("include") {
        return Some(Change::Include(keys, item()?));
    }
    if let Some(keys) = keys("exclude") {
        return Some(Change::Exclude(keys, item()?));
    }
    keys("remove").map(Change::Remove).or_else(|| keys("prune").map(Change::Prune))
}
