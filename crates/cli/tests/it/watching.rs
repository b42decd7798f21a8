//! What people see of what agents did: the journal of calls, its sums, and jobs of other processes.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{
    PATIENCE, World, assert_gone, files, mark, shell, sleeper, wait_for_process, wait_until,
};

fn json(world: &World, arguments: &[&str]) -> Value {
    let outcome = world.run(arguments);
    assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn journal(world: &World) -> Vec<String> {
    let folder = world.path("home/.local/share/quietcontext");
    let names = files(&folder);
    let name = names.iter().find(|name| name.to_string_lossy().ends_with(".calls"));
    name.map_or_else(Vec::new, |name| {
        let path = folder.join(name);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(path).unwrap();
        text.lines().skip(1).map(str::to_owned).collect()
    })
}

#[test]
fn every_call_is_noted_and_the_sums_are_what_was_measured() {
    let world = World::new();
    let mut server = world.serve();
    let small = server.shell("printf 12345");
    let big = server.shell("seq 1 20000; exit 3");
    let wrong = server.call("execute", json!({ "language": "shell" }));
    let found = server.call("search", json!({ "queries": ["19999"] }));
    // A server that is killed has noted what it answered.
    server.signal(Signal::KILL);
    server.exit(PATIENCE);
    let by_hand = world.run(&["call", "index", r#"{"content":"kept text","source":"a"}"#]);
    let stats = json(&world, &["stats", "--json"]);
    let answered =
        [&small, &big, &wrong, &found].map(|answer| answer.text.len()).iter().sum::<usize>()
            + by_hand.stdout.trim_end().len();
    let printed = 5 + (1..=20_000).map(|i: u32| i.to_string().len() + 1).sum::<usize>();
    assert_eq!(stats["total"]["calls"], 5, "{stats}");
    assert_eq!(stats["total"]["answered_bytes"], answered, "{stats}");
    assert_eq!(stats["total"]["produced_bytes"], printed + "kept text".len(), "{stats}");
    assert_eq!(stats["tools"]["execute"]["calls"], 3);
    assert_eq!(stats["tools"]["search"]["produced_bytes"], 0);
    let lines: Vec<Value> =
        journal(&world).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<_> = lines.iter().map(|line| line["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["exit 0", "exit 3", "error", "ok", "ok"]);
    assert_eq!(lines[1]["what"], "seq 1 20000; exit 3");
    assert_eq!(lines[4]["what"], "a");
    assert!(big.text.contains(lines[1]["ref"].as_str().unwrap()), "{}", big.text);
    let text = world.run(&["stats"]).stdout;
    assert!(text.contains("execute") && text.contains('█'), "{text}");
    let mut plain = world.command(&["stats"]);
    let plain = plain.env("LANG", "C").output().unwrap().stdout;
    assert!(plain.is_ascii(), "{}", String::from_utf8_lossy(&plain));
    let purged = world.run(&["purge", "--all", "--yes"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    assert_eq!(journal(&world), Vec::<String>::new());
    assert_eq!(json(&world, &["stats", "--json"])["total"]["calls"], 0);
}

#[test]
fn a_journal_that_is_not_wanted_is_not_kept() {
    let world = World::new();
    world.configure("[stats]\njournal = \"off\"\n");
    assert!(world.serve().shell("printf x").text.starts_with('x'));
    assert_eq!(journal(&world), Vec::<String>::new());
    let outcome = world.run(&["stats"]);
    assert!(outcome.stderr.contains("stats.journal is off"), "{outcome:?}");
    assert_eq!(json(&world, &["stats", "--json"])["journal"], false);
}

#[test]
fn a_small_call_opens_no_store_to_be_noted() {
    let world = World::new();
    assert!(world.serve().shell("printf x").text.starts_with('x'));
    assert_eq!(journal(&world).len(), 1);
    let names = files(&world.path("home/.local/share/quietcontext"));
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".db")), "{names:?}");
}

#[test]
fn the_jobs_of_a_server_are_seen_and_stopped_from_another_process() {
    let (world, mark) = (World::new(), mark("job"));
    let mut server = world.serve();
    let code = format!("echo begun; {}", sleeper(&mark));
    let mut arguments = shell(&code);
    arguments["background"] = json!(true);
    let started = server.call("execute", arguments).text;
    assert!(started.contains("running"), "{started}");
    wait_until(PATIENCE, || json(&world, &["jobs", "--json"])[0]["bytes"] == 6).unwrap();
    let jobs = json(&world, &["jobs", "--json"]);
    assert_eq!(jobs[0]["job"], "execute:1", "{jobs}");
    assert_eq!(jobs[0]["state"], "running");
    assert!(jobs[0]["what"].as_str().unwrap().starts_with("echo begun"), "{jobs}");
    let reference = jobs[0]["reference"].as_str().unwrap();
    assert!(started.contains(reference), "{started}");
    let shown = world.run(&["jobs"]);
    let row = shown.stdout.lines().nth(1).unwrap_or_default();
    assert!(row.starts_with("execute:1") && row.contains("running"), "{shown:?}");
    assert!(row.contains(reference) && row.contains("echo begun"), "{shown:?}");

    let wrong = world.run(&["jobs", "stop", "execute:9"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("there are execute:1"), "{wrong:?}");
    let stopped = world.run(&["jobs", "stop", "execute:1"]);
    assert_eq!((stopped.stdout.as_str(), stopped.code), ("execute:1 stopped\n", Some(0)));
    assert_gone(&mark, Duration::from_secs(2));
    let answer = server.call("execute", json!({ "stop": "execute:1" })).text;
    assert!(answer.contains("stopped"), "{answer}");
    let shown = world.run(&["jobs"]);
    let row = shown.stdout.lines().nth(1).unwrap_or_default();
    assert!(row.starts_with("execute:1") && row.contains("stopped"), "{shown:?}");
    let jobs = json(&world, &["jobs", "--json"]);
    assert_eq!((&jobs[0]["state"], &jobs[0]["bytes"]), (&json!("stopped"), &json!(6)), "{jobs}");
    assert_eq!(jobs.as_array().unwrap().len(), 1);
}

#[test]
fn the_jobs_of_a_dead_server_are_not_listed() {
    let (world, mark) = (World::new(), mark("dead"));
    let mut server = world.serve();
    let mut arguments = shell(&sleeper(&mark));
    arguments["background"] = json!(true);
    server.call("execute", arguments);
    assert_eq!(json(&world, &["jobs", "--json"])[0]["state"], "running");
    server.signal(Signal::KILL);
    server.exit(PATIENCE);
    assert_gone(&mark, Duration::from_secs(5));
    wait_until(PATIENCE, || json(&world, &["jobs", "--json"]) == json!([])).unwrap();
    let folder = world.path("home/.local/share/quietcontext");
    let left: Vec<_> = files(&folder)
        .into_iter()
        .filter(|name| name.to_string_lossy().ends_with(".job"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn calls_and_jobs_of_a_daemon_are_seen_like_those_of_a_session() {
    let (world, mark) = (World::new(), mark("daemon"));
    let daemon = world.daemon();
    daemon.shell(&world.work(), "printf 12345");
    let mut arguments = shell(&sleeper(&mark));
    arguments["background"] = json!(true);
    daemon.call(&world.work(), "execute", arguments);
    let total = &json(&world, &["stats", "--json"])["total"];
    assert_eq!((&total["calls"], &total["produced_bytes"]), (&json!(2), &json!(5)), "{total}");
    assert_eq!(json(&world, &["jobs", "--json"])[0]["state"], "running");
    assert_eq!(world.run(&["jobs", "stop", "execute:1"]).code, Some(0));
    assert_gone(&mark, Duration::from_secs(2));
}

#[test]
fn a_cancelled_call_is_noted_as_that() {
    let (world, mark) = (World::new(), mark("cancelled"));
    let mut server = world.serve();
    server.begin(7, "execute", shell(&sleeper(&mark)));
    wait_for_process(&mark);
    server.notify("notifications/cancelled", json!({ "requestId": 7 }));
    wait_until(PATIENCE, || journal(&world).len() == 1).unwrap();
    let line: Value = serde_json::from_str(&journal(&world)[0]).unwrap();
    assert_eq!((&line["outcome"], &line["answered"]), (&json!("cancelled"), &json!(0)), "{line}");
}

#[test]
fn what_an_agent_called_does_not_steer_a_terminal() {
    let world = World::new();
    let mut server = world.serve();
    let code = "printf x # \u{1b}]0;title\u{7} \u{202e}txt";
    server.shell(code);
    server.call("index", json!({ "content": "y", "source": "a\u{1b}[2J\u{202e}b" }));
    for command in ["stats", "sources", "jobs"] {
        let text = world.run(&[command]).stdout;
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{command}: {text:?}");
    }
}
