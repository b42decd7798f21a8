//! What comes out of a box over its socket: a failed step by name, the start, the end.

use std::fmt;
use std::net::TcpListener;

use super::codec::{Wire, wire_struct};
use super::parent::NetworkNamespace;

macro_rules! steps {
    ($($variant:ident = $name:literal, $doc:literal;)+) => {
        /// The steps of building a box, in their order; a failure names one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Step { $(#[doc = $doc] $variant),+ }

        impl Step {
            /// All steps in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The step's name as it is shown to people.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

steps! {
    Specification = "specification", "Reading what is to be done.";
    ParentDeathSignal = "parent death signal", "Making sure that the box ends with the server.";
    ProtectedPaths = "protected paths", "Finding and masking what is read-only in the workspace.";
    Namespaces = "namespaces", "New user, mount, pid, network, ipc and uts namespaces.";
    IdentityMap = "identity map", "Mapping the caller's own user and group.";
    Loopback = "loopback", "Bringing the loopback interface up.";
    View = "mount view", "The read-only tree with hidden directories.";
    Home = "home", "Toolchains and cleaned configuration in the hidden home.";
    Workspace = "workspace", "Binding the workspace.";
    Devices = "devices", "An own `/dev`.";
    Processes = "process file system", "An own `/proc`.";
    PivotRoot = "pivot root", "Leaving the host's tree.";
    WorkingDirectory = "working directory", "Entering the working directory.";
    Limits = "limits", "Bounds on processes, memory and files.";
    Capabilities = "capabilities", "Giving up every capability.";
    Descriptors = "descriptors", "Closing inherited descriptors.";
    Landlock = "landlock", "The second layer for files, signals and abstract sockets.";
    Seccomp = "seccomp", "The filter on system calls.";
    Init = "init", "Starting the program's process.";
    Execute = "execute", "Starting the program itself.";
    Supervise = "supervise", "Watching the box.";
}

/// A step that could not be done, so that nothing ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which step.
    pub step: Step,
    /// What it was about: a path, a layer. May be empty.
    pub detail: String,
    /// The system's error number, or 0.
    pub errno: i32,
}

impl Failure {
    /// A failure of `step` about `detail` with the error's number.
    pub(super) fn new(step: Step, detail: impl Into<String>, error: impl ErrorNumber) -> Self {
        Self { step, detail: detail.into(), errno: error.number() }
    }

    /// A failure without a system error.
    pub(super) fn plain(step: Step, detail: impl Into<String>) -> Self {
        Self { step, detail: detail.into(), errno: 0 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.step.name())?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        if self.errno != 0 {
            write!(f, ": {}", std::io::Error::from_raw_os_error(self.errno))?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// An error that carries a system error number.
pub(super) trait ErrorNumber {
    /// The number, or 0.
    fn number(&self) -> i32;
}

impl ErrorNumber for rustix::io::Errno {
    fn number(&self) -> i32 {
        self.raw_os_error()
    }
}

impl ErrorNumber for std::io::Error {
    fn number(&self) -> i32 {
        self.raw_os_error().unwrap_or(0)
    }
}

/// Turns any system result into one that names its step.
pub(super) trait InStep<T> {
    /// Names the step and what it was about.
    fn step(self, step: Step, detail: &str) -> Result<T, Failure>;
}

impl<T, E: ErrorNumber> InStep<T> for Result<T, E> {
    fn step(self, step: Step, detail: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(step, detail, error))
    }
}

/// How the main process of a box ended. When this is told nothing of the box runs any more; what
/// the box needed on the disk is removed until [`Event::Closed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The raw wait status, for `std::os::unix::process::ExitStatusExt::from_raw`.
    pub wait_status: i32,
    /// Processes that still ran after the grace and were killed.
    pub left_behind: u32,
    /// Whether the server stopped it ([`super::Link::stop`]) before it ended by itself.
    pub stopped: bool,
    /// Whether the supervisor waits for another order.
    pub free: bool,
}

impl Ended {
    /// What is told of a program that the server stopped.
    pub(super) const STOPPED: Self =
        Self { wait_status: libc::SIGKILL, left_behind: 0, stopped: true, free: false };
}

/// The box stands and the program is about to start.
#[derive(Debug)]
pub struct Started {
    /// Listener inside the box for the proxy (network `Proxied` only).
    pub proxy: Option<TcpListener>,
    /// The box's network, for later boxes to join (only when asked for).
    pub network: Option<NetworkNamespace>,
}

/// What a box says.
#[derive(Debug)]
pub enum Event {
    /// The view stands and the program is about to start; the last steps may still fail.
    Started(Started),
    /// A step failed; nothing ran.
    Failed(Failure),
    /// Every process of the box has ended.
    Ended(Ended),
    /// Lines of a probe.
    Layers(Vec<u8>),
    /// The box is gone; nothing more will come.
    Closed,
}

/// The same as it travels; descriptors go beside it.
#[derive(Debug)]
pub(super) enum Message {
    /// Descriptors: `proxy` one, `network` two (user, net).
    Started { proxy: bool, network: bool },
    /// See [`Event::Failed`].
    Failed(Failure),
    /// See [`Event::Ended`].
    Ended(Ended),
    /// See [`Event::Layers`].
    Layers(Vec<u8>),
}

wire_struct!(Failure { step, detail, errno });
wire_struct!(Ended { wait_status, left_behind, stopped, free });

impl Wire for Step {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Self::ALL.get(usize::from(u8::take(input)?)).copied()
    }
}

impl Wire for Message {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Started { proxy, network } => {
                out.push(0);
                proxy.put(out);
                network.put(out);
            }
            Self::Failed(failure) => {
                out.push(1);
                failure.put(out);
            }
            Self::Ended(ended) => {
                out.push(2);
                ended.put(out);
            }
            Self::Layers(lines) => {
                out.push(3);
                lines.put(out);
            }
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(match u8::take(input)? {
            0 => Self::Started { proxy: bool::take(input)?, network: bool::take(input)? },
            1 => Self::Failed(Wire::take(input)?),
            2 => Self::Ended(Wire::take(input)?),
            3 => Self::Layers(Wire::take(input)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_own_name_and_survives_the_wire() {
        let mut names: Vec<_> = Step::ALL.iter().map(|step| step.name()).collect();
        for step in Step::ALL {
            assert_eq!(Step::from_bytes(&step.to_bytes()), Some(*step));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Step::ALL.len());
    }

    #[test]
    fn a_failure_reads_as_one_line() {
        let failure = Failure { step: Step::View, detail: "/tmp".into(), errno: libc::EPERM };
        assert_eq!(failure.to_string(), "mount view: /tmp: Operation not permitted (os error 1)");
        assert_eq!(Failure::plain(Step::Init, "").to_string(), "init");
    }
}
