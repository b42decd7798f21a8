//! What one box allows: plain data, checked once, the same for every program of a call.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::codec::{Wire, wire_struct};

/// Whether the workspace may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The workspace and a private temporary directory.
    WorkspaceWrite,
    /// Only a private temporary directory.
    ReadOnly,
}

/// How a program reaches the network. In every case it has its own network namespace: working
/// loopback, no route anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nowhere.
    Off,
    /// Through a listener inside the box that is handed to the server ([`super::Started`]), which
    /// serves it as an HTTP proxy; the proxy variables are set. What passes is the server's policy:
    /// the allowlist, or everything but the host's loopback and link-local addresses.
    Proxied,
}

/// Bounds of one box. A value of 0 means the kernel's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads at one time.
    pub tasks: u64,
    /// Bytes of private writable memory of one process (and of the whole box where a memory
    /// cgroup can be made).
    pub memory_bytes: u64,
    /// Bytes of one written file.
    pub file_bytes: u64,
    /// Bytes of the private temporary space: home, `/tmp`, `/var/tmp`, `/dev/shm` together.
    pub temporary_bytes: u64,
    /// Open descriptors of one process.
    pub open_files: u64,
    /// How long processes that outlive the main one may still finish by themselves.
    pub grace: Duration,
}

/// Most memory that a program gets, however much there is.
const MOST_MEMORY_BYTES: u64 = 8 << 30;

impl Limits {
    /// The defaults on this machine.
    #[must_use]
    pub fn for_this_machine() -> Self {
        let info = rustix::system::sysinfo();
        Self::for_memory(info.totalram.saturating_mul(info.mem_unit.into()))
    }

    /// The defaults on a machine with this many bytes of memory: half of it, at most 8 GiB.
    #[must_use]
    pub fn for_memory(total_bytes: u64) -> Self {
        Self { memory_bytes: (total_bytes / 2).clamp(1, MOST_MEMORY_BYTES), ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tasks: 1024,
            memory_bytes: MOST_MEMORY_BYTES,
            file_bytes: 4 << 30,
            temporary_bytes: 1 << 30,
            open_files: 4096,
            grace: Duration::from_millis(50),
        }
    }
}

/// What one box allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Whether the workspace may be written.
    pub mode: Mode,
    /// How the network is reached.
    pub network: Network,
    /// The workspace: canonical, neither `/`, nor the home, nor above the home.
    pub root: PathBuf,
    /// Working directory of the program; must be visible in the box.
    pub cwd: PathBuf,
    /// The user's home directory, hidden but for the rows of [`super::TOOLCHAINS`].
    pub home: PathBuf,
    /// More homes of the same user, treated alike: `HOME` may be set to another directory than the
    /// one that holds the user's secrets.
    pub other_homes: Vec<PathBuf>,
    /// More directories that are empty in the view (canonical), such as the product's own data.
    pub emptied: Vec<PathBuf>,
    /// The run's own directory, with its program: writable in every mode, like the temporary one.
    /// Programs see it as [`super::STAGE`] where a box has a view of its own.
    pub scratch: Option<PathBuf>,
    /// The workspace's own caches (an existing directory): writable in every mode, since nobody else
    /// reads them.
    pub caches: Option<PathBuf>,
    /// Whether tools may write their own caches, in a layer over them: it costs a mount each. Without
    /// it they are read-only.
    pub layers: bool,
    /// More that may be read although it lies in a hidden directory (canonical).
    pub readable: Vec<PathBuf>,
    /// More that may be written (canonical).
    pub writable: Vec<PathBuf>,
    /// Files and directories taken out of the view (canonical); they cannot be read or run.
    pub hidden: Vec<PathBuf>,
    /// Protected paths (relative to the workspace) that the user lifted, by name.
    pub unprotected: Vec<PathBuf>,
    /// The program's whole environment. `HOME` and `TMPDIR` are overridden.
    pub environment: Vec<(OsString, OsString)>,
    /// Bounds.
    pub limits: Limits,
}

