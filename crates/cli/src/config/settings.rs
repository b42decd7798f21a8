//! Everything that can be set, one row each.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use quietcontext_exec::sandbox::Mode;
use quietcontext_fetch::{HostPort, Mode as FetchMode, OutboundProxy};
use tracing::level_filters::LevelFilter;

use super::setting::{Place, Setting};
use super::value::Value;
use crate::network::Reach;

/// Levels of the log, the quietest first.
const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

const FETCH_MODES: [(&str, FetchMode); 3] =
    [("public", FetchMode::Public), ("allowlist", FetchMode::Allowlist), ("off", FetchMode::Off)];

const SANDBOX_MODES: [(&str, Option<Mode>); 3] = [
    ("workspace-write", Some(Mode::WorkspaceWrite)),
    ("read-only", Some(Mode::ReadOnly)),
    ("off", None),
];

/// A day in seconds.
const DAY: u64 = 86_400;

const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];

const NETWORK_MODES: [(&str, Reach); 3] =
    [("allowlist", Reach::Allowlist), ("off", Reach::Off), ("on", Reach::On)];

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
        key: "daemon.port",
        alias: None,
        place: Place::Anywhere,
        help: "port of the daemon on 127.0.0.1, or 0 for any that is free; default 8167",
        show: |settings| settings.daemon_port.to_string(),
        set: |settings, value, _| {
            settings.daemon_port = value.port()?;
            Ok(())
        },
    },
    Setting {
        key: "data_dir",
        alias: None,
        place: Place::Anywhere,
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
        place: Place::Anywhere,
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
        place: Place::Anywhere,
        help: "which hosts fetch-index may reach: public, allowlist or off; default public, and off where \
               programs have no network (network.mode off, sandbox.mode read-only)",
        show: |settings| word(&FETCH_MODES, settings.fetch_mode()),
        set: |settings, value, _| {
            settings.fetch_mode = Some(value.choice(&FETCH_MODES)?);
            Ok(())
        },
    },
    Setting {
        key: "fetch.proxy",
        alias: None,
        place: Place::FileOnly,
        help: "proxy for fetch-index, as http://HOST:PORT; HTTP_PROXY and its kin are not looked at; \
               default none",
        show: |settings| settings.fetch_proxy.as_ref().map(ToString::to_string).unwrap_or_default(),
        set: |settings, value, _| {
            let Value::Text(text) = value else { return Err("must be a string".to_owned()) };
            settings.fetch_proxy =
                if text.is_empty() { None } else { Some(OutboundProxy::parse(text)?) };
            Ok(())
        },
    },
    Setting {
        key: "index.roots",
        alias: None,
        place: Place::Anywhere,
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
        place: Place::Anywhere,
        help: "log on standard error: off, error, warn, info, debug or trace; default off",
        show: |settings| word(&LEVELS, settings.log),
        set: |settings, value, _| {
            settings.log = value.choice(&LEVELS)?;
            Ok(())
        },
    },
    Setting {
        key: "network.mode",
        alias: None,
        place: Place::FileOnly,
        help: "which hosts programs may reach: allowlist, off or on; default allowlist",
        show: |settings| word(&NETWORK_MODES, settings.network),
        set: |settings, value, _| {
            settings.network = value.choice(&NETWORK_MODES)?;
            Ok(())
        },
    },
    Setting {
        key: "root",
        alias: None,
        place: Place::VariableOnly,
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
        place: Place::Anywhere,
        help: "output of one run before it is stopped, in bytes; default 512 MiB",
        show: |settings| settings.output_bytes.to_string(),
        set: |settings, value, _| {
            settings.output_bytes = value.bytes()?;
            Ok(())
        },
    },
    Setting {
        key: "sandbox.file_bytes",
        alias: None,
        place: Place::FileOnly,
        help: "largest file that a program may write, in bytes; default 4 GiB",
        show: |settings| settings.sandbox.limits.file_bytes.to_string(),
        set: |settings, value, _| {
            settings.sandbox.limits.file_bytes = value.bytes()?;
            Ok(())
        },
    },
    Setting {
        key: "sandbox.memory_bytes",
        alias: None,
        place: Place::FileOnly,
        help: "memory of one program, in bytes; default half of the machine's, at most 8 GiB",
        show: |settings| settings.sandbox.limits.memory_bytes.to_string(),
        set: |settings, value, _| {
            settings.sandbox.limits.memory_bytes = value.bytes()?;
            Ok(())
        },
    },
    Setting {
        key: "sandbox.mode",
        alias: Some("sandbox"),
        place: Place::FileOnly,
        help: "what programs may write: workspace-write, read-only, or off; default workspace-write",
        show: |settings| word(&SANDBOX_MODES, settings.sandbox.mode),
        set: |settings, value, _| {
            settings.sandbox.mode = value.choice(&SANDBOX_MODES)?;
            Ok(())
        },
    },
    Setting {
        key: "sandbox.readable",
        alias: None,
        place: Place::FileOnly,
        help: "directories of the home that programs may read as well; default none",
        show: |settings| joined(settings.sandbox.readable.iter().map(|path| shown(path))),
        set: |settings, value, home| {
            settings.sandbox.readable = value.paths(home)?;
            Ok(())
        },
    },
    Setting {
        key: "sandbox.tasks",
        alias: None,
        place: Place::FileOnly,
        help: "processes and threads of one program at one time; default 1024",
        show: |settings| settings.sandbox.limits.tasks.to_string(),
        set: |settings, value, _| {
            settings.sandbox.limits.tasks = value.count()?;
            Ok(())
        },
    },
    Setting {
        key: "sandbox.temporary_bytes",
        alias: None,
        place: Place::FileOnly,
        help: "temporary files of one program, in bytes; they are kept in memory; default 1 GiB",
        show: |settings| settings.sandbox.limits.temporary_bytes.to_string(),
        set: |settings, value, _| {
            settings.sandbox.limits.temporary_bytes = value.bytes()?;
            Ok(())
        },
    },
    Setting {
        key: "sandbox.unprotected",
        alias: None,
        place: Place::FileOnly,
        help: "protected names of the workspace that programs may write, such as .vscode; default none",
        show: |settings| joined(settings.sandbox.unprotected.iter().map(|path| shown(path))),
        set: |settings, value, _| {
            settings.sandbox.unprotected = value.list()?.into_iter().map(PathBuf::from).collect();
            Ok(())
        },
    },
    Setting {
        key: "sandbox.variables",
        alias: None,
        place: Place::FileOnly,
        help: "variables that programs get as well, such as GITHUB_TOKEN; default none",
        show: |settings| {
            joined(
                settings.sandbox.variables.iter().map(|name| name.to_string_lossy().into_owned()),
            )
        },
        set: |settings, value, _| {
            settings.sandbox.variables = value.list()?.into_iter().map(OsString::from).collect();
            Ok(())
        },
    },
    Setting {
        key: "sandbox.writable",
        alias: None,
        place: Place::FileOnly,
        help: "directories beyond the workspace that programs may write; default none",
        show: |settings| joined(settings.sandbox.writable.iter().map(|path| shown(path))),
        set: |settings, value, home| {
            settings.sandbox.writable = value.paths(home)?;
            Ok(())
        },
    },
    Setting {
        key: "stats.journal",
        alias: None,
        place: Place::Anywhere,
        help: "whether each call leaves a line (tool, bytes, time, a summary) for stats, jobs and view: \
               on or off; default on",
        show: |settings| word(&SWITCH, settings.journal),
        set: |settings, value, _| {
            settings.journal = value.choice(&SWITCH)?;
            Ok(())
        },
    },
    Setting {
        key: "store.max_age_days",
        alias: None,
        place: Place::Anywhere,
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
        place: Place::Anywhere,
        help: "most bytes of one workspace's store; the oldest run output goes first; default 2 GiB",
        show: |settings| settings.retention.max_bytes.to_string(),
        set: |settings, value, _| {
            settings.retention.max_bytes = value.bytes()?;
            Ok(())
        },
    },
];
