//! Programs by reference; F-085.

use serde_json::json;

use crate::support::Workspace;

fn long(body: &str) -> String {
    format!("{body}\n#{}", "-".repeat(300))
}

fn script_ref(text: &str) -> String {
    let at = text.rfind("\n[s:").unwrap_or_else(|| panic!("no script reference: {text}"));
    text[at + 1..].trim_matches(['[', ']']).to_owned()
}

#[test]
fn long_programs_are_reused_in_execute_and_exec_file() {
    let w = Workspace::new();
    w.write("a.txt", "one\ntwo\n");
    w.write("b.txt", "three\n");
    let code = long("import sys\nprint('lines', len(sys.stdin.read().splitlines()))");
    let text = w.run("exec-file", json!({"path": "a.txt", "language": "python", "code": code}));
    assert!(text.starts_with("lines 2\n"), "{text}");
    let reference = script_ref(&text);
    let bare = reference.trim_start_matches("s:").to_uppercase();
    for spelled in [reference.clone(), format!("[{reference}]"), bare] {
        let text = w.run("exec-file", json!({"path": "b.txt", "script_ref": spelled}));
        assert_eq!(text, "lines 1\n", "and no reference again");
    }
    assert_eq!(w.run("execute", json!({"script_ref": reference})), "lines 0\n");
    let again = w.run("execute", json!({"language": "python", "code": code}));
    assert_eq!(script_ref(&again), reference, "given on each call that submits it");
}

#[test]
fn short_programs_are_not_remembered() {
    let w = Workspace::new();
    assert_eq!(w.run("execute", json!({"language": "shell", "code": "echo short"})), "short\n");
}

#[test]
fn invalid_and_ambiguous_references_fail_before_anything_runs() {
    let w = Workspace::new();
    w.write("a.txt", "x");
    let code = long("touch ran");
    let text = w.run("execute", json!({"language": "shell", "code": code}));
    let reference = script_ref(&text);
    std::fs::remove_file(w.root().join("ran")).unwrap();
    for (arguments, says) in [
        (json!({"script_ref": "s:0123456789abcdef"}), "unknown"),
        (json!({"script_ref": "s:nonsense"}), "must be s:"),
        (json!({"script_ref": "r:20101"}), "must be s:"),
        (json!({"script_ref": ""}), "must be s:"),
        (json!({"script_ref": reference, "code": "touch ran", "language": "shell"}), "both given"),
        (json!({"script_ref": reference, "language": "python"}), "leave language out"),
        (json!({"language": "shell"}), "code is missing"),
        (json!({"script_ref": reference, "max_bytes": 255}), "max_bytes"),
    ] {
        let error = w.error("execute", arguments.clone());
        assert!(error.contains(says), "{arguments}: {error}");
        let mut with_path = arguments.clone();
        with_path["path"] = json!("a.txt");
        w.error("exec-file", with_path);
    }
    assert!(!w.exists("ran"), "nothing may have run");
    w.run("execute", json!({"script_ref": reference}));
    assert!(w.exists("ran"), "the control: the same program runs when its reference is right");
}

#[test]
fn a_restart_forgets_programs_and_says_so() {
    let w = Workspace::new();
    let text = w.run("execute", json!({"language": "shell", "code": long("echo once")}));
    let reference = script_ref(&text);
    let w = w.restarted();
    let error = w.error("execute", json!({"script_ref": reference}));
    assert!(error.contains("unknown") && error.contains("send code again"), "{error}");
}

#[test]
fn a_program_that_is_not_accepted_is_not_remembered() {
    let w = Workspace::new();
    let code = long("touch ran");
    let error = w.error("execute", json!({"language": "shell", "code": code, "cwd": "no/where"}));
    assert!(!error.contains("[s:"), "{error}");
    let known = w.run("execute", json!({"language": "shell", "code": code}));
    assert!(known.contains("[s:"));
}
