//! `doctor`: what it says of clients, the store and the disk, and when it calls something broken.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::Value;

use crate::harness::{Outcome, World};

fn row(outcome: &Outcome, name: &str) -> Value {
    let rows: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    rows.iter().find(|row| row["check"] == name).cloned().unwrap_or(Value::Null)
}

fn write(world: &World, name: &str, text: &str) {
    let file = world.path(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn a_client_goes_from_unknown_to_set_up_to_unasked() {
    let world = World::new();
    fs::create_dir(world.path("home/.codex")).unwrap();
    let before = row(&world.run(&["doctor", "--json"]), "Codex");
    assert_eq!(
        (&before["state"], &before["repair"]),
        (&"missing".into(), &"quietcontext setup codex".into())
    );
    world.run(&["setup", "codex"]);
    let asks = row(&world.run(&["doctor", "--json"]), "Codex");
    assert_eq!(asks["state"], "ok", "{asks}");
    assert!(asks["text"].as_str().unwrap().contains("refused in codex exec"), "{asks}");
    assert!(asks["consequence"].as_str().unwrap().contains("setup codex --approve"), "{asks}");
    world.run(&["setup", "codex", "--approve", "--yes"]);
    let unasked = row(&world.run(&["doctor", "--json"]), "Codex");
    assert!(unasked["text"].as_str().unwrap().contains("unasked"), "{unasked}");
    let off = row(&world.run(&["--sandbox", "off", "doctor", "--json"]), "Codex");
    assert_eq!(off["state"], "missing", "{off}");
    assert!(off["consequence"].as_str().unwrap().contains("unconfined"), "{off}");
}

#[test]
fn an_entry_that_starts_nothing_is_broken_and_another_version_is_named() {
    let world = World::new();
    write(
        &world,
        "home/.cursor/mcp.json",
        r#"{"mcpServers":{"quietcontext":{"command":"/gone/quietcontext"}}}"#,
    );
    let outcome = world.run(&["doctor", "--json"]);
    assert_eq!(outcome.code, Some(1));
    let gone = row(&outcome, "Cursor");
    assert_eq!(
        (&gone["state"], &gone["repair"]),
        (&"failed".into(), &"quietcontext setup cursor".into())
    );
    let other = world.path("home/other");
    fs::write(&other, "#!/bin/sh\necho quietcontext 0.0.7\n").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let entry = format!(r#"{{"mcpServers":{{"quietcontext":{{"command":{other:?}}}}}}}"#);
    write(&world, "home/.cursor/mcp.json", &entry);
    let outcome = world.run(&["doctor", "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let other = row(&outcome, "Cursor");
    assert_eq!(other["state"], "missing", "{other}");
    assert!(other["text"].as_str().unwrap().contains("another program"), "{other}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_broken() {
    let world = World::new();
    write(&world, "home/.claude.json", "{\n  \"a\": \n}\n");
    let outcome = world.run(&["doctor", "--json"]);
    assert_eq!(outcome.code, Some(1));
    let broken = row(&outcome, "Claude Code");
    assert!(broken["text"].as_str().unwrap().contains("line 3, column"), "{broken}");
    let text = world.run(&["doctor"]).stdout;
    assert!(text.ends_with(" broken\n"), "{text}");
}

#[test]
fn the_store_is_checked_and_none_is_made() {
    let world = World::new();
    let none = row(&world.run(&["doctor", "--json"]), "store");
    assert!(none["text"].as_str().unwrap().contains("nothing is stored"), "{none}");
    let stores = || {
        let files = fs::read_dir(world.path("home/.local/share/quietcontext"));
        files.into_iter().flatten().flatten().filter(|it| it.path().is_file()).count()
    };
    assert_eq!(stores(), 0);
    write(&world, "work/a.md", "# A\n\ntext\n");
    world.run(&["index", "a.md"]);
    let sound = row(&world.run(&["doctor", "--thorough", "--json"]), "store");
    assert!(sound["text"].as_str().unwrap().starts_with("sound, 1 source, "), "{sound}");
}

#[test]
fn a_store_of_a_newer_version_is_not_to_be_removed() {
    let world = World::new();
    write(&world, "work/a.md", "# A\n\ntext\n");
    world.run(&["index", "a.md"]);
    let folder = fs::read_dir(world.path("home/.local/share/quietcontext")).unwrap();
    let mut files = folder.flatten().map(|entry| entry.path());
    let store = files.find(|path| path.extension().is_some_and(|ending| ending == "db")).unwrap();
    let version = |version: i64| {
        let connection = rusqlite::Connection::open(&store).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
    };
    version(999);
    let newer = row(&world.run(&["doctor", "--json"]), "store");
    assert_eq!(newer["state"], "failed", "{newer}");
    assert_eq!(newer["repair"], "install the newest quietcontext", "{newer}");
    assert!(!newer.to_string().contains("purge"), "{newer}");
    fs::write(&store, "no database at all, but long enough to be taken for one".repeat(99))
        .unwrap();
    let damaged = row(&world.run(&["doctor", "--json"]), "store");
    assert_eq!(damaged["repair"], "quietcontext purge --all", "{damaged}");
}

#[test]
fn a_daemon_that_clients_ask_has_to_run_and_its_token_is_nobody_elses() {
    let world = World::new();
    let none = row(&world.run(&["doctor", "--json"]), "daemon");
    assert_eq!(none["state"], "ok", "{none}");
    world.run(&["setup", "codex", "--daemon"]);
    let outcome = world.run(&["doctor", "--json"]);
    let away = row(&outcome, "daemon");
    assert_eq!(outcome.code, Some(1));
    assert_eq!(away["repair"], "quietcontext daemon start", "{away}");
    let token = "home/.local/share/quietcontext/daemon/token";
    write(&world, token, "secret\n");
    fs::set_permissions(world.path(token), fs::Permissions::from_mode(0o644)).unwrap();
    let open = row(&world.run(&["doctor", "--json"]), "daemon");
    assert_eq!(open["state"], "failed", "{open}");
    assert!(open["text"].as_str().unwrap().contains("read by others"), "{open}");
    let codex = row(&world.run(&["doctor", "--json"]), "Codex");
    assert!(codex["text"].as_str().unwrap().contains("daemon"), "{codex}");
}
