//! A program that tries to leave the box before any other program is let in.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use super::child::{CONTROL, PROCESS_SEEN, RAN, TRACE, WORKSPACE_WRITTEN};
use super::parent::{Action, Launch, Specification, launch_with};
use super::report::Event;
use super::{Profile, Rung};

/// Something the canary could do and must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// It wrote a file outside of its workspace.
    Write,
    /// It reached a port of the host.
    Connect,
    /// It saw a process of the host.
    Process,
}

impl Escape {
    /// In words, after "could".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write outside its workspace",
            Self::Connect => "reach a port of the host",
            Self::Process => "look into a process of the host",
        }
    }
}

/// Lets the canary try and gives what succeeded. An error means that it could not even run or
/// could not write its own workspace; then the rung is no good either.
pub fn canary(binary: &Path, rung: Rung, scratch: &Path) -> io::Result<Vec<Escape>> {
    let cage = Cage::new(scratch)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let status = run(binary, rung, &cage, listener.local_addr()?.port())?;
    judge(&cage, &listener, status)
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

/// Runs it; its exit status.
fn run(binary: &Path, rung: Rung, cage: &Cage, port: u16) -> io::Result<i32> {
    let profile = Profile::new(cage.base.join("workspace"), cage.base.join("home"));
    let specification = Specification {
        outside: cage.targets(),
        port,
        ..Specification::built_in(Action::Canary, rung, profile)
    };
    let stdin = std::fs::File::open("/dev/null")?.into();
    let launch = Launch { binary, rung, stdin, join: None, share_network: false };
    let (mut command, mut link) = launch_with(&specification, launch)?;
    let mut child = command.spawn()?;
    drop(command);
    let mut ended = Err(io::Error::other("the canary gave no answer"));
    loop {
        match link.wait()? {
            Event::Ended(end) => ended = Ok(end),
            Event::Failed(failure) => ended = Err(io::Error::other(failure)),
            Event::Closed => break,
            Event::Started(_) | Event::Layers(_) => {}
        }
    }
    child.wait()?;
    let status = ExitStatus::from_raw(ended?.wait_status);
    status.code().ok_or_else(|| io::Error::other(format!("the canary died: {status}")))
}

/// What it did, seen from outside.
fn judge(cage: &Cage, listener: &TcpListener, status: i32) -> io::Result<Vec<Escape>> {
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
    Ok(escapes)
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
        assert_eq!(judge(&cage, &listener, good).unwrap(), []);
        assert!(judge(&cage, &listener, RAN).is_err());
        assert_eq!(judge(&cage, &listener, good | PROCESS_SEEN).unwrap(), [Escape::Process]);
        std::fs::write(cage.base.join("home/new"), TRACE).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(judge(&cage, &listener, good).unwrap(), [Escape::Write, Escape::Connect]);
        drop(stream);
        let base = cage.base.clone();
        drop(cage);
        assert!(!base.exists());
    }
}
