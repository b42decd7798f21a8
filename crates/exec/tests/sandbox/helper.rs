//! The binary of the box tests: the hidden role, a stand-in for the server, and escape attempts.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::exit,
    reason = "a program for tests: it fails loudly"
)]

mod attempts;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use quietcontext_exec::sandbox::{
    self, Event, HIDDEN_ARGUMENT, Launch, LayerState, Mode, Network, NetworkNamespace, Profile,
    Rung,
};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == HIDDEN_ARGUMENT {
        sandbox::child_main();
    }
    let rest: Vec<_> = arguments.collect();
    match first.to_str() {
        Some("run") => run(rest),
        Some("try") => attempts::run(&rest),
        Some("assess") => assess(Path::new(&rest[0])),
        _ => panic!("unknown role {}", first.display()),
    }
}

/// Stands in for the server: runs a program in a box and writes what the box says to a file.
fn run(arguments: Vec<OsString>) -> ExitCode {
    let mut profile = Profile::new(PathBuf::new(), PathBuf::new());
    let mut rung = Rung::Namespaces;
    let mut report = None;
    let mut twice = None;
    let mut stop_when = None;
    let mut stdin = OsString::from("/dev/null");
    let mut left = arguments.into_iter();
    let argv: Vec<_> = loop {
        let flag = left.next().expect("a program after --");
        let flag = flag.to_str().unwrap().to_owned();
        let mut value = || left.next().unwrap_or_else(|| panic!("a value for {flag}"));
        let number = |value: OsString| value.to_str().unwrap().parse::<u64>().unwrap();
        match flag.as_str() {
            "--" => break left.collect(),
            "--root" => {
                profile.root = value().into();
                profile.cwd.clone_from(&profile.root);
            }
            "--cwd" => profile.cwd = value().into(),
            "--home" => profile.home = value().into(),
            "--other-home" => profile.other_homes.push(value().into()),
            "--emptied" => profile.emptied.push(value().into()),
            "--caches" => {
                profile.caches = Some(value().into());
                profile.layers = true;
            }
            "--scratch" => profile.scratch = Some(value().into()),
            "--readable" => profile.readable.push(value().into()),
            "--writable" => profile.writable.push(value().into()),
            "--hidden" => profile.hidden.push(value().into()),
            "--unprotected" => profile.unprotected.push(value().into()),
            "--read-only" => profile.mode = Mode::ReadOnly,
            "--proxied" => profile.network = Network::Proxied,
            "--reduced" => rung = Rung::Landlock,
            "--tasks" => profile.limits.tasks = number(value()),
            "--memory" => profile.limits.memory_bytes = number(value()),
            "--file" => profile.limits.file_bytes = number(value()),
            "--temporary" => profile.limits.temporary_bytes = number(value()),
            "--grace-ms" => profile.limits.grace = Duration::from_millis(number(value())),
            "--stdin" => stdin = value(),
            // Stops the box once this file exists.
            "--stop-when" => stop_when = Some(PathBuf::from(value())),
            "--report" => report = Some(value()),
            // A second program joins the first one's network while that runs.
            "--then" => twice = Some(value()),
            "--env" => {
                let pair = value().into_string().unwrap();
                let (key, text) = pair.split_once('=').unwrap();
                profile.environment.push((key.into(), text.into()));
            }
            other => panic!("unknown flag {other}"),
        }
    };
    let mut report = std::fs::File::create(report.expect("--report")).unwrap();
    let binary = Path::new("/proc/self/exe");
    let launch = Launch {
        binary,
        rung,
        stdin: std::fs::File::open(stdin).unwrap().into(),
        join: None,
        share_network: twice.is_some(),
    };
    let (mut command, mut link) =
        match sandbox::command(&profile, Path::new(&argv[0]), &argv, launch) {
            Ok(prepared) => prepared,
            Err(error) => {
                writeln!(report, "refused {error}").unwrap();
                return ExitCode::FAILURE;
            }
        };
    let mut child = command.spawn().unwrap();
    drop(command);
    loop {
        match link.wait().unwrap() {
            Event::Started(started) => {
                writeln!(report, "started").unwrap();
                if let Some(listener) = started.proxy {
                    std::thread::spawn(move || serve(&listener));
                }
                if let Some(path) = stop_when.take() {
                    while !path.exists() {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    link.stop();
                }
                if let Some(network) = started.network {
                    second(&profile, &twice.take().unwrap(), &network, &mut report);
                }
            }
            Event::Failed(failure) => writeln!(report, "failed {failure}").unwrap(),
            Event::Ended(ended) => {
                writeln!(report, "ended {} {}", ended.wait_status, ended.left_behind).unwrap();
                if ended.stopped {
                    writeln!(report, "stopped").unwrap();
                }
            }
            Event::Layers(_) => {}
            Event::Closed => break,
        }
    }
    child.wait().unwrap();
    ExitCode::SUCCESS
}

/// Answers everything that comes through the listener in the box.
fn serve(listener: &std::net::TcpListener) {
    for stream in listener.incoming() {
        stream.unwrap().write_all(b"from the server").unwrap();
    }
}

/// Runs shell text in a box that joins `network`.
fn second(
    profile: &Profile,
    text: &OsString,
    network: &NetworkNamespace,
    report: &mut std::fs::File,
) {
    let launch = Launch {
        binary: Path::new("/proc/self/exe"),
        rung: Rung::Namespaces,
        stdin: std::fs::File::open("/dev/null").unwrap().into(),
        join: Some(network),
        share_network: false,
    };
    let argv = ["/bin/sh".into(), "-c".into(), text.clone()];
    let (mut command, mut link) =
        sandbox::command(profile, Path::new("/bin/sh"), &argv, launch).unwrap();
    let mut child = command.spawn().unwrap();
    drop(command);
    loop {
        match link.wait().unwrap() {
            Event::Closed => break,
            Event::Failed(failure) => writeln!(report, "second failed {failure}").unwrap(),
            Event::Ended(ended) => writeln!(report, "second ended {}", ended.wait_status).unwrap(),
            _ => {}
        }
    }
    child.wait().unwrap();
}

/// Prints what this machine can hold.
fn assess(scratch: &Path) -> ExitCode {
    let assessment = sandbox::assess(Path::new("/proc/self/exe"), scratch).unwrap();
    for layer in &assessment.layers {
        let (word, detail) = match &layer.state {
            LayerState::Present(how) => ("present", how),
            LayerState::Missing(why) => ("missing", why),
        };
        println!("{}: {word} {} {detail}", layer.name, layer.version);
    }
    println!("rung: {:?}", assessment.standing.rung);
    println!("announcement: {:?}", assessment.standing.announcement);
    ExitCode::SUCCESS
}
