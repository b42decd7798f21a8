//! The launcher of boxes: started once, replaced when it is gone, and gone with its executor.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use std::fs;
use std::sync::Barrier;
use std::thread;

use common::{Bench, assert_output, is_alive, text, wait_until};
use quietcontext_exec::{Cancel, Confinement, Exit};

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

/// The launcher, when every supervisor but the one that waits has been collected. That one goes by the
/// launcher's name until it has its own.
fn launcher() -> i32 {
    wait_until("one supervisor is left, and has its name", || {
        ["qc-supervisor", "qc-launcher"].map(|name| children(name).len()) == [1, 1]
    });
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

/// Without a box. The program says who its supervisor is.
fn supervisor(bench: &Bench) -> i32 {
    text(&bench.shell("echo $PPID").stdout).trim().parse().unwrap()
}

#[test]
fn a_supervisor_below_which_nothing_is_left_takes_the_next_program() {
    let bench = Bench::unconfined();
    let first = supervisor(&bench);
    assert_eq!(supervisor(&bench), first);
    // What it was given for the one before is gone, and so is what that one did.
    assert_eq!(bench.shell("cd /; exit 3").exit, Exit::Code(3));
    // Where it is this user's to see.
    let own = "import os; print(os.listdir('/proc/%d/fd' % os.getppid()))";
    let open = || text(&bench.run("python", own).stdout);
    let before = open();
    for _ in 0..3 {
        assert_output(&bench.shell("pwd"), &format!("{}\n", bench.root.display()));
        assert_output(&bench.shell("echo $PPID"), &format!("{first}\n"));
    }
    assert_eq!(open(), before);
    // What is left is stopped, and then nothing is.
    assert_eq!(bench.shell("sleep 1000 & echo").left_behind, 1);
    assert_eq!(supervisor(&bench), first);
    // One that was told to stop its program has had its last.
    let (request, cancel) = (bench.request("shell", "echo > runs; sleep 1000"), Cancel::new());
    thread::scope(|scope| {
        let run = scope.spawn(|| bench.executor.run(&request, &cancel).unwrap());
        wait_until("it runs", || bench.root.join("runs").exists());
        cancel.cancel();
        assert_eq!(run.join().unwrap().exit, Exit::Cancelled);
    });
    assert_ne!(supervisor(&bench), first);
}

#[test]
fn supervisors_that_died_between_two_programs_cost_nobody_a_run() {
    let bench = Bench::unconfined();
    // Five at a time, so that five are there afterwards.
    let together = Barrier::new(5);
    thread::scope(|scope| {
        for number in 0..5 {
            let (bench, together) = (&bench, &together);
            scope.spawn(move || {
                together.wait();
                let code = format!(
                    "echo > {number}; until [ -e 0 -a -e 1 -a -e 2 -a -e 3 -a -e 4 ]; do :; done"
                );
                assert_output(&bench.shell(&code), "");
            });
        }
    });
    // Those, and the one that is made ahead.
    wait_until("they wait", || children("qc-supervisor").len() == 6);
    for waiting in children("qc-supervisor") {
        kill(waiting);
    }
    assert_output(&bench.shell("echo one"), "one\n");
}

#[test]
fn supervisors_that_wait_end_with_the_shutdown() {
    let bench = Bench::unconfined();
    supervisor(&bench);
    wait_until("one has run and one is new", || children("qc-supervisor").len() == 2);
    bench.executor.shutdown();
    let left = || [children("qc-launcher"), children("qc-supervisor")].concat();
    wait_until("nothing is left", || left().is_empty());
}

/// It could not be made in the run before: more than fits into the order itself.
#[test]
fn an_order_of_any_size_is_carried_out_by_the_supervisor_of_a_small_one() {
    let bench = Bench::with(|config| {
        config.confinement = Confinement::Off;
        config.environment.push(("MUCH".into(), "x".repeat(100_000).into()));
        config.passed.push("MUCH".into());
    });
    for _ in 0..2 {
        assert_output(&bench.shell("echo ${#MUCH}"), "100000\n");
    }
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
