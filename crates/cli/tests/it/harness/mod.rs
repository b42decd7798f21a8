//! Starts the binary in a world of its own, talks to it, and finds what it leaves behind.

mod daemon;
mod processes;
mod server;
mod site;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Map, Value};
use tempfile::TempDir;

pub(crate) use self::{
    daemon::{Daemon, call, finish},
    processes::{assert_gone, mark, sleeper, wait_for_process, wait_until},
    server::{Server, shell},
    site::{Site, answer, ok},
};

/// How long anything may take that has no tighter limit; the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The binary under test.
pub(crate) fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_quietcontext"))
}

/// A home and a workspace that no other test shares.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// The same where a box shows it: temporary directories are empty in there.
    pub(crate) fn outside_of_tmp() -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = tempfile::tempdir_in(place).unwrap();
        for name in ["home", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// A path in this world, links resolved.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The workspace: the working directory of what is started here.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Writes the user's configuration.
    pub(crate) fn configure(&self, text: &str) {
        let folder = self.path("home/.config/quietcontext");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// A command of the binary with the variables that clients pass and no others.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).current_dir(self.work()).env_clear();
        command.env("HOME", self.path("home")).env("LANG", "C.UTF-8");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// Runs a command for people to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let output = self.command(arguments).stdin(Stdio::null()).output().unwrap();
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// A server on pipes.
    pub(crate) fn serve(&self) -> Server {
        Server::start(self.command(&[]))
    }
}

/// Reports a test that cannot run here by name; a failure where everything is required.
pub(crate) fn skip(why: &str) {
    let required = std::env::var("QUIETCONTEXT_TEST_REQUIRE").is_ok_and(|value| value == "all");
    assert!(!required, "required, but {why}");
    eprintln!("skipped: {}: {why}", std::thread::current().name().unwrap_or("?"));
}

/// What a finished command left.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// An object's keys.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let object: &Map<String, Value> = value.as_object().unwrap();
    object.keys().map(String::as_str).collect()
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<OsString> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name()).collect()
}
