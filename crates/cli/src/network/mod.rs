//! Which hosts confined programs may reach: the user's list, and what the user's own tools use.
//!
//! Nothing is read before the first question. In this order, each step only when those before it
//! said nothing:
//!
//! 1. the user's list (`list`), read anew whenever it changed;
//! 2. the files, variables and folders of the user's tools (`discover`), and the git remotes of the
//!    workspace (`git`), looked at again after a few seconds;
//! 3. the tools themselves (`ask`), each once in a box that reaches nothing; answers are kept;
//! 4. an index that was used (`learn`): which hosts its files are loaded from.

mod ask;
mod discover;
mod files;
mod git;
mod learn;
mod list;
mod memory;
mod outbound;
mod parse;
mod tools;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use quietcontext_fetch::{
    HostPort,
    proxy::{Permit, Permits},
};
use tokio::runtime::Handle;

use self::{
    ask::Asker,
    discover::Writable,
    memory::Memory,
    tools::{TOOLS, Tool},
};
pub(crate) use self::{
    discover::{Found, User},
    list::{Entry, Hosts, ListFile, write_whole},
    outbound::outbound,
};

/// How long what was found is believed before it is looked for again.
const FRESH: Duration = Duration::from_secs(3);

/// Which hosts are reached at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reach {
    /// What the user's list and tools name.
    #[default]
    Allowlist,
    /// Nothing.
    Off,
    /// Everything but this machine, unless the user's list refuses it.
    On,
}

/// The answer to what may be reached, for all roots of a process.
#[derive(Debug)]
pub(crate) struct Allowed {
    reach: Reach,
    list: ListFile,
    user: User,
    data_dir: PathBuf,
    /// What programs may write beside their workspace.
    writable: Vec<PathBuf>,
    /// By root: what a root's programs may write is not asked.
    told: Mutex<BTreeMap<PathBuf, Told>>,
    /// Indexes that programs of this process were let through to.
    used: Mutex<BTreeSet<HostPort>>,
}

/// What was told by tools and indexes.
#[derive(Debug, Default)]
struct Told {
    memory: Option<Memory>,
    /// Whether each tool was asked in this process.
    asked: bool,
    /// Indexes that were asked in this process.
    learned: BTreeSet<String>,
    found: Vec<Found>,
}

impl Allowed {
    /// Touches nothing.
    pub(crate) fn new(
        reach: Reach,
        list: ListFile,
        user: User,
        data_dir: PathBuf,
        writable: Vec<PathBuf>,
    ) -> Arc<Self> {
        let (told, used) = (Mutex::default(), Mutex::default());
        Arc::new(Self { reach, list, user, data_dir, writable, told, used })
    }

    /// What programs of a root may write.
    fn writable(&self, root: &Path) -> Writable {
        Writable::new(self.writable.iter().map(PathBuf::as_path).chain([root]))
    }

    /// The policy for programs of one root.
    pub(crate) fn for_root(self: &Arc<Self>, root: &Path) -> Arc<dyn Permits> {
        let (all, root) = (Arc::clone(self), root.to_owned());
        Arc::new(ForRoot { all, root, looked: Mutex::default() })
    }

    /// The user's own list.
    pub(crate) fn list(&self) -> &ListFile {
        &self.list
    }

