//! Processes: nothing of the host is seen, nothing of the box survives.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Lab, both};

/// A process of the lab's user outside.
fn bystander(lab: &Lab) -> Child {
    lab.command("/bin/sleep").arg("600").spawn().unwrap()
}

/// Whether any process of the host has this word among its arguments.
fn runs(marker: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == marker.as_bytes())
    })
}

/// Waits until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A number of seconds that nobody else sleeps for.
fn marker(test: &str) -> String {
    let salt: u32 = test.bytes().map(u32::from).sum();
    format!("{}.{salt}", 100_000_000 + u64::from(std::process::id()))
}

/// Everything that tries to outlive its parent: own session, double fork, deaf to signals.
fn survivors(marker: &str) -> String {
    format!(
        "setsid sleep {marker} & (setsid sleep {marker} &) & (trap '' TERM HUP INT; \
         exec sleep {marker}) & nohup sleep {marker} >/dev/null 2>&1 & "
    )
}

both! {
    /// Own pid namespace: pid 1 and the program's own, nothing else.
    fn no_process_of_the_host_is_seen(lab) {
        let mut other = bystander(lab);
        let pid = other.id().to_string();
        let seen = lab.shell("ls -d /proc/[0-9]* | wc -l; ps -e -o comm= | sort -u | tr '\\n' ' '");
        let lines: Vec<_> = seen.good().lines().collect();
        assert!(lines[0].parse::<u32>().unwrap() <= 4, "{seen:?}");
        assert!(lines[1].contains("ps") && lines[1].contains("bash"), "{seen:?}");
        for attempt in ["signal", "ptrace", "peek", "steal"] {
            assert!(lab.attempt(&[attempt, &pid]).starts_with("refused"), "{attempt}");
        }
        for name in ["environ", "mem", "maps"] {
            let path = format!("/proc/{pid}/{name}");
            assert_eq!(lab.attempt(&["read", &path]), "refused 2", "{path}");
        }
        for name in ["root/", "cwd/", "fd"] {
            let path = format!("/proc/{pid}/{name}");
            assert_eq!(lab.attempt(&["list", &path]), "refused 2", "{path}");
        }
        assert_eq!(lab.control(&["signal", &pid]), "done");
        assert_eq!(lab.control(&["read", &format!("/proc/{pid}/environ")]), "done");
        assert_eq!(lab.control(&["list", &format!("/proc/{pid}/cwd/")]), "done");
        // To everybody it can see, which is only itself.
        lab.shell("trap '' TERM; kill -TERM -1; kill -9 -1");
        assert!(other.try_wait().unwrap().is_none(), "the bystander lives");
        other.kill().unwrap();
        other.wait().unwrap();
    }

    /// What the program leaves is counted and gone when the box reports its end.
    fn nothing_survives_the_end(lab) {
        let marker = marker("end");
        let outcome = lab.shell(&format!("{} sleep 0.2; exit 3", survivors(&marker)));
        assert!(!runs(&marker));
        assert_eq!(outcome.status().code(), Some(3));
        assert!(outcome.left_behind() >= 4, "{outcome:?}");
        // What ends by itself within the grace was not left behind.
        let quiet = lab.run(&["--grace-ms", "5000"], &["/bin/sh", "-c", "sleep 0.2 & exit 0"]);
        assert_eq!(quiet.left_behind(), 0);
    }

    /// A server that is killed takes its boxes along, with all they started.
    fn nothing_survives_the_server(lab) {
        for signal in [rustix::process::Signal::KILL, rustix::process::Signal::TERM] {
            let marker = marker("server");
            let text = format!("{} echo up; sleep {marker}", survivors(&marker));
            let mut server = lab.boxed(&[], &["/bin/bash", "-c", &text]);
            let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
            let mut up = [0; 2];
            server.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
            until("the survivors run", || runs(&marker));
            let pid = rustix::process::Pid::from_child(&server);
            rustix::process::kill_process(pid, signal).unwrap();
            server.wait().unwrap();
            until("all are gone", || !runs(&marker));
            until("placeholders are gone", || !lab.path("workspace/.claude").exists());
        }
    }

    /// A server that stops a box gets its report when everything in it is gone.
    fn a_stopped_box_says_so(lab) {
        for rung in [&[][..], &["--reduced"]] {
            let (marker, go) = (marker("stop"), lab.at("workspace/go"));
            let text = format!("{} sleep 0.2; touch {go}; sleep {marker}", survivors(&marker));
            let flags = [&["--stop-when", &go], rung].concat();
            let outcome = lab.run(&flags, &["/bin/bash", "-c", &text]);
            assert!(!runs(&marker), "{rung:?}");
            assert_eq!(outcome.status().signal(), Some(libc::SIGKILL), "{outcome:?}");
            assert!(outcome.report.ends_with("stopped\n"), "{outcome:?}");
            std::fs::remove_file(&go).unwrap();
            assert!(!lab.shell("true").report.contains("stopped"), "the control");
        }
    }

    /// A supervisor that is killed takes the box along; the next box removes what it left.
    fn nothing_survives_the_supervisor(lab) {
        let marker = marker("supervisor");
        let text = format!("{} echo up; sleep {marker}", survivors(&marker));
        let mut server = lab.boxed(&[], &["/bin/bash", "-c", &text]);
        let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
        let mut up = [0; 2];
        server.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
        let children = format!("/proc/{0}/task/{0}/children", server.id());
        let supervisor = std::fs::read_to_string(children).unwrap();
        let supervisor = rustix::process::Pid::from_raw(supervisor.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
        server.wait().unwrap();
        until("all are gone", || !runs(&marker));
        assert!(lab.path("workspace/.claude").exists(), "nobody could remove the placeholders");
        lab.shell("true").good();
        assert!(!lab.path("workspace/.claude").exists(), "the next box did");
    }

    /// How the main process ended is told as it was.
    fn the_end_is_told_as_it_was(lab) {
        assert_eq!(lab.shell("exit 0").status().code(), Some(0));
        assert_eq!(lab.shell("exit 255").status().code(), Some(255));
        assert_eq!(lab.shell("kill -SEGV $$").status().signal(), Some(libc::SIGSEGV));
        assert_eq!(lab.shell("kill -9 $$").status().signal(), Some(libc::SIGKILL));
        // A reader that leaves early ends the writer quietly, as everywhere.
        let pipe = lab.shell("yes | head -1; echo ${PIPESTATUS[0]}");
        assert_eq!(pipe.good(), "y\n141");
    }

    /// Nothing of the server is inherited: descriptors, environment, terminal, status channel.
    fn nothing_is_inherited(lab) {
        let inside = lab.run(&[], &[&lab.at("bin/lab"), "try", "descriptors"]);
        assert_eq!(inside.good(), "open []");
        let leak = |boxed: bool| {
            let what = format!("{0}/bin/lab", lab.at(""));
            let root = lab.at("workspace");
            let home = lab.at("home");
            let report = lab.at("report");
            let run = if boxed {
                format!("{what} run --root {root} --home {home} --report {report} --")
            } else {
                String::new()
            };
            let text = format!("exec 7</etc/passwd; SECRET=x exec {run} {what} try descriptors");
            let output = lab.command("/bin/bash").args(["-c", &text]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(leak(true), "open []");
        assert!(leak(false).starts_with("open [7"), "the control: {}", leak(false));
        let mut server = lab.boxed(&["--env", "GIVEN=1"], &["/usr/bin/env"]);
        let output = server.env("SECRET", "x").output().unwrap();
        let environment = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<_> = environment.lines().map(|l| l.split('=').next().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["GIVEN", "HOME", "PATH", "TMPDIR"]);
        assert!(lab.shell("cat < /dev/tty").stderr.contains("No such"), "no terminal");
    }

    /// Standard input is the file that was given.
    fn standard_input_is_what_was_given(lab) {
        let file = lab.at("outside/file");
        let outcome = lab.run(&["--stdin", &file], &["/bin/cat"]);
        assert_eq!(outcome.good(), "outside");
        assert_eq!(lab.run(&[], &["/bin/cat"]).good(), "");
    }
}

#[test]
fn the_helper_notices_a_process_that_runs() {
    let marker = marker("control");
    let mut child = std::process::Command::new("/bin/sleep").arg(&marker).spawn().unwrap();
    until("it runs", || runs(&marker));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!runs(&marker));
    assert!(Path::new("/proc/self").exists());
}
