//! What the tests share: an executor in a temporary directory, and waiting for conditions.
#![expect(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod languages;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quietcontext_exec::sandbox::{Limits, Mode};
use quietcontext_exec::{
    BoxConfig, Cancel, Confinement, ExecConfig, ExecError, Executor, Exit, Input, Language,
    Program, Run, RunRequest, Spool, Streams, View,
};

/// `QUIETCONTEXT_TEST_CONFINED=1` runs the tests here in boxes.
pub(crate) fn confined() -> bool {
    std::env::var_os("QUIETCONTEXT_TEST_CONFINED").is_some()
}

/// Process numbers that a program prints in a box say nothing outside; that nothing outlives a box
/// is held by the tests of the box.
pub(crate) fn numbers_are_a_boxs_own() -> bool {
    confined()
}

fn confinement(directory: &Path) -> Confinement {
    if confined() { boxes(directory) } else { Confinement::Off }
}

/// Boxes, whatever the environment says.
pub(crate) fn boxes(directory: &Path) -> Confinement {
    let home = directory.join("home");
    std::fs::create_dir(&home).unwrap();
    Confinement::Boxed(Box::new(BoxConfig {
        mode: Mode::WorkspaceWrite,
        home: home.canonicalize().unwrap(),
        other_homes: std::env::var_os("HOME").map(PathBuf::from).into_iter().collect(),
        emptied: Vec::new(),
        caches: Some(directory.join("caches")),
        readable: Vec::new(),
        writable: Vec::new(),
        unprotected: Vec::new(),
        limits: Limits { grace: Duration::from_millis(200), ..Limits::for_this_machine() },
    }))
}

/// Long enough for a loaded machine; nothing waits so long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(50);

/// A workspace, a scratch directory and an executor over both.
pub(crate) struct Bench {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) executor: Executor,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// In boxes, whatever the environment says.
    pub(crate) fn boxed() -> Self {
        Self::build(boxes, |_| {})
    }

    /// Without boxes, whatever the environment says.
    pub(crate) fn unconfined() -> Self {
        Self::with(|config| config.confinement = Confinement::Off)
    }

    pub(crate) fn with(change: impl FnOnce(&mut ExecConfig)) -> Self {
        Self::build(confinement, change)
    }

    fn build(
        confinement: impl FnOnce(&Path) -> Confinement,
        change: impl FnOnce(&mut ExecConfig),
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let mut config = ExecConfig {
            binary: env!("CARGO_BIN_EXE_quietcontext-box-lab").into(),
            scratch: vec![directory.path().join("scratch")],
            path: std::env::var_os("PATH").unwrap(),
            environment: std::env::vars_os().collect(),
            output_cap: 512 * 1024 * 1024,
            passed: Vec::new(),
            confinement: confinement(directory.path()),
        };
        change(&mut config);
        Self { root, executor: Executor::new(config), directory }
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.directory.path().join("scratch")
    }

    pub(crate) fn request(&self, language: &str, code: &str) -> RunRequest {
        let language = Language::parse(language).unwrap();
        RunRequest {
            program: Program::Code { language, code: code.into() },
            root: self.root.clone(),
            cwd: self.root.clone(),
            input: Input::Empty,
            deadline: Some(Instant::now() + PATIENCE),
            streams: Streams::Separate,
            view: View::default(),
        }
    }

    pub(crate) fn try_run(&self, language: &str, code: &str) -> Result<Run, ExecError> {
        self.executor.run(&self.request(language, code), &Cancel::new())
    }

    #[track_caller]
    pub(crate) fn run(&self, language: &str, code: &str) -> Run {
        self.try_run(language, code).unwrap()
    }

    #[track_caller]
    pub(crate) fn shell(&self, code: &str) -> Run {
        self.run("shell", code)
    }

    /// Runs with a file of this content as input.
    pub(crate) fn try_run_file(
        &self,
        language: &str,
        code: &str,
        content: &[u8],
    ) -> Result<Run, ExecError> {
        let path = self.root.join("input file.txt");
        std::fs::write(&path, content).unwrap();
        let mut request = self.request(language, code);
        request.input = Input::File { file: File::open(&path).unwrap(), path };
        self.executor.run(&request, &Cancel::new())
    }

    /// The scratch directory holds nothing of a finished run but empty directories.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        let mut left = Vec::new();
        for entry in std::fs::read_dir(self.scratch()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("built") {
                files_below(&path, &mut left);
            }
        }
        assert!(left.is_empty(), "left: {left:?}");
    }
}

fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            files_below(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

pub(crate) fn bytes(spool: &Spool) -> Vec<u8> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut spool.reader().unwrap(), &mut bytes).unwrap();
    bytes
}

pub(crate) fn text(spool: &Spool) -> String {
    String::from_utf8(bytes(spool)).unwrap()
}

#[track_caller]
pub(crate) fn assert_output(run: &Run, expected: &str) {
    let (stdout, stderr) = (text(&run.stdout), text(&run.stderr));
    assert_eq!((stdout.as_str(), run.exit), (expected, Exit::Code(0)), "stderr: {stderr}");
}

/// Waits until the condition holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let limit = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < limit, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process lives; a zombie does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").map(|(_, rest)| !rest.starts_with(['Z', 'X'])))
        .unwrap_or(false)
}

/// Numbers that programs wrote into a file, one a line, once there are so many.
#[track_caller]
pub(crate) fn pids(path: &Path, n_wanted: usize) -> Vec<i32> {
    let mut found = Vec::new();
    wait_until("process numbers", || {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        found = whole.lines().map(|line| line.trim().parse().unwrap()).collect();
        found.len() >= n_wanted
    });
    found
}

/// Runs one test of the calling test binary in a process of its own, with a variable set by which
/// it knows that it is the helper.
pub(crate) fn helper(
    test: &str,
    variable: &str,
    value: impl Into<OsString>,
) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(variable, value.into());
    command
}
