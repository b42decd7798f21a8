//! Builds everything in one place. Nothing is opened, looked up or started by it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, anyhow};
use quietcontext_exec::{self as exec, BoxConfig, ExecConfig, Executor, sandbox::Mode};
use quietcontext_fetch::{FetchConfig, Fetcher, SystemResolver, proxy::Proxy};
use quietcontext_store::{Store, StoreOptions};
use quietcontext_tools::{Confinement, Toolbox, ToolboxConfig};

use crate::{
    config::{self, Flags, Sandbox, Settings, Surroundings},
    log,
    network::{self, Allowed, ListFile, User},
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
    /// Which hosts confined programs may reach.
    pub(crate) network: Arc<Allowed>,
    /// How programs are confined.
    pub(crate) confinement: Confinement,
    /// Where calls work.
    pub(crate) root: Root,
    /// Whether calls leave a line in the journal.
    pub(crate) journal: bool,
}

/// What the user configured.
pub(crate) struct Configured {
    /// The settings in force.
    pub(crate) settings: Settings,
    /// Where stores lie.
    pub(crate) data_dir: PathBuf,
    /// What this process was started with.
    pub(crate) surroundings: Surroundings,
}

/// Reads the configuration.
pub(crate) fn configured(flags: &Flags) -> Result<Configured, Problem> {
    let surroundings = Surroundings::of_process();
    let loaded = config::load(flags, &surroundings).map_err(Problem::usage)?;
    for warning in &loaded.warnings {
        terminal::warn(warning);
    }
    let settings = loaded.settings;
    let data_dir = settings
        .data_dir
        .clone()
        .ok_or_else(|| anyhow!("no home directory is known: give --data-dir"))
        .map_err(Problem::usage)?;
    Ok(Configured { settings, data_dir, surroundings })
}

/// Reads the configuration and builds what it asks for.
pub(crate) fn wire(flags: &Flags) -> Result<Wired, Problem> {
    let configured = configured(flags)?;
    let Configured { settings, data_dir, surroundings } = &configured;
    log::start(settings.log);
    let home = surroundings.home.as_deref();
    let root = place::root(settings.root.as_deref(), home).map_err(Problem::usage)?;
    config::check_place(surroundings, &root.path).map_err(Problem::usage)?;
    tracing::info!(root = %root.path.display(), data_dir = %data_dir.display(), "configured");
    Ok(build(configured, root))
}

/// The policy of the proxy; it reads nothing before it is asked.
fn policy(settings: &Settings, data_dir: &Path, surroundings: &Surroundings) -> Arc<Allowed> {
    // Without a home directory there is no list, and no tool has files.
    let home = surroundings.home.clone().unwrap_or_else(|| data_dir.to_owned());
    let folder = config::folder(surroundings).unwrap_or_else(|| data_dir.to_owned());
    let user = User { home, variables: surroundings.variables.clone() };
    let list = ListFile::new(folder.join("allowed"));
    let writable = settings.sandbox.writable.clone();
    Allowed::new(settings.network, list, user, data_dir.to_owned(), writable)
}

/// Builds everything. `root` is where calls work that name no other place.
pub(crate) fn build(configured: Configured, root: Root) -> Wired {
    let Configured { settings, data_dir, surroundings } = configured;
    let network = policy(&settings, &data_dir, &surroundings);
    let path = surroundings.variable("PATH").map_or_else(|| DEFAULT_PATH.into(), OsString::from);
    let tools = match settings.sandbox.mode {
        None => Confinement::Off,
        Some(Mode::WorkspaceWrite) => Confinement::WorkspaceWrite,
        Some(Mode::ReadOnly) => Confinement::ReadOnly,
    };
    let fetch = FetchConfig {
        mode: settings.fetch_mode(),
        allow: settings.fetch_allow.clone(),
        proxy: settings.fetch_proxy.clone(),
        ..FetchConfig::default()
    };
    let executor = Arc::new(Executor::new(ExecConfig {
        binary: PathBuf::from("/proc/self/exe"),
        scratch: scratch(&data_dir),
        path,
        passed: settings.sandbox.variables.clone(),
        confinement: boxes(settings.sandbox, &data_dir, &surroundings),
        environment: surroundings.variables,
        output_cap: settings.output_bytes,
    }));
    let fetcher = Fetcher::new(fetch, Arc::new(SystemResolver));
    let (retention, journal) = (settings.retention, settings.journal);
    let stores = Box::new(move |root: &Path| {
        Store::new(StoreOptions { directory: data_dir.clone(), root: root.to_owned(), retention })
    });
    // Tools that call themselves read-only and closed have no way out, whatever the network's mode.
    let outbound = network::outbound(&network, Proxy::new(Arc::new(SystemResolver)))
        .filter(|_| tools == Confinement::WorkspaceWrite);
    let config = ToolboxConfig {
        confinement: tools,
        home: surroundings.home,
        readable: settings.readable,
        outbound,
        journal: settings.journal,
    };
    let toolbox = Arc::new(Toolbox::new(config, Arc::clone(&executor), fetcher, stores));
    Wired { toolbox, executor, network, confinement: tools, root, journal }
}

/// The home of programs whose user has none: it lies in a directory that is made for each box.
const HOMELESS: &str = "/tmp/home";

/// The boxes of the programs, as the user wants them.
fn boxes(sandbox: Sandbox, data_dir: &Path, surroundings: &Surroundings) -> exec::Confinement {
    let Some(mode) = sandbox.mode else { return exec::Confinement::Off };
    let real = |paths: Vec<PathBuf>| paths.iter().map(|path| place::real(path)).collect();
    let listed = place::listed_home();
    // A workspace may hold them; what decides about programs is not for programs.
    let own = config::folder(surroundings).into_iter().chain([data_dir.to_owned()]);
    let emptied = own.map(|folder| place::real(&folder)).collect();
    let home = surroundings.home.as_deref().or(listed.as_deref());
    let home = place::real(home.unwrap_or(Path::new(HOMELESS)));
    exec::Confinement::Boxed(Box::new(BoxConfig {
        mode,
        // `HOME` may be set to anything; what the user has to hide lies in the other one too.
        other_homes: listed
            .map(|home| place::real(&home))
            .filter(|listed| *listed != home)
            .into_iter()
            .collect(),
        home,
        emptied,
        caches: Some(data_dir.join("caches")),
        readable: real(sandbox.readable),
        writable: real(sandbox.writable),
        unprotected: sandbox.unprotected,
        limits: sandbox.limits,
    }))
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
