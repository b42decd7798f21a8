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
//! How a caller runs a program:
//!
//! 1. once, before the first: [`assess`] gives the [`Rung`], or why nothing may run, and the line to
//!    say once; the caller keeps it;
//! 2. [`command`] for a [`Profile`] and a command line; set standard output and error (pipes), spawn
//!    it from a thread that waits at least for [`Event::Started`], drop the command;
//! 3. poll the [`Link`] together with the pipes: [`Event::Started`] (with the proxy's listener),
//!    [`Event::Failed`] (a step by name: the program did not run), [`Event::Ended`] (its wait status;
//!    nothing of the box runs any more), [`Event::Closed`];
//! 4. [`Link::stop`], or dropping the link, ends everything in the box; so does the server's death;
//! 5. wait for the child after [`Event::Closed`]: it has removed what the box needed on the disk.
//!
//! Programs in a row come from a launcher, which is such a process too and forks a supervisor ahead of
//! each order; also those that run without a box, where the user chose so.
//!
//! The socket is the supervisor's standard input: the specification and the descriptors go in,
//! the report of a failed step or of the program's end comes out, and closing it ends the box. The
//! program has none of it. Everything is decided by a [`Profile`], which is plain data.

mod canary;
mod child;
mod codec;
mod ladder;
mod launcher;
mod parent;
mod probe;
mod profile;
mod reader;
mod report;
mod table;

pub use canary::Escape;
pub use child::child_main;
pub(crate) use ladder::trial;
pub use ladder::{Assessment, Rung, Standing, assess};
pub(crate) use launcher::{Given, Keeper, Launcher, Supervised};
pub(crate) use parent::Specification;
pub use parent::{Launch, Link, NetworkNamespace, command};
pub use probe::{Layer, LayerState, probe};
pub use profile::{Limits, Mode, Network, Profile, ProfileError};
pub(crate) use reader::reader;
pub use report::{Ended, Event, Failure, Started, Step};
pub(crate) use table::hides;
pub use table::{PROTECTED, STAGE, Show, TOOLCHAINS};

/// First argument with which the product's binary must call [`child_main`] and nothing else.
pub const HIDDEN_ARGUMENT: &str = "__box";
