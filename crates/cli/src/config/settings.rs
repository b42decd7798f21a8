//! Everything that can be set, one row each.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use quietcontext_fetch::{HostPort, Mode};
use quietcontext_store::Retention;
use tracing::level_filters::LevelFilter;

use super::{PREFIX, value::Value};

/// The configuration in force.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Where stores and scratch files lie; `None` where not even a home directory is known.
    pub(crate) data_dir: Option<PathBuf>,
    /// Hosts that may be reached beyond what `fetch_mode` allows.
    pub(crate) fetch_allow: Vec<HostPort>,
    /// Which hosts may be reached.
    pub(crate) fetch_mode: Mode,
    /// Directories beyond the root that may be indexed.
    pub(crate) readable: Vec<PathBuf>,
    /// What the log tells.
    pub(crate) log: LevelFilter,
    /// The workspace root, if it was named.
    pub(crate) root: Option<PathBuf>,
    /// Bytes that one run may print.
    pub(crate) output_bytes: u64,
    /// How long run output and fetched pages are kept, and how much of them.
    pub(crate) retention: Retention,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            data_dir: None,
            fetch_allow: Vec::new(),
            fetch_mode: Mode::default(),
            readable: Vec::new(),
            log: LevelFilter::OFF,
            root: None,
            output_bytes: 512 << 20,
            retention: Retention::default(),
        }
    }
}

/// One thing that can be set.
pub(crate) struct Setting {
    /// Its key in the file; a dot separates a table from its member.
    pub(crate) key: &'static str,
    /// A shorter key, for a table that is mostly this one member.
    pub(crate) alias: Option<&'static str>,
    /// Whether it may stand in the file; what differs from session to session may not.
    pub(crate) in_file: bool,
    /// What it is, its unit and its default.
    pub(crate) help: &'static str,
    /// The value in force.
    pub(crate) show: fn(&Settings) -> String,
    /// Takes a value; the error says what it must be.
    pub(crate) set: fn(&mut Settings, &Value, home: Option<&Path>) -> Result<(), String>,
}

impl Setting {
    /// The variable that overrides the file.
    pub(crate) fn variable(&self) -> String {
        format!("{PREFIX}{}", self.key.replace('.', "_").to_uppercase())
    }

    pub(super) fn answers_to(&self, key: &str) -> bool {
        self.key == key || self.alias == Some(key)
    }
}

/// Levels of the log, the quietest first.
const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

const FETCH_MODES: [(&str, Mode); 3] =
    [("public", Mode::Public), ("allowlist", Mode::Allowlist), ("off", Mode::Off)];

/// A day in seconds.
const DAY: u64 = 86_400;

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

fn word<T: Copy + PartialEq>(words: &[(&str, T)], value: T) -> String {
    words
        .iter()
        .find(|(_, known)| *known == value)
        .map_or_else(String::new, |(w, _)| (*w).to_owned())
}

/// All settings, sorted by key.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        key: "data_dir",
        alias: None,
        in_file: true,
        help: "folder of the stores; default ~/.local/share/quietcontext",
        show: |settings| settings.data_dir.as_deref().map(shown).unwrap_or_default(),
        set: |settings, value, home| {
            settings.data_dir = Some(value.path(home)?);
            Ok(())
        },
    },
    Setting {
        key: "fetch.allow",
        alias: None,
        in_file: true,
        help: "hosts that may be private or local, as HOST:PORT; default none",
        show: |settings| joined(settings.fetch_allow.iter().map(ToString::to_string)),
        set: |settings, value, _| {
            let host = |text: &String| {
                HostPort::parse(text).ok_or_else(|| format!("{text} must be HOST or HOST:PORT"))
            };
            settings.fetch_allow = value.list()?.iter().map(host).collect::<Result<_, _>>()?;
            Ok(())
        },
    },
    Setting {
        key: "fetch.mode",
        alias: Some("fetch"),
        in_file: true,
        help: "which hosts fetch-index may reach: public, allowlist or off; default public",
        show: |settings| word(&FETCH_MODES, settings.fetch_mode),
        set: |settings, value, _| {
            settings.fetch_mode = value.choice(&FETCH_MODES)?;
            Ok(())
        },
    },
    Setting {
        key: "index.roots",
        alias: None,
        in_file: true,
        help: "directories beyond the workspace that may be indexed; default none",
        show: |settings| joined(settings.readable.iter().map(|path| shown(path))),
        set: |settings, value, home| {
            settings.readable = value.paths(home)?;
            Ok(())
        },
    },
    Setting {
        key: "log",
        alias: None,
        in_file: true,
        help: "log on standard error: off, error, warn, info, debug or trace; default off",
        show: |settings| word(&LEVELS, settings.log),
        set: |settings, value, _| {
            settings.log = value.choice(&LEVELS)?;
            Ok(())
        },
    },
    Setting {
        key: "root",
        alias: None,
        in_file: false,
        help: "workspace root; default the working directory",
        show: |settings| settings.root.as_deref().map(shown).unwrap_or_default(),
        set: |settings, value, home| {
            settings.root = Some(value.path(home)?);
            Ok(())
        },
    },
    Setting {
        key: "run.output_bytes",
        alias: None,
        in_file: true,
        help: "output of one run before it is stopped, in bytes; default 512 MiB",
        show: |settings| settings.output_bytes.to_string(),
        set: |settings, value, _| {
            settings.output_bytes = value.bytes()?;
            Ok(())
        },
    },
    Setting {
        key: "store.max_age_days",
        alias: None,
        in_file: true,
        help: "how long run output and fetched pages are kept, in days; default 30",
        show: |settings| (settings.retention.max_age.as_secs() / DAY).to_string(),
        set: |settings, value, _| {
            let days = value.count()?.min(36_500);
            settings.retention.max_age = Duration::from_secs(days * DAY);
            Ok(())
        },
    },
    Setting {
        key: "store.max_bytes",
        alias: None,
        in_file: true,
        help: "most bytes of one workspace's store; the oldest run output goes first; default 2 GiB",
        show: |settings| settings.retention.max_bytes.to_string(),
        set: |settings, value, _| {
            settings.retention.max_bytes = value.bytes()?;
            Ok(())
        },
    },
];
