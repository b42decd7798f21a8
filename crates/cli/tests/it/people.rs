//! The commands for people: what they print, and how they exit.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{World, assert_gone, binary, mark, shell, sleeper, wait_for_process};

#[test]
fn call_is_an_agents_call() {
    let world = World::new();
    let arguments = r#"{"language":"shell","code":"echo out; echo err >&2; exit 3"}"#;
    let outcome = world.run(&["call", "execute", arguments]);
    let mut server = world.serve();
    let answer = server.call("execute", serde_json::from_str(arguments).unwrap());
    assert_eq!(outcome.stdout.trim_end(), answer.text.trim_end());
    assert_eq!(outcome.code, Some(0), "a program's own failure is no error of the call");
    assert_eq!(outcome.stderr, "");
    let outcome = world.run(&["call", "execute", arguments, "--json"]);
    let value: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(value["text"], answer.text);
    assert_eq!(value["is_error"], false);
}

#[test]
fn exit_codes() {
    let world = World::new();
    for (arguments, code) in [
        (&["call", "execute", "{}"][..], 1),
        (&["call", "execute", "{"], 2),
        (&["call", "execute", "[]"], 2),
        (&["call", "nonsense", "{}"], 2),
        (&["cat", "r:1"], 1),
        (&["cat", "no:such"], 1),
        (&["index", "missing"], 2),
        (&["search"], 2),
        (&["search", "x", "--limit", "0"], 2),
        (&["purge"], 2),
        (&["purge", "--all"], 2),
        (&["no-such-command"], 2),
        (&["--log", "loud", "sources"], 2),
        (&["--help"], 0),
        (&["--version"], 0),
        (&["sources"], 0),
        (&["config"], 0),
    ] {
        let outcome = world.run(arguments);
        assert_eq!(outcome.code, Some(code), "{arguments:?}: {outcome:?}");
        if code != 0 {
            assert!(!outcome.stderr.is_empty() || code == 1, "{arguments:?}");
        }
    }
}

