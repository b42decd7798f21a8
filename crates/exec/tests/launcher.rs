//! The launcher of boxes: started once, replaced when it is gone, and gone with its executor.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use std::fs;
use std::thread;

use common::{Bench, assert_output, is_alive, wait_until};
use quietcontext_exec::sandbox::HIDDEN_ARGUMENT;

/// Numbers of this process's children that run in the hidden role: launchers and supervisors.
fn hidden_children() -> Vec<i32> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for number in children.split_whitespace() {
            let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            if line.split(|byte| *byte == 0).any(|word| word == HIDDEN_ARGUMENT.as_bytes()) {
                found.push(number.parse().unwrap());
            }
        }
    }
    found
}

/// The one that is left when every supervisor has been collected.
fn launcher() -> i32 {
    wait_until("one process is left", || hidden_children().len() == 1);
    hidden_children()[0]
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
    let process = rustix::process::Pid::from_raw(first).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    wait_until("it is dead", || !is_alive(first));
    assert_output(&bench.shell("echo again"), "again\n");
    wait_until("another one is there", || hidden_children().iter().any(|other| *other != first));
}

#[test]
fn the_launcher_ends_with_the_shutdown() {
    let bench = Bench::boxed();
    bench.shell("true");
    launcher();
    bench.executor.shutdown();
    wait_until("nothing is left", || hidden_children().is_empty());
}
