//! The bench of the box tests: a place on the disk, a user, a box, and the same without the box.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Who runs the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Root,
    User,
}

/// An unprivileged user that owns nothing on any system.
const NOBODY: u32 = 65534;
/// Under one of these everything is hidden in the box, so "outside" could not be told from it.
const HIDDEN: &[&str] = &["/tmp", "/var/tmp", "/run"];

/// Runs a test as root and as an unprivileged user.
macro_rules! both {
    ($($(#[$doc:meta])* fn $name:ident($lab:ident) $body:block)+) => {$(
        $(#[$doc])*
        fn $name($lab: &$crate::lab::Lab) $body

        mod $name {
            #[test]
            fn as_root() {
                if let Some(lab) = $crate::lab::Lab::new($crate::lab::Who::Root) {
                    super::$name(&lab);
                }
            }

            #[test]
            fn as_user() {
                if let Some(lab) = $crate::lab::Lab::new($crate::lab::Who::User) {
                    super::$name(&lab);
                }
            }
        }
    )+};
}
pub(crate) use both;

/// Reports a test that cannot run here by name; a failure where everything is required.
pub(crate) fn skip(why: &str) {
    let required = std::env::var("QUIETCONTEXT_TEST_REQUIRE").is_ok_and(|value| value == "all");
    assert!(!required, "required, but {why}");
    let name = std::thread::current().name().unwrap_or("?").to_owned();
    eprintln!("skipped: {name}: {why}");
}

/// One workspace with a home and something outside, owned by one user.
pub(crate) struct Lab {
    base: tempfile::TempDir,
    who: Who,
    as_root: bool,
}

/// What a box did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) report: String,
}

impl Lab {
    /// `None` (and a word about it) where this test process cannot be that user.
    pub(crate) fn new(who: Who) -> Option<Self> {
        let as_root = rustix::process::geteuid().is_root();
        if who == Who::Root && !as_root {
            skip("the tests do not run as root");
            return None;
        }
        let place = places().into_iter().find(|place| {
            let hidden = HIDDEN.iter().any(|hidden| place.starts_with(hidden));
            !hidden && tempfile::tempdir_in(place).is_ok()
        });
        let place = place.expect("a directory outside of /tmp in which tests may write");
        let base = tempfile::Builder::new().prefix("box-lab-").tempdir_in(place).unwrap();
        let lab = Self { base, who, as_root };
        for name in ["workspace", "home", "outside", "bin"] {
            std::fs::create_dir(lab.path(name)).unwrap();
        }
        std::fs::write(lab.path("outside/file"), "outside").unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_quietcontext-box-lab"), lab.path("bin/lab")).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(lab.base.path(), open).unwrap();
        if who == Who::User {
            lab.give_away();
        }
        Some(lab)
    }

    /// Gives everything made so far to the lab's user.
    pub(crate) fn give_away(&self) {
        self.give_to_user(self.base.path());
    }

    /// The same for the workspace alone.
    pub(crate) fn give_away_workspace(&self) {
        self.give_to_user(&self.path("workspace"));
    }

    /// The same for a place that is not the lab's.
    pub(crate) fn give_to_user(&self, path: &Path) {
        if self.as_root && self.who == Who::User {
            let owner = format!("{NOBODY}:{NOBODY}");
            let done = Command::new("chown").arg("-Rh").arg(owner).arg(path).status();
            assert!(done.unwrap().success());
        }
    }

    /// A path of the lab.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(name)
    }

    /// The same as text.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn is_root(&self) -> bool {
        self.who == Who::Root
    }

    /// A command as the lab's user, without a box.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let program = program.as_ref();
        let mut command = if self.as_root && self.who == Who::User {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.path("workspace")).env("HOME", self.path("home"));
        command.stdin(Stdio::null());
        command
    }

    /// The command of a box with these flags around a program.
    pub(crate) fn boxed(&self, flags: &[&str], argv: &[&str]) -> Command {
        let mut command = self.command(self.path("bin/lab"));
        command.args(["run", "--root", &self.at("workspace"), "--home", &self.at("home")]);
        command.args(["--report", &self.at("report")]);
        command.args(["--env", &format!("PATH={}", std::env::var("PATH").unwrap())]);
        command.args(flags).arg("--").args(argv);
        command
    }

    /// Runs a program in a box with these flags.
    pub(crate) fn run(&self, flags: &[&str], argv: &[&str]) -> Outcome {
        let Output { stdout, stderr, .. } = self.boxed(flags, argv).output().unwrap();
        Outcome {
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            report: std::fs::read_to_string(self.path("report")).unwrap_or_default(),
        }
    }

    /// Runs shell text in a box.
    pub(crate) fn shell(&self, text: &str) -> Outcome {
        self.run(&[], &["/bin/bash", "-c", text])
    }

    /// One attempt in the box: `done` or `refused <errno>`.
    pub(crate) fn attempt(&self, argv: &[&str]) -> String {
        self.attempt_with(&[], argv)
    }

    /// The same with flags.
    pub(crate) fn attempt_with(&self, flags: &[&str], argv: &[&str]) -> String {
        let program = self.at("bin/lab");
        let all: Vec<_> =
            [program.as_str(), "try"].into_iter().chain(argv.iter().copied()).collect();
        let outcome = self.run(flags, &all);
        let answer = outcome.stdout.trim().to_owned();
        assert!(!answer.is_empty(), "{argv:?} said nothing: {outcome:?}");
        answer
    }

    /// The control: the same attempt by the same user without a box.
    pub(crate) fn control(&self, argv: &[&str]) -> String {
        let output = self.command(self.path("bin/lab")).arg("try").args(argv).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// An attempt that must fail in the box and work without it.
    pub(crate) fn refused(&self, argv: &[&str]) {
        let inside = self.attempt(argv);
        assert!(inside.starts_with("refused"), "{argv:?} in the box: {inside}");
        let outside = self.control(argv);
        assert_eq!(outside, "done", "the control of {argv:?}");
    }
}

impl Outcome {
    /// The exit status of the main process.
    pub(crate) fn status(&self) -> std::process::ExitStatus {
        let raw = self.ended().0;
        std::os::unix::process::ExitStatusExt::from_raw(raw)
    }

    /// Processes that had to be killed.
    pub(crate) fn left_behind(&self) -> u32 {
        self.ended().1
    }

    fn ended(&self) -> (i32, u32) {
        let line = self.report.lines().find_map(|line| line.strip_prefix("ended "));
        let mut numbers = line.unwrap_or_else(|| panic!("no end: {self:?}")).split(' ');
        (numbers.next().unwrap().parse().unwrap(), numbers.next().unwrap().parse().unwrap())
    }

    /// What failed before the program ran.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.report.lines().find_map(|line| line.strip_prefix("failed "))
    }

    /// Asserts that the program ended well and gives what it printed.
    pub(crate) fn good(&self) -> &str {
        assert!(self.status().success(), "{self:?}");
        self.stdout.trim_end()
    }
}

/// Where a lab may be.
fn places() -> Vec<PathBuf> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    [target, "/var/lib".into(), "/srv".into(), "/opt".into()].into_iter().collect()
}
