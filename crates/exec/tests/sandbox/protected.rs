//! What stays read-only inside the writable workspace.

use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use crate::lab::{Lab, both};

const PROTECTED: &[&str] =
    &[".git/hooks", ".git/config", ".claude", ".codex", ".vscode", ".mcp.json"];

/// A workspace with all protected paths in it, as a repository.
fn furnish(lab: &Lab) {
    let root = lab.path("workspace");
    let git = lab.command("/usr/bin/env").args(["git", "init", "-q"]).status().unwrap();
    assert!(git.success());
    for (name, text) in [
        (".git/hooks/pre-commit", "#!/bin/sh\n"),
        (".claude/settings.json", "{}"),
        (".codex/config.toml", ""),
        (".vscode/tasks.json", "{}"),
        (".mcp.json", "{}"),
    ] {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        std::fs::write(root.join(name), text).unwrap();
    }
    std::fs::create_dir(root.join("other")).unwrap();
    lab.give_away();
}

/// Names in the workspace's root.
fn names(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.path("workspace")).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

both! {
    /// Existing ones: not written, not renamed, not replaced, not removed.
    fn existing_ones_stay_as_they_are(lab) {
        furnish(lab);
        for name in PROTECTED {
            let path = lab.at(&format!("workspace/{name}"));
            let inside = if Path::new(&path).is_dir() { format!("{path}/new") } else { path.clone() };
            let other = lab.at("workspace/other");
            for attempt in [
                &["append", inside.as_str()][..],
                &["chmod", &path],
                &["utime", &path],
                &["rename", &path, &lab.at("workspace/moved")],
                &["rename", &other, &path],
                &["exchange", &path, &other],
                &["link", &path, &lab.at("workspace/second")],
                &["unlink", &path],
                &["rmdir", &path],
            ] {
                let answer = lab.attempt(attempt);
                assert!(answer.starts_with("refused"), "{attempt:?}: {answer}");
            }
            assert_eq!(lab.control(&["append", &inside]), "done", "the control of {name}");
        }
        let rest = lab.shell("rm -rf .git .claude .codex .vscode .mcp.json 2>/dev/null; ls -A");
        for name in [".claude", ".codex", ".git", ".mcp.json", ".vscode"] {
            assert!(rest.stdout.contains(name), "{rest:?}");
        }
        assert!(lab.path("workspace/.git/hooks/pre-commit").exists());
    }

    /// Every directory on the way: neither renamed nor exchanged nor linked past.
    fn parents_cannot_be_moved_away(lab) {
        furnish(lab);
        let (git, other) = (lab.at("workspace/.git"), lab.at("workspace/other"));
        let moved = lab.at("workspace/moved");
        let away = lab.at("moved");
        for attempt in [
            &["rename", git.as_str(), moved.as_str()][..],
            &["exchange", &git, &other],
            &["rename", &other, &git],
            &["rename", &lab.at("workspace"), &away],
        ] {
            let answer = lab.attempt(attempt);
            assert!(answer.starts_with("refused"), "{attempt:?}: {answer}");
        }
        assert_eq!(lab.attempt(&["rename", &other, &moved]), "done", "others move");
        assert_eq!(lab.control(&["rename", &git, &other]), "done", "the control");
    }

    /// Those that do not exist cannot be made, by no way of making; and nothing is left of it.
    fn missing_ones_cannot_be_made(lab) {
        let root = lab.path("workspace");
        std::fs::create_dir(root.join("other")).unwrap();
        std::fs::write(root.join("file"), "x").unwrap();
        lab.give_away();
        for name in [".git", ".claude", ".codex", ".vscode", ".mcp.json"] {
            let path = lab.at(&format!("workspace/{name}"));
            for attempt in [
                &["mkdir", path.as_str()][..],
                &["append", &path],
                &["append", &format!("{path}/new")],
                &["symlink", "other", &path],
                &["link", &lab.at("workspace/file"), &path],
                &["rename", &lab.at("workspace/other"), &path],
                &["rename", &lab.at("workspace/file"), &path],
                &["exchange", &lab.at("workspace/other"), &path],
                &["rmdir", &path],
            ] {
                let answer = lab.attempt(attempt);
                assert!(answer.starts_with("refused"), "{attempt:?}: {answer}");
                assert_eq!(names(lab), ["file", "other"], "after {attempt:?}");
            }
            assert_eq!(lab.control(&["mkdir", &path]), "done", "the control of {name}");
            std::fs::remove_dir(&path).unwrap();
        }
        let git = lab.shell("git init -q; echo $?; git rev-parse --git-dir; exit 0");
        assert!(!git.good().starts_with('0'), "{git:?}");
        assert_eq!(names(lab), ["file", "other"]);
    }

    /// What git would take for configuration by another name.
    fn git_reads_its_configuration_from_nowhere_else(lab) {
        furnish(lab);
        let at = |name: &str| lab.at(&format!("workspace/.git/{name}"));
        for attempt in [
            &["append", &at("commondir")][..],
            &["truncate", &at("commondir")],
            &["rename", &lab.at("workspace/other"), &at("commondir")],
            &["unlink", &at("commondir")],
            &["rename", &at("HEAD"), &at("config")],
        ] {
            assert!(lab.attempt(attempt).starts_with("refused"), "{attempt:?}");
        }
        let set = lab.shell("git config core.fsmonitor ./evil");
        assert!(!set.status().success(), "{set:?}");
        assert!(!lab.path("workspace/.git/commondir").exists());
        assert_eq!(lab.control(&["append", &at("commondir")]), "done", "the control");
    }

    /// Modules of the repository and its other worktrees have configuration as well.
    fn modules_and_worktrees_are_protected_too(lab) {
        furnish(lab);
        let git = lab.path("workspace/.git");
        for directory in ["modules/a/hooks", "modules/b/c/hooks", "worktrees/w"] {
            std::fs::create_dir_all(git.join(directory)).unwrap();
        }
        for file in ["modules/a/config", "modules/a/HEAD", "modules/b/c/config",
            "modules/b/c/HEAD", "worktrees/w/commondir", "worktrees/w/gitdir"] {
            std::fs::write(git.join(file), "x").unwrap();
        }
        lab.give_away();
        let at = |name: &str| lab.at(&format!("workspace/.git/{name}"));
        for file in ["modules/a/config", "modules/b/c/config", "modules/a/hooks/new",
            "modules/b/c/hooks/new", "worktrees/w/commondir", "worktrees/w/gitdir"] {
            assert!(lab.attempt(&["append", &at(file)]).starts_with("refused"), "{file}");
            assert_eq!(lab.control(&["append", &at(file)]), "done", "the control of {file}");
        }
        for directory in ["modules", "modules/a", "modules/b", "modules/b/c", "worktrees", "worktrees/w"] {
            let answer = lab.attempt(&["rename", &at(directory), &at("moved")]);
            assert!(answer.starts_with("refused"), "{directory}: {answer}");
        }
        assert_eq!(lab.attempt(&["append", &at("modules/a/index")]), "done");
    }

    /// A symbolic link can be replaced, so a protected one is refused; the user may lift it.
    fn a_protected_link_is_refused_by_name(lab) {
        std::fs::create_dir(lab.path("workspace/shared")).unwrap();
        std::os::unix::fs::symlink("shared", lab.path("workspace/.claude")).unwrap();
        lab.give_away();
        let outcome = lab.shell("true");
        let failure = outcome.failure().unwrap();
        assert!(failure.starts_with("protected paths: ") && failure.contains(".claude"), "{failure}");
        assert_eq!(names(lab), [".claude", "shared"]);
        let lifted = lab.run(&["--unprotected", ".claude"], &["/bin/true"]);
        assert!(lifted.status().success(), "{lifted:?}");
    }

    /// While one of several boxes on a workspace runs, nothing can be made there.
    fn boxes_side_by_side_hold_together(lab) {
        let wait = "echo up; while [ ! -e go ]; do sleep 0.01; done; mkdir .claude; echo $?";
        let mut first = lab.boxed(&[], &["/bin/bash", "-c", wait]);
        let mut first = first.stdout(Stdio::piped()).spawn().unwrap();
        let mut up = [0; 3];
        first.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
        for _ in 0..5 {
            // Its report is its own; it comes, protects and goes.
            let report = lab.at("second");
            let outcome = lab.run(&["--report", &report], &["/bin/true"]);
            drop(outcome);
        }
        std::fs::write(lab.path("workspace/go"), "").unwrap();
        let mut rest = String::new();
        first.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        first.wait().unwrap();
        assert_eq!(rest, "1\n", "the first box is still protected");
        assert_eq!(names(lab), ["go"]);
    }
}
