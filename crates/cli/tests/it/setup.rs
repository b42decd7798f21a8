//! `setup` as a person uses it: what is written, shown, asked, refused and taken back.

use std::fs;

use serde_json::Value;

use crate::harness::{World, binary};

const CODEX: &str = "home/.codex/config.toml";

fn codex(world: &World, text: &str) {
    fs::create_dir_all(world.path("home/.codex")).unwrap();
    fs::write(world.path(CODEX), text).unwrap();
}

fn now(world: &World) -> Option<String> {
    fs::read_to_string(world.path(CODEX)).ok()
}

#[test]
fn a_client_is_set_up_once_and_taken_back() {
    let world = World::new();
    let before = "# mine\nmodel = \"m\"\n";
    codex(&world, before);
    let listed = world.run(&["setup"]);
    assert!(listed.stdout.contains("quietcontext setup codex\n"), "{listed:?}");
    let done = world.run(&["setup", "codex"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let text = now(&world).unwrap();
    assert!(text.starts_with(before), "{text}");
    assert!(text.contains(&format!("command = {:?}", binary().to_str().unwrap())), "{text}");
    assert!(!text.contains("approv"), "{text}");
    let again = world.run(&["setup", "codex"]);
    assert!(again.stdout.contains("nothing to change"), "{again:?}");
    let listed = world.run(&["setup", "--json"]);
    let rows: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(rows[0]["state"], "set up");
    assert_eq!(rows[0]["unasked"], false);
    let undone = world.run(&["setup", "codex", "--undo"]);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(now(&world).as_deref(), Some(before));
    let nothing = world.run(&["setup", "codex", "--undo"]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
}

#[test]
fn a_file_that_setup_made_is_removed_again() {
    let world = World::new();
    assert_eq!(world.run(&["setup", "codex", "claude-code", "--approve", "--yes"]).code, Some(0));
    for file in [CODEX, "home/.claude.json", "home/.claude/settings.json"] {
        assert!(world.path(file).is_file(), "{file}");
    }
    assert_eq!(world.run(&["setup", "codex", "claude-code", "--undo"]).code, Some(0));
    for file in [CODEX, "home/.claude.json", "home/.claude/settings.json"] {
        assert!(!world.path(file).exists(), "{file}");
    }
    assert!(!world.path("home/.local/share/quietcontext/setup.json").exists());
}

#[test]
fn a_preview_shows_the_change_and_makes_none() {
    let world = World::new();
    codex(&world, "a = 1\n");
    let shown = world.run(&["setup", "codex", "--dry-run"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("+[mcp_servers.quietcontext]\n"), "{shown:?}");
    assert!(!shown.stdout.contains('\u{1b}'), "no colour where nobody looks");
    assert_eq!(now(&world).as_deref(), Some("a = 1\n"));
    assert!(!world.path("home/.local/share/quietcontext").exists());
}

#[test]
fn nobody_is_told_to_run_tools_unasked_without_a_yes() {
    let world = World::new();
    codex(&world, "a = 1\n");
    let refused = world.run(&["setup", "codex", "--approve"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    assert_eq!(now(&world).as_deref(), Some("a = 1\n"));
    let done = world.run(&["setup", "codex", "--approve", "--yes"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(now(&world).unwrap().contains("default_tools_approval_mode = \"approve\"\n"));
}

#[test]
fn an_unconfined_server_is_never_approved() {
    for by_flag in [false, true] {
        let world = World::new();
        codex(&world, "a = 1\n");
        if !by_flag {
            world.configure("sandbox = \"off\"\n");
        }
        let flags: &[&str] = if by_flag { &["--sandbox", "off"] } else { &[] };
        let arguments = [flags, &["setup", "codex", "--approve", "--yes"]].concat();
        let refused = world.run(&arguments);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert_eq!(refused.stderr.lines().count(), 1, "{refused:?}");
        assert_eq!(now(&world).as_deref(), Some("a = 1\n"));
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_not_touched() {
    let world = World::new();
    let broken = "a = 1\nb = [\n";
    codex(&world, broken);
    for arguments in [&["setup", "codex"][..], &["setup", "codex", "--dry-run"]] {
        let refused = world.run(arguments);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert_eq!(refused.stderr.lines().count(), 1, "{refused:?}");
        assert!(refused.stderr.contains("config.toml: line 2, column"), "{refused:?}");
        assert_eq!(now(&world).as_deref(), Some(broken));
    }
    let listed = world.run(&["setup"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stdout.contains("unreadable"), "{listed:?}");
    let folder = fs::read_dir(world.path("home/.codex")).unwrap().count();
    assert_eq!(folder, 1, "nothing is left beside it");
}

#[test]
fn an_unknown_client_is_refused_before_anything_is_written() {
    let world = World::new();
    let refused = world.run(&["setup", "codex", "codecs"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("claude-code"), "{refused:?}");
    assert_eq!(now(&world), None);
}

#[test]
fn flags_are_entered_with_the_command() {
    let world = World::new();
    let done = world.run(&["--root", ".", "--sandbox", "read-only", "setup", "codex"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let work = world.work();
    let wanted = format!(
        "\"serve\", \"--root\", {:?}, \"--sandbox\", \"read-only\"",
        work.to_str().unwrap()
    );
    assert!(now(&world).unwrap().contains(&wanted), "{:?}", now(&world));
}

#[test]
fn a_client_is_moved_to_the_daemon_and_back() {
    let world = World::new();
    codex(&world, "a = 1\n");
    world.run(&["setup", "codex"]);
    let unit = world.path("home/.config/systemd/user/quietcontext.service");
    let shown = world.run(&["setup", "codex", "--daemon", "--dry-run"]);
    assert!(shown.stdout.contains("+ExecStart="), "{shown:?}");
    assert!(!unit.exists());
    let done = world.run(&["setup", "codex", "--daemon"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let text = now(&world).unwrap();
    assert!(text.contains("url = \"http://127.0.0.1:8167/mcp\""), "{text}");
    assert!(!text.contains("command"), "{text}");
    let token = world.path("home/.local/share/quietcontext/daemon/token");
    assert!(text.contains(token.to_str().unwrap()), "the file is named, not what is in it: {text}");
    assert!(fs::read_to_string(&unit).unwrap().contains("ExecStart="));
    let again = world.run(&["setup", "codex", "--daemon"]);
    assert_eq!(again.stdout.matches("nothing to change").count(), 2, "{again:?}");
    // Other flags, another unit; what is taken back is all of it.
    let other = world.run(&["--log", "info", "setup", "--daemon"]);
    assert!(other.stdout.contains("unit written"), "{other:?}");
    world.run(&["setup", "codex", "--daemon", "--undo"]);
    assert_eq!(now(&world).as_deref(), Some("a = 1\n"));
    assert!(!unit.exists());
    codex(&world, "broken = [\n");
    let refused = world.run(&["setup", "codex", "--daemon"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(!unit.exists(), "no unit without its client");
}

#[test]
fn a_client_without_a_project_and_a_port_that_changes_are_refused() {
    let world = World::new();
    let refused = world.run(&["setup", "zed", "--daemon"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("leave out --daemon"), "{refused:?}");
    world.configure("daemon.port = 0\n");
    let refused = world.run(&["setup", "codex", "--daemon"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("daemon.port"), "{refused:?}");
    assert_eq!(now(&world), None);
    assert!(!world.path("home/.config/systemd").exists());
}
