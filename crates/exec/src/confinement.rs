//! How programs are held: in boxes of the kernel, or not at all. Chosen by the user, never a call.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sha2::{Digest as _, Sha256};

use crate::error::ExecError;
use crate::executor::Held;
use crate::sandbox::{self, Launcher, Limits, Mode, Network, NetworkNamespace, Profile, Standing};
use crate::scratch::Scratch;

/// How the programs of an executor are held.
#[derive(Debug, Clone)]
pub enum Confinement {
    /// Not at all.
    Off,
    /// Each in a box of its own, or it does not run.
    Boxed(Box<BoxConfig>),
}

/// What is the same for every box of an executor. Paths are canonical.
#[derive(Debug, Clone)]
pub struct BoxConfig {
    /// Whether workspaces may be written.
    pub mode: Mode,
    /// The user's home, as in `HOME`.
    pub home: PathBuf,
    /// More homes of the same user.
    pub other_homes: Vec<PathBuf>,
    /// Directories that are empty in every box: the product's own data.
    pub emptied: Vec<PathBuf>,
    /// Where the caches of workspaces are kept, a directory each; `None`: programs have none.
    pub caches: Option<PathBuf>,
    /// More that may be read although it lies in a hidden directory.
    pub readable: Vec<PathBuf>,
    /// More that may be written.
    pub writable: Vec<PathBuf>,
    /// Protected paths of a workspace that the user lifted, relative to it.
    pub unprotected: Vec<PathBuf>,
    /// Bounds of one box.
    pub limits: Limits,
}

impl BoxConfig {
    /// Every home of the user, the one of `HOME` first.
    fn homes(&self) -> Vec<&PathBuf> {
        std::iter::once(&self.home).chain(&self.other_homes).collect()
    }
}

/// The way out of a box for programs of one workspace: serves a listener that lies inside.
pub trait Outbound: fmt::Debug + Send + Sync {
    /// Serves the listener until the outlet is dropped.
    fn open(&self, listener: TcpListener) -> io::Result<Box<dyn Outlet>>;
}

/// One open way out. Dropping it closes every connection that goes through it.
pub trait Outlet: fmt::Debug + Send {
    /// What was refused so far and what the user can do about it, in a few lines.
    fn blocked(&self) -> Option<String>;
}

/// Where one program works, for its box.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The workspace; `None` for programs of the server's own that need none.
    pub(crate) root: Option<&'a Path>,
    /// The run's own directory.
    pub(crate) scratch: &'a Path,
    /// Whether it may build something, and so write the caches of tools.
    pub(crate) builds: bool,
    /// Taken out of the view.
    pub(crate) hidden: &'a [PathBuf],
    /// The way out, if the user allows one.
    pub(crate) outbound: Option<&'a Arc<dyn Outbound>>,
    /// Whether later programs of the workspace may reach this one's ports.
    pub(crate) shares_ports: bool,
}

/// The sandbox could not even be tried.
pub(crate) fn untried(source: io::Error) -> ExecError {
    ExecError::Spawn { program: "the sandbox".into(), step: "try it", source }
}

/// The boxes of one executor.
#[derive(Debug)]
pub(crate) struct Boxes {
    config: BoxConfig,
    /// Tried before the first box, and then kept.
    standing: Mutex<Option<Arc<Standing>>>,
    /// Networks of running background programs, by workspace.
    networks: Mutex<HashMap<PathBuf, Weak<NetworkNamespace>>>,
}

/// What stands in the text of a program that builds something, or starts what may build something.
/// A word too many costs a program some milliseconds, one too few the downloads of its tools.
const BUILD_WORDS: &[&str] = &[
    "./",
    ".sh",
    "ant",
    "bazel",
    "bundle",
    "cargo",
    "exec",
    "go",
    "gradle",
    "just",
    "make",
    "mvn",
    "ninja",
    "nox",
    "npm",
    "npx",
    "nuget",
    "dotnet",
    "pnpm",
    "popen",
    "run",
    "rust",
    "sbt",
    "spawn",
    "subprocess",
    "system",
    "task",
    "tox",
    "yarn",
];

/// Whether a program may write the caches of build tools.
pub(crate) fn may_build(text: &str) -> bool {
    BUILD_WORDS.iter().any(|word| text.contains(word))
}

/// The directories that a program needs shown, without links: those its links lead through, and the
/// one it is installed in; for one of an npm package all packages beside it.
fn installed(program: &Path) -> Vec<PathBuf> {
    /// Links that lead to a program one after the other.
    const LINKS: usize = 8;
    let mut places = Vec::new();
    let mut at = program.to_owned();
    for _ in 0..LINKS {
        let Ok(link) = std::fs::read_link(&at) else { break };
        let Some(parent) = at.parent() else { break };
        at = parent.join(link);
        places.extend(at.parent().and_then(|place| place.canonicalize().ok()));
    }
    if let Ok(real) = program.canonicalize() {
        let packages = real.ancestors().filter(|place| place.ends_with("node_modules")).last();
        places.extend(packages.or_else(|| real.parent()).map(Path::to_owned));
    }
    places
}

/// Name of a workspace's directory among the caches.
fn cache_name(root: &Path) -> String {
    let hash = Sha256::digest(root.as_os_str().as_bytes());
    hash.iter().take(8).fold(String::new(), |name, byte| format!("{name}{byte:02x}"))
}

