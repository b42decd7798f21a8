//! Everything a call needs, built once by the wiring; one call goes through here.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use quietcontext_exec::{Cancel, Executor};
use quietcontext_fetch::Fetcher;
use quietcontext_store::Store;

use crate::call::{Answer, Call, Progress};
use crate::context::Context;
use crate::error::ToolError;
use crate::flights::Flights;
use crate::jobs::Jobs;
use crate::jobs::LiveJob;
use crate::limits;
use crate::outbound::Outbound;
use crate::policy::{Gate, Policy};
use crate::record::{CallRecord, Meter, Recording};
use crate::salient::Salience;
use crate::schedule::{Account, Schedule, Work};
use crate::scripts::Scripts;
use crate::tool::{Confinement, Tool};
use crate::{args, batch, exec_file, execute, fetch_index, index, search};

/// Makes the store of a root; called once a root, touches nothing.
pub type Stores = Box<dyn Fn(&Path) -> Store + Send + Sync>;

/// What the user's configuration decides about the tools.
pub struct ToolboxConfig {
    /// How programs are confined.
    pub confinement: Confinement,
    /// The user's home directory: no workspace root, and no part of one.
    pub home: Option<PathBuf>,
    /// Directories beyond the root that `index` may read.
    pub readable: Vec<PathBuf>,
    /// The way of a root's programs to other machines; `None`: they have none.
    pub outbound: Option<Outbound>,
    /// Whether each call leaves a line in the journal of its root.
    pub journal: bool,
}

impl fmt::Debug for ToolboxConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolboxConfig")
            .field("confinement", &self.confinement)
            .field("home", &self.home)
            .field("readable", &self.readable)
            .finish_non_exhaustive()
    }
}

impl ToolboxConfig {
    fn policy(&self, root: &Path) -> Policy {
        let boxed = self.confinement != Confinement::Off;
        Policy::new(root, self.home.as_deref(), &self.readable, boxed)
    }
}

/// The six tools over their leaves. Cheap to share; keeps what belongs to a root apart from others.
pub struct Toolbox {
    shared: Arc<Shared>,
}

/// What all roots share.
pub(crate) struct Shared {
    pub config: ToolboxConfig,
    pub executor: Gate,
    pub fetcher: Fetcher,
    stores: Stores,
    roots: Mutex<HashMap<PathBuf, Arc<Root>>>,
    salience: OnceLock<Salience>,
    pub schedule: Arc<Schedule>,
}

/// What belongs to one workspace root.
pub(crate) struct Root {
    pub path: PathBuf,
    pub store: Store,
    pub scripts: Scripts,
    pub jobs: Jobs,
    pub policy: Policy,
    /// URLs that are being fetched.
    pub flights: Flights,
    /// What its calls have taken lately.
    pub account: Arc<Account>,
    /// Labels of outputs whose digest this process has answered.
    digested: Mutex<HashSet<String>>,
    /// A program has run here since all known files were looked at.
    ran: AtomicBool,
    /// When the newest call came; `None` once its store was closed.
    used: Mutex<Option<Instant>>,
}

impl Root {
    /// Notes that the digest of `label` is being answered; `true` when that of `same` has been.
    pub(crate) fn digested(&self, label: &str, same: Option<&str>) -> bool {
        let mut known = self.digested.lock().unwrap_or_else(PoisonError::into_inner);
        let before = same.is_some_and(|same| known.contains(same));
        known.insert(label.to_owned());
        before
    }

    /// Whether programs may have changed files since all known ones were looked at.
    pub(crate) fn may_have_changed(&self) -> bool {
        self.ran.load(Ordering::Relaxed) || self.jobs.any_runs()
    }

    pub(crate) fn set_ran(&self, ran: bool) {
        self.ran.store(ran, Ordering::Relaxed);
    }

    /// Closes what was not used for `idle`; says how long it may still be open, `None` once it is not.
    fn rest(&self, idle: Duration) -> Option<Duration> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let left = idle.saturating_sub((*used)?.elapsed());
        if left.is_zero() {
            *used = None;
            self.store.rest();
            return None;
        }
        self.store.slim();
        Some(left)
    }

    /// Whether it would be the same if it were made anew.
    fn is_blank(&self) -> bool {
        self.scripts.is_empty() && self.jobs.is_empty()
    }
}

