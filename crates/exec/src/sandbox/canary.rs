//! A program that tries to leave the box before any other program is let in.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

use super::child::{CALL_MADE, CONTROL, LANDLOCKED, PROCESS_SEEN, RAN, TRACE, WORKSPACE_WRITTEN};
use super::launcher::{Given, Launcher, Supervised};
use super::parent::{Action, Launch, Link, Specification, launch_with};
use super::report::{Ended, Event};
use super::{Limits, Profile, Rung};

/// Something the canary could do and must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// It wrote a file outside of its workspace.
    Write,
    /// It reached a port of the host.
    Connect,
    /// It saw a process of the host.
    Process,
    /// It made a system call that is refused.
    Call,
}

impl Escape {
    /// In words, after "could".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write outside its workspace",
            Self::Connect => "reach a port of the host",
            Self::Process => "look into a process of the host",
            Self::Call => "make a system call that is refused",
        }
    }
}

/// What a canary found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// What succeeded and must not.
    pub(super) escapes: Vec<Escape>,
    /// Whether Landlock held it too.
    pub(super) landlocked: bool,
}

/// Lets the canary try in a box of its own start. An error means that it could not even run or could
/// not write its own workspace; then the rung is no good either.
pub(super) fn canary(binary: &Path, rung: Rung, scratch: &Path) -> io::Result<Found> {
    fly(rung, Limits::default(), scratch, |specification| {
        let stdin = std::fs::File::open("/dev/null")?.into();
        let launch = Launch { binary, rung, stdin, join: None, share_network: false };
        let (mut command, mut link) = launch_with(&specification, launch)?;
        let mut child = command.spawn()?;
        drop(command);
        let ended = follow(&mut link);
        child.wait()?;
        ended
    })
}

/// The same in a full box made by the launcher, as those of programs are.
pub(super) fn launched(launcher: &Arc<Launcher>, scratch: &Path) -> io::Result<Found> {
    let limits = launcher.limits().cloned().unwrap_or_default();
    fly(Rung::Namespaces, limits, scratch, |specification| {
        let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
        let null = null.as_fd();
        let given = Given { stdin: null, stdout: null, stderr: null, join: None };
        let Supervised { process, mut link, keeper } = launcher.order(specification, &given)?;
        let ended = follow(&mut link);
        keeper.collect(process);
        ended
    })
}

fn fly(
    rung: Rung,
    limits: Limits,
    scratch: &Path,
    start: impl FnOnce(Specification) -> io::Result<Ended>,
) -> io::Result<Found> {
    let cage = Cage::new(scratch)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let profile =
        Profile { limits, ..Profile::new(cage.base.join("workspace"), cage.base.join("home")) };
    let specification = Specification {
        outside: cage.targets(),
        port: listener.local_addr()?.port(),
        ..Specification::built_in(Action::Canary, rung, profile)
    };
    let status = ExitStatus::from_raw(start(specification)?.wait_status);
    let status =
        status.code().ok_or_else(|| io::Error::other(format!("the canary died: {status}")))?;
    judge(&cage, &listener, status)
}

/// Waits until the box has told how it ended.
fn follow(link: &mut Link) -> io::Result<Ended> {
    loop {
        match link.wait()? {
            Event::Ended(ended) => return Ok(ended),
            Event::Failed(failure) => return Err(io::Error::other(failure)),
            Event::Closed => return Err(io::Error::other("the canary gave no answer")),
            Event::Started(_) | Event::Layers(_) => {}
        }
    }
}

/// Directories of one trial: a workspace and things outside of it.
#[derive(Debug)]
struct Cage {
    base: PathBuf,
}

impl Cage {
    fn new(scratch: &Path) -> io::Result<Self> {
        let base = scratch.canonicalize()?.join(format!("canary-{}", std::process::id()));
        match std::fs::remove_dir_all(&base) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        for name in ["workspace", "outside", "home"] {
            std::fs::create_dir_all(base.join(name))?;
        }
        std::fs::write(base.join("outside/old"), "")?;
        Ok(Self { base })
    }

    fn targets(&self) -> Vec<PathBuf> {
        ["outside/old", "outside/new", "home/new"].map(|name| self.base.join(name)).into()
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.base).ok();
    }
}

/// What it did, seen from outside.
fn judge(cage: &Cage, listener: &TcpListener, status: i32) -> io::Result<Found> {
    let control = std::fs::read(cage.base.join("workspace").join(CONTROL)).unwrap_or_default();
    let controlled = status & RAN != 0 && status & WORKSPACE_WRITTEN != 0 && control == TRACE;
    if !controlled {
        return Err(io::Error::other("the canary could not write its own workspace"));
    }
    let mut escapes = Vec::new();
    let written = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
    if cage.targets().iter().any(written) {
        escapes.push(Escape::Write);
    }
    listener.set_nonblocking(true)?;
    if listener.accept().is_ok() {
        escapes.push(Escape::Connect);
    }
    if status & PROCESS_SEEN != 0 {
        escapes.push(Escape::Process);
    }
    if status & CALL_MADE != 0 {
        escapes.push(Escape::Call);
    }
    Ok(Found { escapes, landlocked: status & LANDLOCKED != 0 })
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn each_escape_is_noticed() {
        let scratch = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let cage = Cage::new(scratch.path()).unwrap();
        let good = RAN | WORKSPACE_WRITTEN;
        assert!(judge(&cage, &listener, good).is_err(), "nothing was written in the workspace");
        std::fs::write(cage.base.join("workspace").join(CONTROL), TRACE).unwrap();
        let escapes = |status| judge(&cage, &listener, status).unwrap().escapes;
        assert_eq!(escapes(good), []);
        assert_eq!(escapes(good | CALL_MADE), [Escape::Call]);
        assert!(judge(&cage, &listener, good | LANDLOCKED).unwrap().landlocked);
        assert!(judge(&cage, &listener, RAN).is_err());
        assert_eq!(escapes(good | PROCESS_SEEN), [Escape::Process]);
        std::fs::write(cage.base.join("home/new"), TRACE).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(escapes(good), [Escape::Write, Escape::Connect]);
        drop(stream);
        let base = cage.base.clone();
        drop(cage);
        assert!(!base.exists());
    }
}
