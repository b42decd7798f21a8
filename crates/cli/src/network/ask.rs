//! Asks a tool itself: runs it in a box with nothing in it and nothing to reach, and notes the hosts
//! that it tries to reach or prints.

use std::{
    ffi::OsString,
    fs::File,
    io::Read as _,
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use quietcontext_exec::sandbox::{self, Event, Launch, Link, Mode, Network, Profile, Rung};
use quietcontext_fetch::{
    HostPort, SystemResolver,
    proxy::{Attached, Permit, Permits, Proxy},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::runtime::Handle;

use super::{
    discover::{User, Writable},
    parse,
    tools::{Answer, Ask, Tool},
};

/// How long one tool may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// Between two looks at what a tool has tried.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes of what a tool prints that are read.
const MOST_PRINTED: u64 = 64 << 10;

/// Names of the environment that a toolchain needs to be found.
const PASSED: &[&str] = &[
    "CARGO_HOME",
    "COMPOSER_HOME",
    "GEM_HOME",
    "GEM_PATH",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "MIX_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "VOLTA_HOME",
];

/// Asks tools in boxes.
#[derive(Debug)]
pub(super) struct Asker<'a> {
    pub(super) user: &'a User,
    /// A folder of ours in which a workspace for the box is made.
    pub(super) scratch: &'a Path,
    pub(super) runtime: &'a Handle,
}

/// Refuses everything.
struct Nothing;

impl Permits for Nothing {
    fn permit(&self, _target: &HostPort) -> Permit {
        Permit::No
    }
}

/// A folder that goes with its value.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is an empty folder of ours.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

impl Asker<'_> {
    /// Whether boxes can be made here at all.
    ///
    /// # Errors
    ///
    /// When none can, or when a box has no network of its own.
    pub(super) fn ready(&self) -> Result<()> {
        std::fs::create_dir_all(self.scratch)?;
        match sandbox::assess(&binary(), self.scratch)?.standing.rung {
            Some(Rung::Namespaces) => Ok(()),
            _ => bail!("there is no box in which tools could be asked"),
        }
    }

    /// The hosts that `tool` tells. An answer that did not come in time is an error.
    pub(super) fn ask(&self, tool: &Tool, ask: &Ask, program: &Path) -> Result<Vec<HostPort>> {
        let folder = self.scratch.join(format!("ask-{}-{}", tool.name, std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let folder = Folder(folder.canonicalize()?);
        let mut profile = Profile::new(folder.0.clone(), self.user.home.canonicalize()?);
        profile.mode = Mode::ReadOnly;
        profile.network = Network::Proxied;
        profile.environment = self.environment(tool, ask);
        let mut arguments = vec![program.as_os_str().to_owned()];
        arguments.extend(ask.arguments.iter().map(OsString::from));
        let launch = Launch {
            binary: &binary(),
            rung: Rung::Namespaces,
            stdin: OwnedFd::from(File::open("/dev/null")?),
            join: None,
            share_network: false,
        };
        let (mut command, mut link) = sandbox::command(&profile, program, &arguments, launch)?;
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        drop(command);
        let told = self.listen(&mut link, &mut child, ask.answer);
        link.stop();
        while !matches!(link.wait(), Ok(Event::Closed) | Err(_)) {}
        let _status = child.wait();
        told
    }

    fn environment(&self, tool: &Tool, ask: &Ask) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = vec![("LANG".into(), "C.UTF-8".into())];
        let path = self.user.variable("PATH").map_or_else(|| DEFAULT_PATH.into(), OsString::from);
        all.push(("PATH".into(), path));
        for name in PASSED {
            all.extend(self.user.variable(name).map(|value| (name.into(), value.to_owned())));
        }
        all.extend(self.user.set_variables(tool).map(|(name, value)| (name.into(), value.into())));
        all.extend(ask.variables.iter().map(|(name, value)| (name.into(), value.into())));
        all
    }

    fn listen(&self, link: &mut Link, child: &mut Child, answer: Answer) -> Result<Vec<HostPort>> {
        let end = Instant::now() + PATIENCE;
        let mut printed = child.stdout.take();
        let mut attached: Option<Attached> = None;
        loop {
            match link.receive()? {
                Some(Event::Started(started)) => {
                    let listener = started.proxy.context("the box has no listener")?;
                    let proxy = Proxy::new(Arc::new(SystemResolver));
                    attached = Some(proxy.attach(listener, Arc::new(Nothing), self.runtime)?);
                }
                Some(Event::Failed(failure)) => bail!("{failure}"),
                Some(Event::Ended(_) | Event::Closed) => break,
                Some(Event::Layers(_)) => {}
                None => wait(link)?,
            }
            let tried = attached.as_ref().is_some_and(|attached| !attached.denied().is_empty());
            if answer == Answer::Tried && tried {
                break;
            }
            if Instant::now() >= end {
                bail!("no answer in time");
            }
        }
        match (answer, attached) {
            (Answer::Tried, Some(attached)) => {
                Ok(attached.denied().into_iter().map(|denial| denial.target).collect())
            }
            (Answer::Tried, None) => Ok(Vec::new()),
            (Answer::Printed, _) => {
                let mut text = String::new();
                if let Some(printed) = printed.take() {
                    printed.take(MOST_PRINTED).read_to_string(&mut text)?;
                }
                Ok(names(&text))
            }
        }
    }
}

/// Where programs are looked for when no search path was given.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The product itself, which builds the box.
fn binary() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

fn wait(link: &Link) -> Result<()> {
    let mut wanted = [PollFd::new(link, PollFlags::IN)];
    let limit = Timespec::try_from(LOOK).context("a short time")?;
    rustix::io::retry_on_intr(|| poll(&mut wanted, Some(&limit)))?;
    Ok(())
}

/// The addresses in a text, and words that are nothing but a host name.
fn names(text: &str) -> Vec<HostPort> {
    let mut found: Vec<HostPort> =
        parse::urls(text).iter().filter_map(|url| parse::target(url)).collect();
    for line in text.lines() {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
        let word = line.split([' ', '+']).next().unwrap_or_default();
        let host = word.contains('.') && word.bytes().all(plain) && !word.starts_with(['.', '-']);
        found.extend(HostPort::parse(word).filter(|_| host));
    }
    found
}

/// The program of that name on the search path, but for what programs may write: a workspace's own
/// tools would answer what the workspace wants.
pub(super) fn program(user: &User, name: &str, writable: &Writable) -> Option<PathBuf> {
    let path = user.variable("PATH").map_or_else(|| DEFAULT_PATH.into(), OsString::from);
    let named = std::env::split_paths(&path).map(|folder| folder.join(name));
    let mut named = named.filter(|program| program.is_absolute() && !writable.holds(program));
    named.find(|program| {
        let found = std::fs::metadata(program);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_bare_names_are_heard() {
        let told = names(
            "https://p.example,direct\nsum.example\noff\nkey.example+1234+abc= https://k.example/x\n-x.y\n",
        );
        let told: Vec<_> = told.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["p.example:443", "k.example:443", "sum.example:443", "key.example:443"]);
    }
}
