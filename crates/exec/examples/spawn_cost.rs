//! What one run costs above a bare start of the same shell, and how fast output is captured.
//!
//! `cargo run --release -p quietcontext-exec --example spawn_cost`

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use quietcontext_exec::{
    Cancel, Confinement, ExecConfig, Executor, Exit, Input, Language, Program, RunRequest, Streams,
    View,
};

const ROUNDS: usize = 300;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = std::env::args_os().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("spawn-cost-{}", std::process::id())),
        PathBuf::from,
    );
    let executor = Executor::new(ExecConfig {
        scratch: vec![scratch.clone()],
        path: std::env::var_os("PATH").unwrap_or_default(),
        environment: std::env::vars_os().collect(),
        output_cap: 512 * 1024 * 1024,
        passed: Vec::new(),
        confinement: Confinement::Off,
    });
    // A server of ordinary size: a fork copies the page tables of what it has touched.
    let ballast = vec![1u8; 16 * 1024 * 1024];
    let mut out = std::io::stdout().lock();
    let mut bare = Vec::new();
    let mut own = Vec::new();
    let mut other = Vec::new();
    for _ in 0..ROUNDS {
        // In turns, so that whatever else the machine does hits all alike.
        bare.push(time(|| bare_shell(false))?);
        own.push(time(|| run(&executor, "true").map(drop))?);
        other.push(time(|| bare_shell(true))?);
    }
    let (bare, own, other) = (median(bare), median(own), median(other));
    writeln!(out, "bash -c true, posix_spawn   {bare:>10.1?}")?;
    writeln!(out, "bash -c true, fork and exec {other:>10.1?}")?;
    writeln!(out, "execute true                {own:>10.1?}")?;
    writeln!(out, "ratio                       {:>10.2}", own.as_secs_f64() / bare.as_secs_f64())?;
    let started = Instant::now();
    let run = run(&executor, "head -c 100000000 /dev/zero")?;
    let seconds = started.elapsed().as_secs_f64();
    writeln!(out, "100 MB captured in          {seconds:>9.3}s ({} bytes)", run.stdout.len())?;
    drop(ballast);
    drop(executor);
    std::fs::remove_dir_all(scratch)?;
    Ok(())
}

fn bare_shell(fork: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut command = Command::new("bash");
    command.args(["-c", "true"]).stdin(Stdio::null());
    if fork {
        // A working directory of its own is what a server sets; it makes no difference to fork.
        command.current_dir("/").process_group(0);
    }
    let output = command.output()?;
    if output.status.success() { Ok(()) } else { Err("bash failed".into()) }
}

fn run(
    executor: &Executor,
    code: &str,
) -> Result<quietcontext_exec::Run, Box<dyn std::error::Error>> {
    let language = Language::parse("shell").ok_or("no shell")?;
    let root = std::env::current_dir()?;
    let request = RunRequest {
        program: Program::Code { language, code: code.into() },
        cwd: root.clone(),
        root,
        input: Input::Empty,
        deadline: Some(Instant::now() + Duration::from_secs(50)),
        streams: Streams::Separate,
        view: View::default(),
    };
    let run = executor.run(&request, &Cancel::new())?;
    if run.exit == Exit::Code(0) { Ok(run) } else { Err(format!("{:?}", run.exit).into()) }
}

fn time(
    body: impl FnOnce() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let started = Instant::now();
    body()?;
    Ok(started.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

use std::os::unix::process::CommandExt as _;
