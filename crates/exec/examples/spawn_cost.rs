//! What one run costs above a bare start of the same shell, unconfined and in a box, beside other
//! ways to confine, and how fast output is captured.
//!
//! `cargo run --release -p quietcontext-exec --example spawn_cost`

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quietcontext_exec::sandbox::{self, Event, HIDDEN_ARGUMENT, Limits, Mode, Profile, Rung};
use quietcontext_exec::{
    BoxConfig, Cancel, Confinement, ExecConfig, Executor, Exit, Input, Language, Program,
    RunRequest, Streams, View,
};

const ROUNDS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);
const SELF: &str = "/proc/self/exe";

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A way to start the shell, to be timed.
type Way<'a> = Box<dyn Fn() -> Outcome + 'a>;

fn main() -> Outcome {
    if std::env::args_os().nth(1).is_some_and(|first| first == HIDDEN_ARGUMENT) {
        sandbox::child_main();
    }
    // Not below `/tmp`, which every box hides.
    let base = std::env::current_dir()?.join(format!("target/spawn-cost-{}", std::process::id()));
    let outcome = measure(&base);
    std::fs::remove_dir_all(base)?;
    outcome
}

fn measure(base: &Path) -> Outcome {
    for name in ["workspace", "home"] {
        std::fs::create_dir_all(base.join(name))?;
    }
    let base = base.canonicalize()?;
    let off = executor(&base, Confinement::Off);
    // An empty home; the user's own, with its toolchains; and that with the workspace's caches.
    let empty = BoxConfig { other_homes: Vec::new(), caches: None, ..config(&base) };
    let home = BoxConfig { caches: None, ..config(&base) };
    let boxed = |config| executor(&base, Confinement::Boxed(Box::new(config)));
    let (empty, home, whole) = (boxed(empty), boxed(home), boxed(config(&base)));
    // A server of ordinary size: a fork copies the page tables of what it has touched.
    let ballast = vec![1u8; 16 * 1024 * 1024];
    let workspace = base.join("workspace");
    let mut ways: Vec<(&str, Way<'_>)> = vec![
        ("bash -c true, bare", Box::new(|| finish(Command::new("bash").args(["-c", "true"])))),
        ("bash -c true, fork and exec", Box::new(forked)),
        ("execute, unconfined", Box::new(|| run(&off, &workspace, "true").map(drop))),
        ("execute, in a box, empty home", Box::new(|| run(&empty, &workspace, "true").map(drop))),
        ("execute, in a box, own home", Box::new(|| run(&home, &workspace, "true").map(drop))),
        ("execute, in a box, with caches", Box::new(|| run(&whole, &workspace, "true").map(drop))),
        ("bash -c true, all layers", Box::new(|| raw(&base, Rung::Namespaces))),
        ("bash -c true, Landlock and seccomp alone", Box::new(|| raw(&base, Rung::Landlock))),
    ];
    if Command::new("bwrap").arg("--version").output().is_ok() {
        ways.push(("bash -c true, bubblewrap", Box::new(bubblewrap)));
    }
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        // In turns, so that whatever else the machine does hits all alike.
        for ((_, way), times) in ways.iter().zip(&mut times) {
            // A box is taken down after its answer: that is not the next one's cost.
            std::thread::sleep(PAUSE);
            let started = Instant::now();
            way()?;
            times.push(started.elapsed());
        }
    }
    let mut out = std::io::stdout().lock();
    let medians: Vec<_> = times.into_iter().map(median).collect();
    for ((name, _), time) in ways.iter().zip(&medians) {
        let above = time.saturating_sub(medians[0]);
        let ratio = time.as_secs_f64() / medians[0].as_secs_f64();
        writeln!(out, "{name:<42} {time:>9.2?}  {ratio:>5.2} x bare, {above:>9.2?} above it")?;
    }
    let started = Instant::now();
    let run = run(&off, &workspace, "head -c 100000000 /dev/zero")?;
    let seconds = started.elapsed().as_secs_f64();
    writeln!(out, "100 MB captured in {seconds:.3} s ({} bytes)", run.stdout.len())?;
    drop(ballast);
    Ok(())
}

fn config(base: &Path) -> BoxConfig {
    BoxConfig {
        mode: Mode::WorkspaceWrite,
        home: base.join("home"),
        other_homes: std::env::var_os("HOME").map(PathBuf::from).into_iter().collect(),
        emptied: Vec::new(),
        caches: Some(base.join("caches")),
        readable: Vec::new(),
        writable: Vec::new(),
        unprotected: Vec::new(),
        limits: Limits::for_this_machine(),
    }
}

fn executor(base: &Path, confinement: Confinement) -> Executor {
    Executor::new(ExecConfig {
        binary: SELF.into(),
        scratch: vec![base.join("scratch")],
        path: std::env::var_os("PATH").unwrap_or_default(),
        environment: std::env::vars_os().collect(),
        output_cap: 512 * 1024 * 1024,
        passed: Vec::new(),
        confinement,
    })
}

fn run(executor: &Executor, root: &Path, code: &str) -> Outcome<quietcontext_exec::Run> {
    let language = Language::parse("shell").ok_or("no shell")?;
    let request = RunRequest {
        program: Program::Code { language, code: code.into() },
        cwd: root.to_owned(),
        root: root.to_owned(),
        input: Input::Empty,
        deadline: Some(Instant::now() + Duration::from_secs(50)),
        streams: Streams::Separate,
        view: View::default(),
    };
    let run = executor.run(&request, &Cancel::new())?;
    if run.exit == Exit::Code(0) { Ok(run) } else { Err(format!("{:?}", run.exit).into()) }
}

fn finish(command: &mut Command) -> Outcome {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() { Ok(()) } else { Err(format!("{output:?}").into()) }
}

fn forked() -> Outcome {
    let mut command = Command::new("bash");
    command.args(["-c", "true"]);
    // A working directory of its own is what a server sets; it makes no difference to fork.
    finish(command.current_dir("/").process_group(0))
}

/// A box without the rest of a run.
fn raw(base: &Path, rung: Rung) -> Outcome {
    let profile = Profile::new(base.join("workspace"), base.join("home"));
    let stdin = std::fs::File::open("/dev/null")?.into();
    let launch =
        sandbox::Launch { binary: SELF.as_ref(), rung, stdin, join: None, share_network: false };
    let arguments = ["bash", "-c", "true"].map(Into::into);
    let (mut command, mut link) =
        sandbox::command(&profile, "/bin/bash".as_ref(), &arguments, launch)?;
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    loop {
        match link.wait()? {
            Event::Failed(failure) => return Err(failure.into()),
            Event::Ended(_) => break,
            Event::Closed => return Err("no end".into()),
            Event::Started(_) | Event::Layers(_) => {}
        }
    }
    child.wait()?;
    Ok(())
}

/// The same layers as far as that tool has them: no Landlock, no filter.
fn bubblewrap() -> Outcome {
    let arguments = "--unshare-all --die-with-parent --new-session --ro-bind / / --proc /proc --dev /dev \
        --tmpfs /tmp --tmpfs /run bash -c true";
    finish(Command::new("bwrap").args(arguments.split_whitespace()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
