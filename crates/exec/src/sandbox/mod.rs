//! The Linux box: a program runs confined by the kernel, or it does not run.
//!
//! [`command`] gives a [`std::process::Command`] of the product's own binary with
//! [`HIDDEN_ARGUMENT`]; its `main` calls [`child_main`] for it, in a fresh single-threaded process,
//! which builds the box and becomes its supervisor:
//!
//! ```text
//! server ──socket── supervisor (child_main)   outside the box, removes what the box needed
//!                      └─ init, pid 1          new user, mount, pid, net, ipc, uts namespaces
//!                           └─ the program     no capabilities, Landlock, seccomp
//! ```
//!
//! The socket is the supervisor's standard input: the specification and the descriptors go in,
//! the report of a failed step or of the program's end comes out, and closing it ends the box. The
//! program has none of it. Everything is decided by a [`Profile`], which is plain data.

mod canary;
mod child;
mod codec;
mod ladder;
mod parent;
mod probe;
mod profile;
mod report;
mod table;

pub use canary::{Escape, canary};
pub use child::child_main;
pub use ladder::{Assessment, Rung, assess};
pub use parent::{Launch, Link, NetworkNamespace, command};
pub use probe::{Layer, LayerState, probe};
pub use profile::{Limits, Mode, Network, Profile, ProfileError};
pub use report::{Ended, Event, Failure, Started, Step};
pub use table::{PROTECTED, Show, TOOLCHAINS};

/// First argument with which the product's binary must call [`child_main`] and nothing else.
pub const HIDDEN_ARGUMENT: &str = "__box";