impl Boxes {
    /// Touches nothing but the search path's directories, which are shown where they would be
    /// hidden: what the user runs by name, a box can run too.
    pub(crate) fn new(mut config: BoxConfig, path: &OsStr) -> Self {
        let programs = std::env::split_paths(path).filter_map(|entry| entry.canonicalize().ok());
        let homes = config.homes();
        let shown: Vec<_> =
            programs.filter(|entry| entry.is_dir() && sandbox::hides(entry, &homes)).collect();
        config.readable.extend(shown);
        Self { config, standing: Mutex::default(), networks: Mutex::default() }
    }

    /// What holds boxes here, tried once. `scratch` is where the canary gets a workspace.
    pub(crate) fn standing(
        &self,
        launcher: &Arc<Launcher>,
        scratch: &Scratch,
    ) -> Result<Arc<Standing>, ExecError> {
        let mut known = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(standing) = known.as_ref() {
            return Ok(Arc::clone(standing));
        }
        let directory = scratch.run_directory()?;
        let made = sandbox::trial(launcher, directory.path()).map_err(untried)?;
        let made = Arc::new(made);
        *known = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The same if it has been tried.
    pub(crate) fn known(&self) -> Option<Arc<Standing>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What one program may do.
    pub(crate) fn profile(
        &self,
        place: &Place<'_>,
        program: &Path,
        cwd: &Path,
        environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    ) -> Profile {
        let config = &self.config;
        let root = place.root.unwrap_or(place.scratch).to_owned();
        let outside = |path: &&PathBuf| !path.starts_with(&root);
        let homes = config.homes();
        // Hidden already, unless something shows it again.
        let shown = |path: &PathBuf| {
            let mut places = config.readable.iter().chain(&config.writable).chain([&root]);
            places.any(|place| path.starts_with(place))
        };
        // The search path may hold a link to it.
        let mut own = installed(program);
        own.retain(|place| sandbox::hides(place, &homes));
        let bare = |path: &&PathBuf| !sandbox::hides(path, &homes) || shown(path);
        let emptied = config.emptied.iter().filter(bare).cloned().collect();
        let network = if place.outbound.is_some() { Network::Proxied } else { Network::Off };
        Profile {
            mode: if place.root.is_some() { config.mode } else { Mode::ReadOnly },
            network,
            cwd: cwd.to_owned(),
            home: config.home.clone(),
            other_homes: config.other_homes.clone(),
            emptied,
            scratch: Some(place.scratch.to_owned()),
            layers: place.builds,
            caches: place.root.and_then(|root| self.caches_of(root)),
            readable: own.iter().chain(&config.readable).filter(outside).cloned().collect(),
            writable: config.writable.iter().filter(outside).cloned().collect(),
            hidden: place.hidden.to_vec(),
            unprotected: config.unprotected.clone(),
            environment,
            limits: config.limits.clone(),
            root: root.clone(),
        }
    }

    /// The directory of a workspace's caches, made if it is not there. Without one programs run all
    /// the same, and fetch and compile anew.
    fn caches_of(&self, root: &Path) -> Option<PathBuf> {
        let directory = self.config.caches.as_ref()?.join(cache_name(root));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        match made.and_then(|()| directory.canonicalize()) {
            Ok(directory) => Some(directory),
            Err(error) => {
                tracing::warn!(%error, "no place for caches");
                None
            }
        }
    }

    pub(crate) fn held(&self) -> Held<'_> {
        Held { mode: self.config.mode, limits: &self.config.limits }
    }

    /// The network of a running background program of the workspace.
    pub(crate) fn network(&self, root: &Path) -> Option<Arc<NetworkNamespace>> {
        let networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        networks.get(root).and_then(Weak::upgrade)
    }

    /// Makes a network known for as long as somebody holds it.
    pub(crate) fn share(&self, root: &Path, network: NetworkNamespace) -> Arc<NetworkNamespace> {
        let network = Arc::new(network);
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        networks.retain(|_, known| known.strong_count() > 0);
        networks.insert(root.to_owned(), Arc::downgrade(&network));
        network
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_installed_where_its_link_leads() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for name in ["bin", "opt/tool", "a/node_modules/tool/node_modules/part"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        for (target, want) in [
            ("opt/tool/run", "opt/tool"),
            ("a/node_modules/tool/node_modules/part/cli.js", "a/node_modules"),
        ] {
            let link = base.join("bin/run");
            let _none_yet = std::fs::remove_file(&link);
            std::fs::write(base.join(target), "").unwrap();
            std::os::unix::fs::symlink(base.join(target), &link).unwrap();
            assert!(installed(&link).contains(&base.join(want)), "{target}");
            // A link to the link: its directory is on the way.
            let second = base.join("second");
            let _none_yet = std::fs::remove_file(&second);
            std::os::unix::fs::symlink("bin/run", &second).unwrap();
            let shown = installed(&second);
            assert!([base.join("bin"), base.join(want)].iter().all(|place| shown.contains(place)));
        }
        assert!(installed(&base.join("none")).is_empty());
    }

    #[test]
    fn what_builds_or_starts_something_gets_layers() {
        for text in ["cargo build", "make", "npm ci", "./gradlew test", "subprocess.run(x)"] {
            assert!(may_build(text), "{text}");
        }
        for text in ["true", "ls -la", "print(6*7)", "git status", "cat file | wc -l"] {
            assert!(!may_build(text), "{text}");
        }
    }
}