impl Toolbox {
    /// A toolbox over its leaves. Touches nothing.
    pub fn new(
        config: ToolboxConfig,
        executor: Arc<Executor>,
        fetcher: Fetcher,
        stores: Stores,
    ) -> Self {
        let roots = Mutex::new(HashMap::new());
        let (executor, salience) = (Gate::new(executor), OnceLock::new());
        let schedule = Arc::default();
        let shared = Shared { config, executor, fetcher, stores, roots, salience, schedule };
        Self { shared: Arc::new(shared) }
    }

    /// Answers one call. Arguments are checked whole before anything happens.
    pub async fn call(&self, call: Call) -> Answer {
        self.answer(call, self.shared.config.journal).await
    }

    /// As [`Self::call`], for people who look at what agents did: it leaves no line in the journal.
    pub async fn call_unnoted(&self, call: Call) -> Answer {
        self.answer(call, false).await
    }

    async fn answer(&self, call: Call, kept: bool) -> Answer {
        let started = Instant::now();
        let cancel = Cancel::new();
        let _stopped_with_the_call = CancelOnDrop(cancel.clone());
        let watcher = tokio::spawn({
            let (token, cancel) = (call.cancel.clone(), cancel.clone());
            async move {
                token.cancelled().await;
                cancel.cancel();
            }
        });
        let _watched_no_longer = AbortOnDrop(watcher);
        let root = self.shared.root(&call.root);
        let meter = Arc::new(Meter::new(call.tool, &call.arguments, &root.path, kept));
        let mut recording = kept.then(|| Recording::begin(&root, &meter, started));
        let context = Context {
            shared: Arc::clone(&self.shared),
            root: Arc::clone(&root),
            deadline: started + Duration::from_millis(limits::OTHER_MS),
            runtime: tokio::runtime::Handle::current(),
            cancel,
            progress: call.progress.clone(),
            meter,
            turn: Arc::default(),
            swept: Arc::default(),
        };
        let budget = args::budget(&call.arguments);
        // The other tools say how many of their items are done; progress must never go back.
        let counts = !matches!(call.tool, Tool::Execute | Tool::ExecFile);
        let progress = context.progress.clone().filter(|_| !counts);
        let _told = progress.map(|progress| AbortOnDrop(ticks(progress, started)));
        let runs_programs = matches!(call.tool, Tool::Execute | Tool::ExecFile | Tool::Batch);
        let outcome = dispatch(context, call, started).await;
        if runs_programs {
            root.set_ran(true);
        }
        let cancelled = matches!(outcome, Err(ToolError::Cancelled));
        let answer = outcome.unwrap_or_else(|error| error.answer(budget));
        // Nobody reads the answer of a call that was cancelled.
        if let Some(recording) = recording.as_mut().filter(|_| !cancelled) {
            recording.answered(&answer);
        }
        answer
    }

    /// What was called in a root, oldest first, as far as the journal goes back.
    ///
    /// # Errors
    ///
    /// When the journal is there and cannot be read.
    pub fn records(&self, root: &Path) -> std::io::Result<Vec<CallRecord>> {
        let lines = self.shared.root(root).store.journal().lines()?;
        Ok(lines.iter().filter_map(|line| CallRecord::parse(line)).collect())
    }

    /// The background jobs of a root that run now, in whichever process; the oldest first.
    ///
    /// # Errors
    ///
    /// When the data folder cannot be read.
    pub fn live_jobs(&self, root: &Path) -> Result<Vec<LiveJob>, quietcontext_store::StoreError> {
        let announced = self.shared.root(root).store.announced()?;
        let mut jobs: Vec<LiveJob> = announced.into_iter().filter_map(LiveJob::read).collect();
        jobs.sort_by_key(|job| job.since);
        Ok(jobs)
    }

    /// The store of a root, for people's commands.
    pub fn with_store<T>(&self, root: &Path, work: impl FnOnce(&Store) -> T) -> T {
        work(&self.shared.root(root).store)
    }

