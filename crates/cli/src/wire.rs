//! Builds everything in one place. Nothing is opened, looked up or started by it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, anyhow};
use quietcontext_exec::{ExecConfig, Executor};
use quietcontext_fetch::{FetchConfig, Fetcher, SystemResolver};
use quietcontext_store::{Store, StoreOptions};
use quietcontext_tools::{Confinement, Toolbox, ToolboxConfig};

use crate::{
    config::{self, Flags, Settings, Surroundings},
    log,
    place::{self, Root},
    terminal::{self, Problem},
};

/// Where programs are looked for when no search path was given.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Threads that answer; work that blocks has its own.
const WORKERS: usize = 2;

/// Everything one process works with.
pub(crate) struct Wired {
    /// The six tools.
    pub(crate) toolbox: Arc<Toolbox>,
    /// The programs behind them.
    pub(crate) executor: Arc<Executor>,
    /// How programs are confined.
    pub(crate) confinement: Confinement,
    /// Where calls work.
    pub(crate) root: Root,
}

/// Reads the configuration and builds what it asks for.
pub(crate) fn wire(flags: &Flags) -> Result<Wired, Problem> {
    let surroundings = Surroundings::of_process();
    let loaded = config::load(flags, &surroundings).map_err(Problem::usage)?;
    for warning in &loaded.warnings {
        terminal::warn(warning);
    }
    let settings = loaded.settings;
    log::start(settings.log);
    let home = surroundings.home.as_deref();
    let root = place::root(settings.root.as_deref(), home).map_err(Problem::usage)?;
    let data_dir = settings
        .data_dir
        .clone()
        .ok_or_else(|| anyhow!("no home directory is known: give --data-dir"))
        .map_err(Problem::usage)?;
    tracing::info!(root = %root.path.display(), data_dir = %data_dir.display(), "configured");
    Ok(build(settings, data_dir, surroundings, root))
}

fn build(settings: Settings, data_dir: PathBuf, surroundings: Surroundings, root: Root) -> Wired {
    let path = surroundings.variable("PATH").map_or_else(|| DEFAULT_PATH.into(), OsString::from);
    let executor = Arc::new(Executor::new(ExecConfig {
        scratch: scratch(&data_dir),
        path,
        environment: surroundings.variables,
        output_cap: settings.output_bytes,
    }));
    let fetch = FetchConfig {
        mode: settings.fetch_mode,
        allow: settings.fetch_allow,
        ..FetchConfig::default()
    };
    let fetcher = Fetcher::new(fetch, Arc::new(SystemResolver));
    let retention = settings.retention;
    let stores = Box::new(move |root: &Path| {
        Store::new(StoreOptions { directory: data_dir.clone(), root: root.to_owned(), retention })
    });
    let confinement = Confinement::Off;
    let config =
        ToolboxConfig { confinement, home: surroundings.home, readable: settings.readable };
    let toolbox = Arc::new(Toolbox::new(config, Arc::clone(&executor), fetcher, stores));
    Wired { toolbox, executor, confinement, root }
}

/// Folders for staged programs and big output: beside the stores, else the temporary folder.
fn scratch(data_dir: &Path) -> Vec<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let temporary = std::env::temp_dir().join(format!("quietcontext-{user}"));
    vec![data_dir.join("scratch"), temporary]
}

/// The runtime on which everything asynchronous runs.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("quietcontext")
        .enable_io()
        .enable_time()
        .build()
        .context("the runtime could not be started")
}