#[test]
fn what_is_indexed_is_found_printed_listed_and_purged() {
    let world = World::new();
    let text = "# Tokens\n\nA token is renewed every hour by the zanzibar job.\n";
    std::fs::create_dir(world.work().join("docs")).unwrap();
    std::fs::write(world.work().join("docs/guide.md"), text).unwrap();
    let indexed = world.run(&["index", "docs"]);
    assert_eq!(indexed.code, Some(0), "{indexed:?}");
    let found = world.run(&["search", "zanzibar", "job"]);
    assert!(found.stdout.contains("docs/guide.md"), "{found:?}");
    assert!(found.stdout.contains("renewed every hour"), "{found:?}");
    let printed = world.run(&["cat", "docs/guide.md"]);
    assert_eq!(printed.stdout, text);
    assert_eq!(world.run(&["cat", "docs/guide.md", "--raw"]).stdout, text);
    let listed = world.run(&["sources", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["label"], "docs/guide.md");
    assert_eq!(listed[0]["bytes"], text.len());
    let reference = listed[0]["reference"].as_str().unwrap();
    assert_eq!(world.run(&["cat", reference]).stdout, text);
    assert!(world.run(&["sources"]).stdout.contains(reference));
    let purged = world.run(&["purge", "docs/guide.md", "--yes"]);
    assert_eq!(purged.stdout, "removed 1 source\n", "{purged:?}");
    assert_eq!(world.run(&["sources", "--json"]).stdout, "[]\n");
    assert_eq!(world.run(&["cat", reference]).code, Some(1));
}

#[test]
fn cat_gives_the_bytes_as_they_came() {
    let world = World::new();
    let code = r"for i in $(seq 0 19999); do printf '%d \377\033[31mred\r\n' $i; done";
    let arguments = shell(code).to_string();
    let outcome = world.run(&["call", "execute", &arguments]);
    assert!(outcome.stdout.contains("execute:"), "{outcome:?}");
    let label =
        outcome.stdout.split_whitespace().find(|word| word.starts_with("execute:")).unwrap();
    let output = world.command(&["cat", label, "--raw"]).output().unwrap();
    let wanted: Vec<u8> = (0..20_000)
        .flat_map(|i| [format!("{i} ").as_bytes(), b"\xff\x1b[31mred\r\n"].concat())
        .collect();
    assert!(output.stdout == wanted, "{} bytes instead of {}", output.stdout.len(), wanted.len());
    let output = world.command(&["cat", label]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 20_000);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn standard_input_is_indexed_and_arguments_are_read_from_it() {
    let world = World::new();
    let feed = |arguments: &[&str], text: &str| {
        let mut command = world.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap().status.code()
    };
    assert_eq!(
        feed(&["index", "-", "--source", "notes"], "the xylophone is in the attic\n"),
        Some(0)
    );
    let found = world.run(&["search", "xylophone"]);
    assert!(found.stdout.contains("notes"), "{found:?}");
    assert_eq!(feed(&["call", "search", "-"], r#"{"queries":["attic"]}"#), Some(0));
}

#[test]
fn a_pipe_that_closes_early_is_no_failure() {
    let world = World::new();
    world.run(&["call", "execute", r#"{"language":"shell","code":"seq 1 200000"}"#]);
    let mut command = world.command(&["cat", "execute:1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn doctor_names_what_is_there_and_what_is_not() {
    let world = World::new();
    let outcome = world.run(&["doctor", "--json"]);
    let checks: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let state = |name: &str| {
        let checks = checks.as_array().unwrap();
        checks.iter().find(|check| check["check"] == name).unwrap()["state"].clone()
    };
    assert_eq!(state("python"), "ok");
    assert_eq!(state("store"), "ok", "{outcome:?}");
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn doctor_tells_each_layer_of_the_sandbox_and_prints_a_profile_for_this_binary() {
    let world = World::new();
    let outcome = world.run(&["doctor"]);
    for layer in ["sandbox", "user namespaces", "mount view", "landlock", "seccomp", "task limit"] {
        let line = outcome.stdout.lines().find(|line| line.contains(layer));
        assert!(
            line.is_some_and(|line| line.starts_with("ok") || line.starts_with("missing")),
            "{layer}: {outcome:?}"
        );
    }
    let outcome = world.run(&["doctor", "--sandbox", "off"]);
    let line = outcome.stdout.lines().find(|line| line.contains(" sandbox "));
    assert!(line.is_some_and(|line| line.starts_with("missing")), "{outcome:?}");
    assert!(outcome.stdout.contains("programs run unconfined"), "{outcome:?}");
    let profile = world.run(&["doctor", "--apparmor"]).stdout;
    let head = format!(
        "profile quietcontext \"{}\" flags=(unconfined) {{\n  userns,",
        binary().canonicalize().unwrap().display()
    );
    assert!(profile.contains(&head), "{profile}");
}

#[test]
fn an_interrupted_call_stops_what_it_started() {
    let (world, mark) = (World::new(), mark("interrupt"));
    let mut command = world.command(&["call", "execute", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let arguments = shell(&sleeper(&mark)).to_string();
    child.stdin.take().unwrap().write_all(arguments.as_bytes()).unwrap();
    wait_for_process(&mark);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_gone(&mark, Duration::from_secs(2));
}

#[test]
fn bare_in_a_terminal_it_says_what_it_is() {
    let code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))";
    let mut command = Command::new("python3");
    command.args(["-c", code]).arg(binary()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("MCP server") && text.contains("quietcontext --help"), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn words_that_look_like_flags_can_be_searched_for() {
    let world = World::new();
    world.run(&["call", "index", r#"{"content":"use --error-on-warnings here","source":"a"}"#]);
    let found = world.run(&["search", "--brief", "--", "--error-on-warnings"]);
    assert!(found.stdout.contains("[r:"), "{found:?}");
}
