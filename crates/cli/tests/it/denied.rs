//! Deny rules as an agent meets them, in the box; each denial with the same call without the rule.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{World, shell};

/// The answer of one call under the rules.
fn call(world: &World, rules: &[&str], tool: &str, arguments: &Value) -> String {
    let folder = world.path("home/.claude");
    fs::create_dir_all(&folder).unwrap();
    let settings = json!({"permissions": {"deny": rules}});
    fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
    world.run(&["call", tool, &arguments.to_string()]).stdout
}

fn python(code: &str) -> Value {
    json!({"language": "python", "code": code})
}

/// The real file of a program that every system has.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found.find_map(|file| file.canonicalize().ok()).unwrap()
}

/// F-052: other languages, links and copies made beforehand meet a program that is not there.
#[test]
fn a_denied_program_is_not_in_the_box() {
    let world = World::new();
    let real = program("nl");
    symlink(&real, world.work().join("k")).unwrap();
    fs::write(world.work().join("f"), "line\n").unwrap();
    fs::write(world.work().join("script.sh"), "nl f\n").unwrap();
    let run = |program: &str| {
        python(&format!("import subprocess as s\nprint(s.run([{program}, 'f']).returncode)"))
    };
    let node = json!({
        "language": "javascript",
        "code": "try { console.log(`${require('child_process').execSync('nl f')}`) } catch { console.log('no') }",
    });
    let calls = [
        ("execute", run("'nl'")),
        ("execute", run("'./k'")),
        ("execute", run(&format!("{:?}", real.to_str().unwrap()))),
        ("execute", shell("bash script.sh")),
        ("execute", node),
        ("execute", shell("ln -s $(command -v nl) made; ./made f")),
    ];
    for (tool, arguments) in &calls {
        let free = call(&world, &[], tool, arguments);
        assert!(free.contains("1\tline"), "the control: {arguments} {free}");
        fs::remove_file(world.work().join("made")).ok();
        let held = call(&world, &["Bash(nl:*)"], tool, arguments);
        assert!(!held.contains("1\tline"), "{arguments} {held}");
        fs::remove_file(world.work().join("made")).ok();
    }
}

/// F-052: the four forms of file rules, in three tools.
#[test]
fn what_may_not_be_read_is_not_in_the_box() {
    let world = World::new();
    for folder in ["work/secret", "work/sub/secret", "abs/secret"] {
        fs::create_dir_all(world.path(folder)).unwrap();
        fs::write(world.path(folder).join("f"), "THE-SECRET\n").unwrap();
    }
    fs::write(world.work().join("open"), "open\n").unwrap();
    symlink("secret/f", world.work().join("link")).unwrap();
    let absolute = format!("Read(/{}/secret/**)", world.work().display());
    let home = format!("Read(~/../{}/secret/**)", "work");
    let mut calls = Vec::new();
    for path in ["secret/f", "link"] {
        let commands = json!({"commands": [format!("cat {path}")], "queries": ["SECRET"]});
        let exec = json!({"language": "shell", "code": "cat", "path": path});
        calls.push(("execute", shell(&format!("cat {path}; cat open")), false));
        calls.push(("execute", python(&format!("print(open('{path}').read())")), false));
        calls.push(("batch", commands, false));
        calls.push(("exec-file", exec, true));
        calls.push(("index", json!({"path": path}), true));
    }
    for (tool, arguments, _) in &calls {
        let free = call(&world, &[], tool, arguments);
        let read = free.contains("THE-SECRET") || free.starts_with("indexed 11 bytes");
        assert!(read, "the control: {tool} {arguments} {free}");
    }
    fs::remove_dir_all(world.path("home/.local")).unwrap();
    for rule in [&absolute, "Read(**/secret/**)", "Read(./secret/**)", "Read(secret)", &home] {
        for (tool, arguments, refused) in &calls {
            let held = call(&world, &[rule], tool, arguments);
            assert!(!held.contains("THE-SECRET\n"), "{rule} {tool} {arguments} {held}");
            assert!(!held.starts_with("indexed"), "{rule} {tool} {arguments} {held}");
            assert_eq!(held.contains("is denied by the rule Read("), *refused, "{tool}: {held}");
            let others = !arguments.to_string().contains("cat open") || held.contains("open\n");
            assert!(others, "{rule} {held}");
        }
    }
}

#[test]
fn settings_of_the_repository_only_take_away() {
    let world = World::new();
    fs::create_dir(world.work().join(".claude")).unwrap();
    let project = |permissions: Value| {
        let settings = json!({"permissions": permissions});
        fs::write(world.work().join(".claude/settings.json"), settings.to_string()).unwrap();
    };
    let touch = shell("touch made && echo done");
    project(json!({"deny": ["Bash(touch:*)"]}));
    let answer = call(&world, &[], "execute", &touch);
    assert!(
        answer.contains("denied by the rule Bash(touch:*) in .claude/settings.json"),
        "{answer}"
    );
    project(json!({"allow": ["Bash(touch:*)"]}));
    let answer = call(&world, &["Bash(touch:*)"], "execute", &touch);
    assert!(answer.contains("denied by the rule Bash(touch:*) in ~/.claude/"), "{answer}");
    assert_eq!(call(&world, &[], "execute", &touch), "done\n", "the control");
    fs::write(world.work().join(".claude/settings.json"), "{").unwrap();
    let answer = call(&world, &[], "execute", &touch);
    assert!(answer.contains("the deny rules of .claude/settings.json cannot be used"), "{answer}");
}