    /// Closes the stores of roots that had no call for `idle`, and forgets roots of which nothing has to
    /// be remembered; other stores give back what they only cache. Says when to ask again; `None` when
    /// nothing is left open.
    pub fn rest(&self, idle: Duration) -> Option<Duration> {
        let all: Vec<_> = {
            let roots = self.shared.roots.lock().unwrap_or_else(PoisonError::into_inner);
            roots.values().cloned().collect()
        };
        // Two hold a root that no call is using: the table, and this list.
        let busy = |root: &Arc<Root>| Arc::strong_count(root) > 2;
        let left: Vec<_> =
            all.iter().map(|root| if busy(root) { Some(idle) } else { root.rest(idle) }).collect();
        let mut roots = self.shared.roots.lock().unwrap_or_else(PoisonError::into_inner);
        for (root, left) in all.iter().zip(&left) {
            if left.is_none() && root.is_blank() && !busy(root) {
                roots.remove(&root.path);
            }
        }
        left.into_iter().flatten().min()
    }

    /// Stops every program at once. Callable from anywhere, any number of times.
    pub fn shutdown(&self) {
        self.shared.executor.shutdown();
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

impl Shared {
    /// What makes a line of an output telling; compiled when a digest is first needed.
    pub(crate) fn salience(&self) -> &Salience {
        self.salience.get_or_init(Salience::new)
    }

    fn root(&self, path: &Path) -> Arc<Root> {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        let root = roots.entry(path.to_owned()).or_insert_with(|| {
            Arc::new(Root {
                path: path.to_owned(),
                store: (self.stores)(path),
                scripts: Scripts::default(),
                jobs: Jobs::default(),
                policy: self.config.policy(path),
                flights: Flights::default(),
                account: Arc::default(),
                digested: Mutex::default(),
                ran: AtomicBool::default(),
                used: Mutex::default(),
            })
        });
        *root.used.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Arc::clone(root)
    }
}

async fn dispatch(mut context: Context, call: Call, started: Instant) -> Result<Answer, ToolError> {
    let (arguments, cancelled) = (call.arguments, call.cancel);
    match call.tool {
        Tool::Execute => {
            let request = args::execute::parse(arguments)?;
            if let args::execute::Request::Run(run) = &request {
                context.enter(Work::Run, &cancelled).await?;
                if !run.background {
                    // What it waited for its turn is not the program's time.
                    context.deadline = later(Instant::now(), run.timeout);
                }
            }
            blocking(move || execute::execute(&context, request)).await
        }
        Tool::ExecFile => {
            let request = args::exec_file::parse(arguments)?;
            context.enter(Work::Run, &cancelled).await?;
            context.deadline = later(Instant::now(), request.timeout);
            blocking(move || exec_file::exec_file(&context, request)).await
        }
        Tool::Batch => {
            let request = args::batch::parse(arguments)?;
            context.deadline = later(started, request.timeout);
            blocking(move || batch::batch(&context, request)).await
        }
        Tool::Index => {
            let request = args::index::parse(arguments)?;
            context.enter(Work::Store, &cancelled).await?;
            blocking(move || index::index(&context, request)).await
        }
        Tool::Search => {
            let request = args::search::parse(arguments)?;
            context.enter(Work::Search, &cancelled).await?;
            blocking(move || search::search(&context, request)).await
        }
        Tool::FetchIndex => {
            let request = args::fetch_index::parse(arguments)?;
            tokio::select! {
                answer = fetch_index::fetch_index(context, request) => answer,
                () = cancelled.cancelled() => Err(ToolError::Cancelled),
            }
        }
    }
}

/// Tells a client that asked for progress that the call is alive, and for how long.
fn ticks(progress: Progress, started: Instant) -> tokio::task::JoinHandle<()> {
    /// Seldom enough to cost nothing, often enough for a person who watches.
    const EVERY: Duration = Duration::from_secs(2);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(EVERY).await;
            let seconds = started.elapsed().as_secs();
            progress(seconds as f64, None, &format!("running for {seconds} s"));
        }
    })
}

fn later(started: Instant, timeout: Duration) -> Instant {
    started.checked_add(timeout).unwrap_or(started)
}

/// Runs blocking work on a thread that may block. A panic in it is the caller's panic.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::Cancelled),
        },
    }
}

struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
