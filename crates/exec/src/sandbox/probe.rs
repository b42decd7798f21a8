//! What layers this kernel gives to this user: tried, not guessed.

use std::io;
use std::path::{Path, PathBuf};

use super::codec::{Wire, wire_struct};
use super::parent::{Action, Launch, Specification, launch_with};
use super::report::Event;
use super::{Profile, Rung};

/// User namespaces.
pub(super) const USERS: &str = "user namespaces";
/// An own network with loopback.
pub(super) const NETWORK: &str = "network namespace";
/// An own view of the file system.
pub(super) const MOUNTS: &str = "mount view";
/// Own processes and `/proc`.
pub(super) const PROCESSES: &str = "process namespace";
/// Landlock; its version is the interface's.
pub(super) const LANDLOCK: &str = "landlock";
/// The filter on system calls.
pub(super) const SECCOMP: &str = "seccomp";
/// The bound on processes.
pub(super) const TASKS: &str = "task limit";
/// The bound on memory.
pub(super) const MEMORY: &str = "memory limit";

/// Without one of these there is no full box.
pub(super) const NEEDED_FOR_NAMESPACES: &[&str] = &[USERS, NETWORK, MOUNTS, PROCESSES];

/// One layer on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// The interface version where there is one (Landlock), else 0.
    pub version: u32,
    /// Whether it works.
    pub state: LayerState,
}

/// Whether a layer works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerState {
    /// It does; how, where there are several ways.
    Present(String),
    /// It does not: what failed.
    Missing(String),
}

impl Layer {
    /// What the layer is good for, in a line for people.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        match self.name.as_str() {
            USERS => "lets a program be confined without any privilege",
            NETWORK => "own loopback; the host's ports and networks cannot be reached",
            MOUNTS => "the disk is read-only, the home is hidden",
            PROCESSES => "no process outside is seen, and nothing outlives a run",
            LANDLOCK => "a second guard for files, signals and abstract sockets",
            SECCOMP => "dangerous system calls are refused",
            TASKS => "a fork bomb ends at the limit",
            MEMORY => "the memory of a run is bounded",
            _ => "",
        }
    }

    /// What the user can do about a missing layer; `None` when it is there or nothing helps.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        let LayerState::Missing(_) = self.state else { return None };
        match self.name.as_str() {
            USERS | NETWORK | MOUNTS | PROCESSES => Some(remedy_for_namespaces(&setting)),
            LANDLOCK => {
                Some("boot with lsm=landlock,… (Linux 5.13 or newer; 6.12 for all of it)".into())
            }
            TASKS | MEMORY => {
                Some("run the server in a delegated control group (systemd: Delegate=yes)".into())
            }
            _ => None,
        }
    }
}

/// The one thing that is known to switch user namespaces off here.
fn remedy_for_namespaces(setting: &dyn Fn(&str) -> Option<String>) -> String {
    let is = |name: &str, value: &str| setting(name).is_some_and(|found| found == value);
    if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "quietcontext doctor --apparmor | sudo tee /etc/apparmor.d/quietcontext && \
         sudo apparmor_parser -r /etc/apparmor.d/quietcontext"
            .into()
    } else if is("user/max_user_namespaces", "0") {
        "sysctl user.max_user_namespaces=15000".into()
    } else if is("kernel/unprivileged_userns_clone", "0") {
        "sysctl kernel.unprivileged_userns_clone=1".into()
    } else {
        "an outer container forbids it: allow user namespaces and an unmasked /proc there".into()
    }
}

/// A kernel setting.
fn setting(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
    Some(text.trim().to_owned())
}

/// Tries every layer in a process of its own and gives them in a fixed order.
pub fn probe(binary: &Path) -> io::Result<Vec<Layer>> {
    let profile = Profile::new(PathBuf::from("/var/empty"), PathBuf::from("/nonexistent"));
    let specification = Specification::built_in(Action::Probe, Rung::Namespaces, profile);
    let stdin = std::fs::File::open("/dev/null")?.into();
    let launch = Launch { binary, rung: Rung::Namespaces, stdin, join: None, share_network: false };
    let (mut command, mut link) = launch_with(&specification, launch)?;
    let mut child = command.spawn()?;
    drop(command);
    let mut layers = None;
    loop {
        match link.wait()? {
            Event::Layers(bytes) => layers = Vec::from_bytes(&bytes),
            Event::Failed(failure) => {
                child.wait()?;
                return Err(io::Error::other(failure));
            }
            Event::Closed => break,
            Event::Started(_) | Event::Ended(_) => {}
        }
    }
    child.wait()?;
    layers.ok_or_else(|| io::Error::other("the probe gave no answer"))
}

impl Wire for LayerState {
    fn put(&self, out: &mut Vec<u8>) {
        let (missing, text) = match self {
            Self::Present(text) => (false, text),
            Self::Missing(text) => (true, text),
        };
        missing.put(out);
        text.put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        let missing = bool::take(input)?;
        let text = String::take(input)?;
        Some(if missing { Self::Missing(text) } else { Self::Present(text) })
    }
}

wire_struct!(Layer { name, version, state });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_names_what_switched_it_off() {
        for (set, value, want) in [
            ("kernel/apparmor_restrict_unprivileged_userns", "1", "--apparmor"),
            ("user/max_user_namespaces", "0", "max_user_namespaces"),
            ("kernel/unprivileged_userns_clone", "0", "unprivileged_userns_clone"),
            ("other", "0", "container"),
        ] {
            let found = |name: &str| (name == set).then(|| value.to_owned());
            assert!(remedy_for_namespaces(&found).contains(want), "{set}");
        }
    }

    #[test]
    fn only_a_missing_layer_has_a_remedy() {
        let layer = |state| Layer { name: USERS.into(), version: 0, state };
        assert_eq!(layer(LayerState::Present(String::new())).remedy(), None);
        assert!(layer(LayerState::Missing("EPERM".into())).remedy().is_some());
        assert!(!layer(LayerState::Present(String::new())).meaning().is_empty());
    }
}
