//! The configuration in force, and what one setting is.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use quietcontext_exec::sandbox::{Limits, Mode};
use quietcontext_fetch::{HostPort, Mode as FetchMode, OutboundProxy};
use quietcontext_store::Retention;
use tracing::level_filters::LevelFilter;

use super::{PREFIX, value::Value};
use crate::network::Reach;

/// The configuration in force.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The port of the daemon on loopback; 0 for any that is free.
    pub(crate) daemon_port: u16,
    /// Where stores and scratch files lie; `None` where not even a home directory is known.
    pub(crate) data_dir: Option<PathBuf>,
    /// Hosts that may be reached beyond what `fetch_mode` allows.
    pub(crate) fetch_allow: Vec<HostPort>,
    /// Which hosts may be reached.
    /// `None`: not set, and then the network's and the sandbox's modes decide.
    pub(crate) fetch_mode: Option<FetchMode>,
    /// The way out of fetches.
    pub(crate) fetch_proxy: Option<OutboundProxy>,
    /// Which hosts confined programs may reach.
    pub(crate) network: Reach,
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
    /// How programs are confined.
    pub(crate) sandbox: Sandbox,
    /// Whether each call leaves a line in the journal.
    pub(crate) journal: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            daemon_port: DAEMON_PORT,
            data_dir: None,
            fetch_allow: Vec::new(),
            fetch_mode: None,
            fetch_proxy: None,
            network: Reach::default(),
            readable: Vec::new(),
            log: LevelFilter::OFF,
            root: None,
            output_bytes: 512 << 20,
            retention: Retention::default(),
            sandbox: Sandbox::default(),
            journal: true,
        }
    }
}

impl Settings {
    /// Which hosts `fetch-index` may reach. A URL is a way out as well: what is said of the network of
    /// programs holds for it unless it is said otherwise.
    pub(crate) fn fetch_mode(&self) -> FetchMode {
        let shut = self.network == Reach::Off || self.sandbox.mode == Some(Mode::ReadOnly);
        let default = if shut { FetchMode::Off } else { FetchMode::Public };
        self.fetch_mode.unwrap_or(default)
    }
}

/// How programs are confined; `None` for the mode means not at all.
#[derive(Debug)]
pub(crate) struct Sandbox {
    /// What a program may write.
    pub(crate) mode: Option<Mode>,
    /// More that may be read although it lies in a hidden directory.
    pub(crate) readable: Vec<PathBuf>,
    /// More that may be written.
    pub(crate) writable: Vec<PathBuf>,
    /// Protected paths of the workspace that are lifted, relative to it.
    pub(crate) unprotected: Vec<PathBuf>,
    /// Variables that are passed through.
    pub(crate) variables: Vec<OsString>,
    /// Bounds of one program.
    pub(crate) limits: Limits,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            mode: Some(Mode::WorkspaceWrite),
            readable: Vec::new(),
            writable: Vec::new(),
            unprotected: Vec::new(),
            variables: Vec::new(),
            limits: Limits { grace: GRACE, ..Limits::for_this_machine() },
        }
    }
}

/// `Q` and `C` in decimal; below the ports that systems give out by themselves.
const DAEMON_PORT: u16 = 8167;

/// How long what a program leaves running may still finish by itself.
const GRACE: Duration = Duration::from_millis(200);

/// Where a setting may stand, beside the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The file and the variable.
    Anywhere,
    /// Not in the file: what differs from session to session.
    VariableOnly,
    /// Not in a variable: what loosens the sandbox, since a project's tools can set variables.
    FileOnly,
}

impl Place {
    /// Whether it may stand in the file.
    pub(crate) fn in_file(self) -> bool {
        self != Self::VariableOnly
    }
}

/// One thing that can be set.
pub(crate) struct Setting {
    /// Its key in the file; a dot separates a table from its member.
    pub(crate) key: &'static str,
    /// A shorter key, for a table that is mostly this one member.
    pub(crate) alias: Option<&'static str>,
    /// Where it may be set.
    pub(crate) place: Place,
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
