//! F-084: fixed cost, and the same bytes on every start; what an idle server costs.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Server, World, files};

/// The lines that answer `initialize` and `tools/list`.
fn greeting(world: &World) -> (Value, Value) {
    let mut server = world.serve();
    (server.initialize(), server.ask("tools/list", json!({})))
}

#[test]
fn the_same_bytes_on_every_start() {
    let worlds: Vec<_> = (0..5).map(|_| World::new()).collect();
    // One of them has a store already.
    let mut server = worlds[4].serve();
    server.call("index", json!({ "content": "something to find", "source": "notes" }));
    server.shell("seq 1 5000");
    drop(server);
    let first = greeting(&worlds[0]);
    let bytes = (first.0.to_string(), first.1.to_string());
    for world in &worlds {
        let (hello, list) = greeting(world);
        assert_eq!((hello.to_string(), list.to_string()), bytes);
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&first.1).unwrap());
}

#[test]
fn the_list_and_the_texts_in_it_are_small() {
    let (hello, list) = greeting(&World::new());
    assert!(list.to_string().len() <= 4096, "{} bytes", list.to_string().len());
    let instructions = hello["instructions"].as_str().unwrap();
    assert!(instructions.len() <= 240, "{} bytes", instructions.len());
    for tool in list["tools"].as_array().unwrap() {
        let description = tool["description"].as_str().unwrap();
        assert!(description.len() < 2048, "{}: {} bytes", tool["name"], description.len());
    }
}

#[test]
fn a_tiny_result_costs_little_more_than_itself() {
    let world = World::new();
    let mut server = world.serve();
    let answer = server.shell("echo hi");
    assert!(answer.text.contains("hi") && answer.text.len() <= 64, "{answer:?}");
}

#[test]
fn the_first_answers_come_at_once_and_touch_nothing() {
    let world = World::new();
    let started = Instant::now();
    let mut server = world.serve();
    server.initialize();
    server.ask("tools/list", json!({}));
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_millis(300), "{elapsed:?}");
    assert_eq!(files(&world.path("home")), [""; 0], "the home was touched");
    assert_eq!(files(&world.work()), [""; 0], "the workspace was touched");
}

#[test]
fn an_idle_server_has_few_threads_and_little_memory() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    server.ask("tools/list", json!({}));
    server.ping(PATIENCE);
    assert!(server.status("Threads") <= 4, "{} threads", server.status("Threads"));
    let (own, all) = (server.status("RssAnon"), server.status("VmRSS"));
    assert!(own <= 4 << 10, "{own} KiB of its own");
    // Pages of the binary count as well, and an unoptimized one has many more of them.
    let limit = if cfg!(debug_assertions) { 24 } else { 12 };
    assert!(all <= limit << 10, "{all} KiB");
}

#[test]
fn a_big_message_leaves_nothing_behind() {
    let world = World::new();
    let mut server = world.serve();
    for _ in 0..3 {
        let code = "#".repeat(12 << 20);
        server.call("execute", json!({ "language": "shell", "code": code }));
    }
    server.ping(PATIENCE);
    let kib = server.status("RssAnon");
    assert!(kib <= 8 << 10, "{kib} KiB");
}

#[test]
fn data_lies_where_it_is_said_to_whatever_xdg_says() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.env("XDG_DATA_HOME", world.path("xdg")).env("XDG_CONFIG_HOME", world.path("xdg"));
    let mut server = Server::start(command);
    let answer = server.call("index", json!({ "content": "a", "source": "b" }));
    assert!(!answer.is_error, "{answer:?}");
    assert!(!files(&world.path("home/.local/share/quietcontext")).is_empty());
    assert!(!world.path("xdg").exists());
    let mut command = world.command(&[]);
    command.env("QUIETCONTEXT_DATA_DIR", world.path("elsewhere"));
    let mut server = Server::start(command);
    server.call("index", json!({ "content": "a", "source": "b" }));
    assert!(!files(&world.path("elsewhere")).is_empty());
}

#[test]
fn the_log_is_silent_until_it_is_asked_for_and_never_on_the_protocol() {
    let world = World::new();
    let run = |arguments: &[&str]| {
        let input = world.path("input");
        fs::write(&input, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
        let mut command = world.command(arguments);
        let output = command.stdin(fs::File::open(&input).unwrap()).output().unwrap();
        assert_eq!(output.stdout, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(run(&[]), "");
    assert!(run(&["--log", "debug"]).contains("ending"));
}

#[test]
fn a_wrong_configuration_is_refused_at_the_start() {
    let world = World::new();
    let folder = world.path("home/.config/quietcontext");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "[fetch]\nalow = [\"localhost:1\"]\n").unwrap();
    let outcome = world.run(&["serve"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("did you mean fetch.allow?"), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
}
