//! F-047: what chooses the root, and what does not.

use std::fs;

use serde_json::json;

use crate::harness::{Server, World};

#[test]
fn variables_of_others_do_not_choose_the_root() {
    let world = World::new();
    let other = world.path("other");
    fs::create_dir(&other).unwrap();
    let mut command = world.command(&[]);
    for name in ["CLAUDE_PROJECT_DIR", "PWD", "OLDPWD", "VSCODE_CWD", "INIT_CWD", "PROJECT_ROOT"] {
        command.env(name, &other);
    }
    let mut server = Server::start(command);
    let answer = server.shell("pwd; ls");
    let text = answer.text.lines().find(|line| line.starts_with('/')).unwrap_or_default();
    assert_eq!(text, world.work().to_str().unwrap(), "{answer:?}");
}

#[test]
fn a_flag_or_our_own_variable_does() {
    let world = World::new();
    let other = world.path("other");
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(&other, world.path("link")).unwrap();
    let named = other.to_str().unwrap();
    let linked = world.path("link/");
    for arguments in [
        vec!["--root", named],
        vec!["serve", "--root", named],
        vec!["serve", "--root", linked.to_str().unwrap()],
        vec![],
    ] {
        let mut command = world.command(&arguments);
        command.current_dir("/");
        if arguments.is_empty() {
            command.env("QUIETCONTEXT_ROOT", named);
        }
        let mut server = Server::start(command);
        let answer = server.shell("pwd");
        assert!(answer.text.contains(&format!("{named}\n")), "{arguments:?}: {answer:?}");
    }
}

#[test]
fn a_root_that_is_not_there_is_refused_at_the_start() {
    let world = World::new();
    fs::write(world.path("file"), "").unwrap();
    for name in ["missing", "file"] {
        let path = world.path(name);
        let outcome = world.run(&["serve", "--root", path.to_str().unwrap()]);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stdout.is_empty());
        assert!(outcome.stderr.contains(path.to_str().unwrap()), "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    }
}

#[test]
fn where_nobody_works_the_client_is_asked_for_its_root() {
    let world = World::new();
    for start in ["/".into(), world.path("home")] {
        let mut command = world.command(&[]);
        command.current_dir(&start);
        let mut server = Server::start(command);
        server.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "roots": {} },
                "clientInfo": { "name": "test", "version": "0" },
            }),
        );
        server.begin(1, "execute", json!({ "language": "shell", "code": "pwd" }));
        let asked = server
            .line(crate::harness::PATIENCE, |line| line["method"] == "roots/list")
            .expect("the client is asked");
        let uri = format!("file://{}", world.work().display());
        server.send(&json!({
            "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [{ "uri": uri }] }
        }));
        let answer = server.reply(1);
        assert!(answer.text.contains(world.work().to_str().unwrap()), "{answer:?}");
    }
}

#[test]
fn where_nobody_works_and_nobody_says_where_runs_are_refused_in_one_line() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.current_dir("/");
    let mut server = Server::start(command);
    server.initialize();
    let answer = server.shell("pwd");
    assert!(answer.is_error, "{answer:?}");
    assert_eq!(answer.text.trim_end().lines().count(), 1, "{answer:?}");
}
