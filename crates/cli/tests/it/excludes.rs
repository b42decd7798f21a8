//! The user's own ignore rules, held against what git itself says of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::World;

/// A git command with the home of a world and no configuration but the one in there.
fn git(world: &World, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(world.work()).env_clear();
    command.env("HOME", world.path("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null());
    command
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_users_global_excludes_are_what_git_takes_them_for() {
    const NAMES: &[&str] = &[
        "plain.txt",
        "a.log",
        "kept.log",
        "b.swp",
        "deep/c.log",
        "deep/notes/d.md",
        "notes/e.md",
        "private/f.txt",
        "deep/private/g.txt",
    ];
    const RULES: &str = "# of the user\n*.log\n!kept.log\n/notes/\nprivate/\n";
    for (name, files) in [
        ("none", &[][..]),
        ("where git looks by itself", &[(".config/git/ignore", RULES)]),
        (
            "named by a path from the home",
            &[(".gitconfig", "[core]\n\texcludesFile = ~/my/rules\n"), ("my/rules", RULES)],
        ),
        (
            "named in git's folder, in other letters",
            &[(".config/git/config", "[core]\n\tEXCLUDESFILE=\"~/rules\"\n"), ("rules", RULES)],
        ),
        (
            "named, and so not the other one",
            &[
                (".gitconfig", "[user]\n\tname = Ada\n[core]\n\texcludesfile = ~/rules\n"),
                ("rules", "*.swp\n"),
                (".config/git/ignore", RULES),
            ],
        ),
        ("named and not there", &[(".gitconfig", "[core]\n\texcludesfile = ~/nowhere\n")]),
    ] {
        let world = World::new();
        for (path, text) in files {
            write(&world.path("home").join(path), text);
        }
        assert!(git(&world, &["init", "-q"]).status().unwrap().success());
        for path in NAMES {
            write(&world.work().join(path), &format!("text of {path}\n"));
        }
        // The repository has the last word.
        write(&world.work().join("deep/.gitignore"), "!c.log\n");
        let ignored: Vec<&str> = NAMES
            .iter()
            .copied()
            .filter(|path| {
                let mut command = git(&world, &["check-ignore", "--no-index", "-q", path]);
                command.status().unwrap().success()
            })
            .collect();
        assert_eq!(ignored.is_empty(), name == "none" || name == "named and not there", "{name}");
        let mut server = world.serve();
        server.initialize();
        let answer = server.call("index", json!({"path": "."}));
        assert!(!answer.is_error, "{name}: {answer:?}");
        let sources = world.run(&["sources"]).stdout;
        for path in NAMES {
            let indexed = sources.contains(path);
            assert_eq!(indexed, !ignored.contains(path), "{name}: {path}\n{ignored:?}\n{sources}");
        }
    }
}
