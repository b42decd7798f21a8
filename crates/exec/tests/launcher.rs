//! The launcher of boxes: started once, replaced when it is gone, and gone with its executor.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use std::fs;
use std::thread;

use common::{Bench, assert_output, is_alive, wait_until};

/// Numbers of this process's children in the hidden role that go by this name.
fn children(name: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for number in children.split_whitespace() {
            let own = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
            if own.trim_end() == name {
                found.push(number.parse().unwrap());
            }
        }
    }
    found
}

/// The launcher, when every supervisor but the one that waits has been collected.
fn launcher() -> i32 {
    wait_until("one supervisor is left", || children("qc-supervisor").len() == 1);
    let launchers = children("qc-launcher");
    assert_eq!(launchers.len(), 1);
    launchers[0]
}

fn kill(number: i32) {
    // Init has the supervisor's socket too, and dies with it.
    let path = format!("/proc/{number}/task/{number}/children");
    let below = fs::read_to_string(path).unwrap_or_default();
    let process = rustix::process::Pid::from_raw(number).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    wait_until("it is dead", || !is_alive(number));
    for one in below.split_whitespace() {
        wait_until("what is below it is dead", || !is_alive(one.parse().unwrap()));
    }
}

#[test]
fn one_launcher_serves_many_programs_and_leaves_no_supervisor() {
    let bench = Bench::boxed();
    assert_output(&bench.shell("echo one"), "one\n");
    let first = launcher();
    thread::scope(|scope| {
        for number in 0..8 {
            let bench = &bench;
            scope.spawn(move || {
                assert_output(&bench.shell(&format!("echo {number}")), &format!("{number}\n"));
            });
        }
    });
    assert_eq!(launcher(), first);
}

#[test]
fn a_launcher_that_is_gone_is_replaced() {
    let bench = Bench::boxed();
    bench.shell("true");
    let first = launcher();
    kill(first);
    assert_output(&bench.shell("echo again"), "again\n");
    assert_output(&bench.shell("echo and again"), "and again\n");
    assert_ne!(launcher(), first);
}

#[test]
fn the_launcher_ends_with_the_shutdown() {
    let bench = Bench::boxed();
    bench.shell("true");
    launcher();
    bench.executor.shutdown();
    let left = || [children("qc-launcher"), children("qc-supervisor")].concat();
    wait_until("nothing is left", || left().is_empty());
}

#[test]
fn a_supervisor_that_died_waiting_costs_nobody_a_run() {
    let bench = Bench::boxed();
    bench.shell("true");
    let first = launcher();
    for waiting in children("qc-supervisor") {
        kill(waiting);
    }
    assert_output(&bench.shell("echo one"), "one\n");
    assert_eq!(launcher(), first);
}

#[test]
fn a_box_that_waits_holds_no_mount_of_the_host() {
    let bench = Bench::boxed();
    bench.shell("true");
    launcher();
    let waiting = children("qc-supervisor")[0];
    let init = || {
        let path = format!("/proc/{waiting}/task/{waiting}/children");
        fs::read_to_string(path).unwrap_or_default().trim().to_owned()
    };
    wait_until("init waits", || !init().is_empty());
    let namespace =
        |process: &str, kind: &str| fs::read_link(format!("/proc/{process}/ns/{kind}")).unwrap();
    assert_eq!(namespace(&init(), "mnt"), namespace("self", "mnt"));
    // The control: all others are its own.
    for kind in ["user", "pid", "net", "ipc", "uts"] {
        assert_ne!(namespace(&init(), kind), namespace("self", kind), "{kind}");
    }
}

/// Where the kernel gives no user namespaces the same launcher starts reduced boxes.
#[test]
fn without_namespaces_programs_run_in_reduced_boxes_and_it_is_said() {
    const NAME: &str = "without_namespaces_programs_run_in_reduced_boxes_and_it_is_said";
    const VARIABLE: &str = "EXEC_TEST_REDUCED";
    if std::env::var_os(VARIABLE).is_none() {
        // In a user namespace that may have none below it, like a container.
        let text =
            "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" --exact \"$1\" --nocapture";
        let mut inside = std::process::Command::new("unshare");
        inside.args(["--user", "--map-root-user", "sh", "-c", text]);
        inside.arg(std::env::current_exe().unwrap()).arg(NAME).env(VARIABLE, "1");
        let output = inside.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
        return;
    }
    let bench = Bench::boxed();
    for _ in 0..3 {
        assert_output(&bench.shell("echo ok; sleep 1000 &"), "ok\n");
    }
    launcher();
    let said = bench.executor.announcement().unwrap();
    assert!(said.starts_with("sandbox reduced ("), "{said}");
}
