//! F-069 and the other ways in which a session ends: in time, and with all it started.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::harness::{
    PATIENCE, Server, World, assert_gone, binary, mark, shell, sleeper, wait_for_process,
    wait_until,
};

const IN_TIME: Duration = Duration::from_secs(2);

#[test]
fn no_input_at_all() {
    let world = World::new();
    let started = Instant::now();
    let output = world.command(&[]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());
}

#[test]
fn end_of_input_after_a_run() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    let answer = server.shell("echo hi");
    assert!(answer.text.contains("hi"), "{answer:?}");
    server.close();
    assert_eq!(server.exit(IN_TIME).code(), Some(0));
}

/// A server with a run under way.
fn busy(world: &World, mark: &str) -> Server {
    let mut server = world.serve();
    server.initialize();
    server.begin(1, "execute", shell(&sleeper(mark)));
    wait_for_process(mark);
    server
}

#[test]
fn end_of_input_during_a_run() {
    let (world, mark) = (World::new(), mark("eof"));
    let mut server = busy(&world, &mark);
    server.close();
    assert_eq!(server.exit(IN_TIME).code(), Some(0));
    assert_gone(&mark, IN_TIME);
}

#[test]
fn end_of_input_during_a_job_in_the_background() {
    let (world, mark) = (World::new(), mark("job"));
    let mut server = world.serve();
    let mut arguments = shell(&sleeper(&mark));
    arguments["background"] = json!(true);
    arguments["timeout_ms"] = json!(50);
    let answer = server.call("execute", arguments);
    assert!(!answer.is_error, "{answer:?}");
    wait_for_process(&mark);
    server.close();
    assert_eq!(server.exit(IN_TIME).code(), Some(0));
    assert_gone(&mark, IN_TIME);
}

#[test]
fn signals_during_a_run() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (world, mark) = (World::new(), mark("signal"));
        let mut server = busy(&world, &mark);
        server.signal(signal);
        assert_eq!(server.exit(IN_TIME).code(), Some(0), "{signal:?}");
        assert_gone(&mark, IN_TIME);
    }
}

#[test]
fn signals_before_anything_was_said() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let world = World::new();
        let mut server = world.serve();
        server.ping(PATIENCE);
        server.signal(signal);
        assert_eq!(server.exit(IN_TIME).code(), Some(0), "{signal:?}");
    }
}

/// The most that a client grants, and more than one of them does.
#[test]
fn killed_outright_during_a_run() {
    let (world, mark) = (World::new(), mark("kill"));
    let mut server = busy(&world, &mark);
    server.signal(Signal::KILL);
    server.exit(IN_TIME);
    assert_gone(&mark, IN_TIME);
}

#[test]
fn the_client_stops_reading() {
    let (world, mark) = (World::new(), mark("unread"));
    let mut command = world.command(&[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    drop(output);
    let mut server = Server::over(child, input, std::io::empty());
    server.begin(1, "execute", shell(&sleeper(&mark)));
    server.request(2, "ping", json!({}));
    assert_eq!(server.exit(IN_TIME).code(), Some(0));
    assert_gone(&mark, IN_TIME);
}

/// The parent is gone, yet somebody else keeps our input open.
#[test]
fn the_parent_dies() {
    let (world, mark) = (World::new(), mark("parent"));
    let mut shell_command = Command::new("sh");
    shell_command
        .args(["-c", r#"exec 3<&0; "$0" <&3 & echo "$!" >&2; wait"#])
        .arg(binary())
        .current_dir(world.work())
        .env("HOME", world.path("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = shell_command.spawn().unwrap();
    let mut pid = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut pid).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut server = Server::over(child, input, output);
    server.begin(1, "execute", shell(&sleeper(&mark)));
    wait_for_process(&mark);
    server.signal(Signal::KILL);
    server.child.wait().unwrap();
    // Nobody waits for the orphan but the system, which may take its time to reap it.
    let ended = || test_kill_process(pid).is_err() || is_zombie(pid);
    let gone = wait_until(IN_TIME, ended);
    if gone.is_none() {
        kill_process(pid, Signal::KILL).unwrap();
    }
    assert!(gone.is_some(), "the server outlived its parent");
    assert_gone(&mark, IN_TIME);
}

fn is_zombie(pid: Pid) -> bool {
    let status = format!("/proc/{}/status", pid.as_raw_nonzero());
    std::fs::read_to_string(status).is_ok_and(|text| text.contains("\nState:\tZ"))
}
