//! The daemon itself: everything built once, then requests until a signal.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use quietcontext_server::{Calls, Reply, Root, Server, http};
use quietcontext_tools::{Call, Tool, Toolbox};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::level_filters::LevelFilter;

use super::{
    log::LogFile,
    place::{Place, State},
    roots::Roots,
    socket,
};
use crate::{
    config::Flags,
    log, memory, place,
    terminal::{self, Exit, Problem},
    wire,
};

/// Open files that many sessions may need: connections, and a store of each root.
const DESCRIPTORS: u64 = 1 << 16;

/// How a daemon was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// By a person or a service manager, which sees standard error.
    Foreground,
    /// By `daemon start`, which has ended by now.
    Background,
}

/// The six tools, and what is given back when nobody calls them.
struct Sessions(Arc<Toolbox>);

impl Calls for Sessions {
    fn call(&self, call: Call) -> impl Future<Output = Reply> + Send {
        Calls::call(&*self.0, call)
    }

    fn shutdown(&self) {
        self.0.shutdown();
    }

    fn rest(&self, idle: Duration) -> Option<Duration> {
        let next = self.0.rest(idle);
        memory::give_back();
        next
    }
}

/// Serves until a signal asks for the end.
pub(crate) fn run(flags: &Flags, manner: Manner) -> Result<Exit, Problem> {
    let configured = wire::configured(flags)?;
    let place = Place::new(&configured.data_dir);
    place.make()?;
    start_log(configured.settings.log, manner, &place)?;
    let held = place.lock()?;
    let _lock = held.map_err(|pid| anyhow!("a daemon runs already, as process {pid}"))?;
    let token = http::Token::new(place.token()?);
    let listener = socket::listen(configured.settings.daemon_port, &configured.surroundings)?;
    let port = listener.local_addr().context("the port")?.port();
    let roots = Roots::new(&configured.surroundings, &configured.data_dir);
    many_descriptors();
    memory::few_arenas();
    // Each request names its root; there is none to fall back to.
    let nowhere = place::Root { path: PathBuf::from("/"), unlikely: true };
    let wired = wire::build(configured, nowhere);
    let tools = Tool::ALL.into_iter().map(|tool| tool.spec(wired.confinement));
    let root = Root::named(Box::new(move |path| roots.resolve(path)));
    let server = Server::new(Arc::new(Sessions(wired.toolbox)), tools, root);
    let runtime = wire::runtime()?;
    place.write(&State { pid: std::process::id() as i32, port })?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(port, version, "serving");
    if manner == Manner::Foreground {
        terminal::warn(&format!(
            "serving on http://127.0.0.1:{port}{}; the token is in {}",
            http::PATH,
            place.token_file().display()
        ));
    }
    let ending = runtime.block_on(http::serve(server, listener, token));
    place.clear();
    // Threads that still block are not waited for: what they write is committed or it is not.
    runtime.shutdown_background();
    ending?;
    tracing::info!("ended");
    Ok(Exit::Fine)
}

fn start_log(level: LevelFilter, manner: Manner, place: &Place) -> Result<(), Problem> {
    if manner == Manner::Foreground {
        log::start(level);
        return Ok(());
    }
    // Whoever started us has a terminal that will close; signals of it are not for us.
    let _leader = rustix::process::setsid();
    let path = place.log_file();
    let file = LogFile::open(&path).with_context(|| path.display().to_string())?;
    log::start_in(level.max(LevelFilter::INFO), Arc::new(file));
    Ok(())
}

/// Raises the number of files that may be open as far as that goes without asking anybody.
fn many_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS));
    if limit.current.is_some_and(|current| current < most) {
        let raised = Rlimit { current: Some(most), maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::debug!(%error, "the number of open files was not raised");
        }
    }
}