/// Why a profile is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The workspace is the file system's root, the home, or contains the home.
    #[error("the workspace must not be or contain the home directory or the root of the disk")]
    Root,
    /// A path is not absolute and free of `.` and `..`.
    #[error("not an absolute canonical path: {0}")]
    Path(PathBuf),
}

impl Profile {
    /// A profile with everything at its default: workspace writable, no network.
    #[must_use]
    pub fn new(root: PathBuf, home: PathBuf) -> Self {
        Self {
            mode: Mode::WorkspaceWrite,
            network: Network::Off,
            cwd: root.clone(),
            root,
            home,
            other_homes: Vec::new(),
            emptied: Vec::new(),
            scratch: None,
            caches: None,
            layers: false,
            readable: Vec::new(),
            writable: Vec::new(),
            hidden: Vec::new(),
            unprotected: Vec::new(),
            environment: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Every home of the user, the one of `HOME` first.
    pub(super) fn homes(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.home).chain(&self.other_homes)
    }

    /// Checks what can be checked without looking at the disk.
    pub fn validate(&self) -> Result<(), ProfileError> {
        let lists =
            [&self.other_homes, &self.emptied, &self.readable, &self.writable, &self.hidden];
        let singles = [&self.root, &self.cwd, &self.home];
        for path in singles
            .into_iter()
            .chain(&self.scratch)
            .chain(&self.caches)
            .chain(lists.into_iter().flatten())
        {
            if !is_plain(path) {
                return Err(ProfileError::Path(path.clone()));
            }
        }
        let above_home = |path: &PathBuf| self.homes().any(|home| home.starts_with(path));
        if above_home(&self.root) || self.writable.iter().any(above_home) {
            return Err(ProfileError::Root);
        }
        Ok(())
    }
}

/// Absolute, without `.` and `..`, as `Path::components` sees it.
fn is_plain(path: &Path) -> bool {
    use std::path::Component;
    path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

impl Wire for Mode {
    fn put(&self, out: &mut Vec<u8>) {
        (*self == Self::ReadOnly).put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(input)? { Self::ReadOnly } else { Self::WorkspaceWrite })
    }
}

impl Wire for Network {
    fn put(&self, out: &mut Vec<u8>) {
        (*self == Self::Proxied).put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(input)? { Self::Proxied } else { Self::Off })
    }
}

wire_struct!(Limits { tasks, memory_bytes, file_bytes, temporary_bytes, open_files, grace });
wire_struct!(Profile {
    mode,
    network,
    root,
    cwd,
    home,
    other_homes,
    emptied,
    scratch,
    caches,
    layers,
    readable,
    writable,
    hidden,
    unprotected,
    environment,
    limits
});

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(root: &str, home: &str) -> Profile {
        Profile::new(PathBuf::from(root), PathBuf::from(home))
    }

    #[test]
    fn the_home_and_what_contains_it_is_no_workspace() {
        for (root, good) in [
            ("/home/u/work", true),
            ("/srv/work", true),
            ("/home/user", true),
            ("/home/u", false),
            ("/home", false),
            ("/", false),
        ] {
            assert_eq!(profile(root, "/home/u").validate().is_ok(), good, "{root}");
        }
        let mut extra = profile("/srv/work", "/home/u");
        extra.writable.push(PathBuf::from("/home"));
        assert_eq!(extra.validate(), Err(ProfileError::Root));
    }

    #[test]
    fn a_program_gets_half_of_the_memory_at_most() {
        assert_eq!(Limits::for_memory(4 << 30).memory_bytes, 2 << 30);
        assert_eq!(Limits::for_memory(64 << 30).memory_bytes, 8 << 30);
        // 0 would mean "no bound".
        assert_eq!(Limits::for_memory(0).memory_bytes, 1);
    }

    #[test]
    fn paths_must_be_canonical() {
        for bad in ["work", "/srv/../home/u", "../x"] {
            assert!(matches!(profile(bad, "/home/u").validate(), Err(ProfileError::Path(_))));
        }
    }
}
