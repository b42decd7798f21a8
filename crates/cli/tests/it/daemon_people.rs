//! The daemon as people handle it: start, status, stop, logs, roots.

use std::{
    fs,
    net::TcpListener,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{PATIENCE, World, wait_until};

/// A world whose daemon takes any free port, and ends with the world.
struct Own(World);

impl Own {
    fn new() -> Self {
        let world = World::new();
        world.configure("[daemon]\nport = 0\n");
        Self(world)
    }

    fn status(&self) -> Value {
        let outcome = self.0.run(&["daemon", "status", "--json"]);
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{outcome:?}: {error}"))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.run(&["daemon", "stop"]);
    }
}

#[test]
fn start_status_and_stop() {
    let own = Own::new();
    let world = &own.0;
    let outcome = world.run(&["daemon", "status"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.starts_with("not running; start it with: quietcontext daemon start\n"));
    assert_eq!(own.status()["running"], false);
    let outcome = world.run(&["daemon", "stop"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "not running\n"));

    let outcome = world.run(&["daemon", "start"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let status = own.status();
    let pid = status["pid"].as_u64().unwrap();
    let (url, port) = (status["url"].as_str().unwrap(), status["port"].as_u64().unwrap());
    assert_eq!(outcome.stdout, format!("running as process {pid} on {url}\n"));
    assert_eq!(url, format!("http://127.0.0.1:{port}/mcp"));
    assert_eq!(status["running"], true);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["roots"], json!([]));
    assert_eq!(status["error"], Value::Null);
    // It belongs to nobody's terminal and stands in nobody's way.
    let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).unwrap();
    assert_eq!(link("cwd"), std::path::Path::new("/"));
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session = stat.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap();
    assert_eq!(session, pid.to_string());

    // A second one is the first.
    let again = world.run(&["daemon", "start"]);
    assert_eq!((again.code, again.stdout), (Some(0), outcome.stdout));
    let second = world.run(&["daemon"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains(&format!("as process {pid}")), "{second:?}");

    let outcome = world.run(&["daemon", "status"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.starts_with(&format!("running as process {pid} for ")), "{outcome:?}");
    let started = Instant::now();
    let outcome = world.run(&["daemon", "stop"]);
    assert_eq!(outcome.stdout, format!("stopped process {pid}\n"), "{outcome:?}");
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    assert_eq!(own.status()["running"], false);
    let outcome = world.run(&["daemon", "logs"]);
    assert!(outcome.stdout.contains("serving") && outcome.stdout.contains("ended"), "{outcome:?}");
    let outcome = world.run(&["daemon", "logs", "-n", "1"]);
    assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
}

#[test]
fn what_a_killed_daemon_leaves_is_not_taken_for_a_daemon() {
    let own = Own::new();
    let world = &own.0;
    assert_eq!(world.run(&["daemon", "start"]).code, Some(0));
    let pid = own.status()["pid"].as_u64().unwrap();
    let process = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    wait_until(PATIENCE, || own.status()["running"] == false).expect("it is noticed");
    let state = world.path("home/.local/share/quietcontext/daemon/state.json");
    assert!(state.exists(), "the control: it was left");
    assert_eq!(world.run(&["daemon", "stop"]).stdout, "not running\n");
    let outcome = world.run(&["daemon", "start"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_ne!(own.status()["pid"], pid);
}

#[test]
fn a_daemon_that_does_not_end_when_it_is_asked_is_killed() {
    let own = Own::new();
    assert_eq!(own.0.run(&["daemon", "start"]).code, Some(0));
    let pid = own.status()["pid"].as_u64().unwrap();
    let process = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    let outcome = own.0.run(&["daemon", "stop"]);
    assert_eq!(outcome.stdout, format!("killed process {pid}\n"), "{outcome:?}");
    assert_eq!(own.status()["running"], false);
}

#[test]
fn a_full_log_is_set_aside_and_a_new_one_begun() {
    let own = Own::new();
    let log = own.0.path("home/.local/share/quietcontext/daemon/log");
    assert_eq!(own.0.run(&["daemon", "start"]).code, Some(0));
    assert_eq!(own.0.run(&["daemon", "stop"]).code, Some(0));
    let old = "an older line\n".repeat(80_000);
    fs::write(&log, &old).unwrap();
    assert_eq!(own.0.run(&["daemon", "start"]).code, Some(0));
    let written = fs::read_to_string(&log).unwrap();
    assert!(written.contains("serving") && !written.contains("an older line"), "{written}");
    assert_eq!(fs::read_to_string(log.with_extension("1")).unwrap(), old);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&log).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_port_that_is_taken_is_said_where_it_was_started() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let number = port.to_string();
    for (configured, command) in [
        (port, &["daemon"][..]),
        (port, &["daemon", "start"]),
        (0, &["daemon", "--port", &number]),
        (0, &["daemon", "start", "--port", &number]),
    ] {
        world.configure(&format!("[daemon]\nport = {configured}\n"));
        let outcome = world.run(command);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        let wanted = format!("port {port} cannot be opened; another one can be set as daemon.port");
        assert!(outcome.stderr.contains(&wanted), "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    }
    world.configure("[daemon]\nport = 65536\n");
    let outcome = world.run(&["daemon"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("daemon.port: must be a port"), "{outcome:?}");
}

#[test]
fn roots_are_listed_as_they_were_registered() {
    let world = World::new();
    let outcome = world.run(&["roots", "list"]);
    assert!(outcome.stdout.starts_with("no roots are registered"), "{outcome:?}");
    assert_eq!(world.run(&["roots", "list", "--json"]).stdout, "[]\n");
    fs::create_dir(world.path("other")).unwrap();
    let work = world.work();
    let outcome = world.run(&["roots", "add", ".", "../other"]);
    let other = world.path("other");
    let wanted = format!("registered {}\nregistered {}\n", work.display(), other.display());
    assert_eq!((outcome.code, outcome.stdout), (Some(0), wanted));
    // All or nothing.
    let outcome = world.run(&["roots", "remove", "../other"]);
    assert_eq!(outcome.stdout, "no longer registered: ../other\n");
    let outcome = world.run(&["roots", "add", "../other", "/missing"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    let list = json!([{ "path": work, "exists": true }]);
    assert_eq!(world.run(&["roots", "list", "--json"]).stdout, format!("{list}\n"));
    let home = world.path("home");
    let outcome = world.run(&["roots", "add", home.to_str().unwrap()]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
}

#[test]
fn units_start_this_binary() {
    let world = World::new();
    let systemd = world.run(&["daemon", "unit"]).stdout;
    let binary = crate::harness::binary();
    assert!(
        systemd.contains(&format!("ExecStart=\"{}\" \"daemon\"\n", binary.display())),
        "{systemd}"
    );
    let launchd = world.run(&["daemon", "unit", "--launchd"]).stdout;
    assert!(launchd.contains(&format!("<string>{}</string>", binary.display())), "{launchd}");
}