    /// Which hosts are reached at all.
    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }

    /// Everything that tools and remotes name for `root`; tools that were not asked yet are asked.
    pub(crate) fn found(&self, root: &Path, runtime: &Handle) -> Vec<Found> {
        let mut all = self.looked(root);
        all.extend(self.told(root, runtime));
        all
    }

    /// What can be found by looking.
    fn looked(&self, root: &Path) -> Vec<Found> {
        let writable = self.writable(root);
        let mut all = discover::tools(&self.user, &writable);
        all.extend(discover::remotes(&self.user, root, &writable));
        all
    }

    /// What the tools themselves and indexes told, at any time.
    fn told(&self, root: &Path, runtime: &Handle) -> Vec<Found> {
        // Whoever comes second waits for the answers of the first.
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told = all.entry(root.to_owned()).or_default();
        if !told.asked {
            told.asked = true;
            let found = self.ask_all(root, told.memory(&self.data_dir), runtime);
            told.found.extend(found);
        }
        told.found.clone()
    }

    fn ask_all(&self, root: &Path, memory: &mut Memory, runtime: &Handle) -> Vec<Found> {
        let (user, writable) = (&self.user, self.writable(root));
        let rows = TOOLS.iter().filter(|tool| !writable.holds_of(user, tool)).filter_map(|tool| {
            let ask = tool.ask.as_ref()?;
            let program = ask::program(user, tool.name, &writable)?;
            let stamp = memory::stamp(user, tool, &program);
            Some((tool, ask, program, stamp))
        });
        let rows: Vec<_> = rows.collect();
        let (known, unknown): (Vec<_>, Vec<_>) = rows
            .into_iter()
            .partition(|(tool, _, _, stamp)| memory.get(tool.name, stamp).is_some());
        let mut found = Vec::new();
        for (tool, _, _, stamp) in known {
            let hosts = memory.get(tool.name, &stamp).unwrap_or_default();
            found.extend(hosts.iter().map(|host| told_by(tool, host)));
        }
        let scratch = self.data_dir.join("scratch");
        let asker = Asker { user, scratch: &scratch, runtime };
        if unknown.is_empty()
            || asker.ready().inspect_err(|error| tracing::info!("{error:#}")).is_err()
        {
            return found;
        }
        let answers: Vec<_> = thread::scope(|scope| {
            let threads = unknown.iter().map(|(tool, ask, program, _)| {
                let asker = &asker;
                scope.spawn(move || asker.ask(tool, ask, program))
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        for ((tool, _, _, stamp), answer) in unknown.into_iter().zip(answers) {
            match answer {
                Ok(Ok(hosts)) => {
                    found.extend(hosts.iter().map(|host| told_by(tool, host)));
                    memory.put(tool.name, stamp, hosts);
                }
                Ok(Err(error)) => tracing::info!(tool = tool.name, "not asked: {error:#}"),
                Err(_) => tracing::warn!(tool = tool.name, "asking it failed"),
            }
        }
        save(memory);
        found
    }

    /// Whether an index that was used names `target` as a host of its files.
    fn learned(&self, root: &Path, target: &HostPort, known: &[Found], runtime: &Handle) -> bool {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut all = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told = all.entry(root.to_owned()).or_default();
        for index in known.iter().filter(|found| used.contains(&found.target)) {
            let row = TOOLS.iter().find(|tool| tool.name == index.tool);
            let Some((tool, how)) = row.and_then(|tool| Some((tool, tool.learn?))) else {
                continue;
            };
            let place = index.address.clone().unwrap_or_else(|| index.target.to_string());
            let (key, stamp) = (format!("{} {place}", tool.name), memory::week());
            if !told.learned.insert(key.clone()) {
                continue;
            }
            let memory = told.memory(&self.data_dir);
            let hosts = memory.get(&key, &stamp).map(<[_]>::to_vec).or_else(|| {
                let hosts = learn::hosts(index, how, runtime)?;
                memory.put(&key, stamp, hosts.clone());
                save(memory);
                Some(hosts)
            });
            let origin = format!("named by {}", index.target);
            let hosts = hosts.into_iter().flatten();
            told.found
                .extend(hosts.map(|host| Found { origin: origin.clone(), ..told_by(tool, &host) }));
        }
        told.found.iter().any(|found| found.target.covers(target))
    }
}

/// Keeps the answers for later processes.
fn save(memory: &Memory) {
    if let Err(error) = memory.save() {
        tracing::info!("what tools answered is not kept: {error}");
    }
}

impl Told {
    fn memory(&mut self, data_dir: &Path) -> &mut Memory {
        self.memory.get_or_insert_with(|| Memory::open(data_dir.join("network.json")))
    }
}

fn told_by(tool: &Tool, host: &HostPort) -> Found {
    Found {
        target: host.clone(),
        tool: tool.name.to_owned(),
        origin: "asked".to_owned(),
        address: None,
        permit: Permit::Public,
    }
}

/// The policy of one root.
struct ForRoot {
    all: Arc<Allowed>,
    root: PathBuf,
    looked: Mutex<Option<(Instant, Vec<Found>)>>,
}

impl ForRoot {
    fn looked(&self) -> Vec<Found> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.as_ref().is_none_or(|(at, _)| at.elapsed() >= FRESH) {
            *looked = Some((Instant::now(), self.all.looked(&self.root)));
        }
        looked.as_ref().map(|(_, found)| found.clone()).unwrap_or_default()
    }

    fn among(&self, found: &[Found], target: &HostPort) -> Option<Permit> {
        let named = found.iter().filter(|found| found.target.covers(target));
        let permit = named.clone().map(|found| found.permit).max();
        let index = |found: &Found| {
            TOOLS.iter().any(|tool| tool.name == found.tool && tool.learn.is_some())
        };
        if named.clone().any(index) {
            let mut used = self.all.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.insert(target.clone());
        }
        permit
    }
}

impl Permits for ForRoot {
    fn permit(&self, target: &HostPort) -> Permit {
        // A list that cannot be read may hold a refusal: then nothing passes.
        let list = match self.all.list.read() {
            Ok(list) => list,
            Err(error) => {
                tracing::warn!("nothing is allowed: {error:#}");
                return Permit::No;
            }
        };
        match (list.permit(target), self.all.reach) {
            (_, Reach::Off) => return Permit::No,
            (Some(permit), _) => return permit,
            (None, Reach::On) => return Permit::Private,
            (None, Reach::Allowlist) => {}
        }
        let mut known = self.looked();
        if let Some(permit) = self.among(&known, target) {
            return permit;
        }
        // No tool comes with an address instead of a name, and without a runtime none can be asked.
        let runtime = Handle::try_current().ok().filter(|_| target.is_name());
        let Some(runtime) = runtime else { return Permit::No };
        known.extend(self.all.told(&self.root, &runtime));
        if let Some(permit) = self.among(&known, target) {
            return permit;
        }
        if self.all.learned(&self.root, target, &known, &runtime) {
            Permit::Public
        } else {
            Permit::No
        }
    }
}

#[cfg(test)]
mod tests;
