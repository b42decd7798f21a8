//! What a client is to `setup`: where its file is, how an entry is written in it, who approves.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::edit::{Change, Format, Keys, at};
use crate::config::Surroundings;

/// The name of the entry in every client.
pub(crate) const NAME: &str = "quietcontext";

/// What a client starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The full path of the binary.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// The daemon that it connects to instead of starting anything.
    pub(crate) daemon: Option<Daemon>,
}

/// A daemon, as clients reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Daemon {
    /// Where it answers.
    pub(crate) url: String,
    /// The file that holds its token.
    pub(crate) token_file: String,
}

/// The header in which a request names its project.
pub(super) const ROOT: &str = "X-QuietContext-Root";

/// The variable of the token, for clients that cannot read a file. It is none of the settings'.
pub(crate) const TOKEN: &str = "QUIETCONTEXTD_TOKEN";

impl Daemon {
    /// A shell command that prints the header of authorization.
    pub(super) fn helper(&self) -> String {
        let file = self.token_file.replace('\'', r"'\''");
        format!(r#"printf '{{"Authorization":"Bearer %s"}}' "$(cat '{file}')""#)
    }
}

/// How an entry for a daemon is written.
pub(crate) enum Remote {
    /// The client reads the token from its file.
    File(fn(&Daemon) -> Value),
    /// The client reads it from the variable [`TOKEN`].
    Variable(fn(&Daemon) -> Value),
    /// The client cannot say in which project it is.
    None,
}

/// Where a file is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// A variable that moves it, and where it is below that folder.
    pub(super) moved: Option<(&'static str, &'static str)>,
    /// Below the home directory on Linux; the first that is there, else the first.
    pub(super) linux: &'static [&'static str],
    /// As `linux`, on macOS.
    pub(super) macos: &'static [&'static str],
}

impl Place {
    pub(super) const fn same(
        moved: Option<(&'static str, &'static str)>,
        below: &'static [&'static str],
    ) -> Self {
        Self { moved, linux: below, macos: below }
    }

    /// The file of this user.
    pub(crate) fn file(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        let below = if cfg!(target_os = "macos") { self.macos } else { self.linux };
        let mut candidates: Vec<PathBuf> = Vec::new();
        if let Some((variable, name)) = self.moved
            && let Some(folder) = surroundings.variable(variable).map(Path::new)
            && folder.is_absolute()
        {
            candidates.push(folder.join(name));
        } else {
            let home = surroundings.home.as_ref()?;
            candidates.extend(below.iter().map(|path| home.join(path)));
        }
        let there = candidates.iter().find(|path| path.symlink_metadata().is_ok()).cloned();
        there.or_else(|| candidates.into_iter().next())
    }
}

/// What lets a client run the tools without asking.
pub(crate) enum Approval {
    /// Members of the entry.
    Entry(fn() -> Value),
    /// Changes to a file.
    Beside(Place, fn() -> Vec<Change>),
    /// Nothing: it does so anyway.
    Given,
    /// Only the client's own windows; the text says where.
    ByHand(&'static str),
}

/// One client.
pub(crate) struct Client {
    /// What is typed.
    pub(crate) name: &'static str,
    /// What it is called.
    pub(crate) title: &'static str,
    /// How its file is written.
    pub(crate) format: Format,
    /// Its file.
    pub(crate) place: Place,
    /// What holds the entries, outermost first.
    pub(super) section: &'static [&'static str],
    /// Where newer files of this client hold them; counts where it is there.
    pub(super) newer_section: &'static [&'static str],
    /// The entry.
    pub(super) stdio: fn(&Launch) -> Value,
    /// The entry for a daemon.
    pub(crate) remote: Remote,
    /// What lets it run the tools unasked.
    pub(crate) approval: Approval,
    /// What it does otherwise.
    pub(crate) otherwise: &'static str,
    /// Programs by which it is found.
    pub(super) programs: &'static [&'static str],
    /// Folders of the home by which it is found.
    pub(super) folders: &'static [&'static str],
}

impl Client {
    /// Whether it is on this machine.
    pub(crate) fn is_here(&self, surroundings: &Surroundings) -> bool {
        let on_path = surroundings.variable("PATH").is_some_and(|path| {
            std::env::split_paths(path)
                .any(|folder| self.programs.iter().any(|name| folder.join(name).is_file()))
        });
        let home = surroundings.home.as_deref();
        on_path || home.is_some_and(|home| self.folders.iter().any(|name| home.join(name).is_dir()))
    }

    /// The keys of the entry in a file that says `said`.
    pub(crate) fn keys(&self, said: &Value) -> Keys {
        let newer: Keys = self.newer_section.iter().map(|key| (*key).to_owned()).collect();
        let is_newer = !newer.is_empty() && at(said, &newer).is_some_and(Value::is_object);
        let mut keys = newer;
        if !is_newer {
            keys = self.section.iter().map(|key| (*key).to_owned()).collect();
        }
        keys.push(NAME.to_owned());
        keys
    }

    /// What makes a file that says `said` start `launch`. What the user added to the entry stays;
    /// what belongs to another transport goes.
    pub(crate) fn entry(&self, said: &Value, launch: &Launch) -> Vec<Change> {
        let keys = self.keys(said);
        let wanted = match (&launch.daemon, &self.remote) {
            (Some(daemon), Remote::File(entry) | Remote::Variable(entry)) => entry(daemon),
            _ => (self.stdio)(launch),
        };
        let old = at(said, &keys).and_then(Value::as_object);
        let (Some(old), Some(wanted)) = (old, wanted.as_object()) else {
            return vec![Change::Set(keys, wanted)];
        };
        let below = |key: &String| keys.iter().chain([key]).cloned().collect::<Keys>();
        let other = |key: &&String| {
            OF_A_TRANSPORT.contains(&key.as_str()) && !wanted.contains_key(key.as_str())
        };
        let removed = old.keys().filter(other).map(|key| Change::Remove(below(key)));
        let set = wanted.iter().map(|(key, value)| Change::Set(below(key), value.clone()));
        removed.chain(set).collect()
    }

    /// What lets it run the tools unasked, within its own file.
    pub(crate) fn approving(&self, said: &Value) -> Vec<Change> {
        let Approval::Entry(members) = &self.approval else { return Vec::new() };
        let keys = self.keys(said);
        let members = members();
        let set = |(key, value): (&String, &Value)| {
            Change::Set(keys.iter().chain([key]).cloned().collect(), value.clone())
        };
        members.as_object().into_iter().flatten().map(set).collect()
    }
}

/// Members of an entry that say how the server is reached.
const OF_A_TRANSPORT: [&str; 14] = [
    "args",
    "bearer_token_env_var",
    "cmd",
    "command",
    "env_http_headers",
    "headers",
    "headersHelper",
    "http_headers",
    "http_headers_helper",
    "httpUrl",
    "serverUrl",
    "type",
    "uri",
    "url",
];
