//! The reader of PDFs as a program of a box, or behind its filter alone where there is no box.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

use super::parent::{Action, Launch, Link, Specification, launch_with};
use super::{Profile, Rung};

/// Prepares the reader: `stdin` is the document, standard output is the caller's to set and takes
/// the frames. Without a rung nothing is around it but its bounds and its filter.
pub(crate) fn reader(
    binary: &Path,
    rung: Option<Rung>,
    profile: Profile,
    stdin: OwnedFd,
) -> io::Result<(Command, Link)> {
    let action = if rung.is_some() { Action::Read } else { Action::ReadBare };
    let rung = rung.unwrap_or(Rung::Landlock);
    let specification = Specification::built_in(action, rung, profile);
    launch_with(&specification, Launch { binary, rung, stdin, join: None, share_network: false })
}
