//! Deny rules of the client, through the tools; each denial with its control.

use serde_json::json;

use crate::support::Workspace;

fn deny(w: &Workspace, rules: &[&str]) {
    w.write(".claude/settings.json", json!({"permissions": {"deny": rules}}).to_string());
}

#[test]
fn shell_text_is_held_against_the_rules_wherever_it_is_run() {
    let w = Workspace::new();
    w.write("data.txt", "x");
    let code = format!("touch made # {}", "x".repeat(300));
    let shell = |extra: serde_json::Value| {
        let mut arguments = json!({"language": "shell", "code": code});
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        arguments
    };
    let calls = [
        ("execute", shell(json!({}))),
        ("execute", shell(json!({"background": true}))),
        ("exec-file", shell(json!({"path": "data.txt"}))),
    ];
    let reference = {
        let text = w.run("execute", calls[0].1.clone());
        assert!(w.exists("made"), "the control");
        let at = text.rfind("[s:").unwrap();
        text[at + 1..].trim_end().trim_end_matches(']').to_owned()
    };
    std::fs::remove_file(w.root().join("made")).unwrap();
    deny(&w, &["Bash(touch:*)"]);
    let by_reference = ("execute", json!({"script_ref": reference}));
    for (tool, arguments) in calls.iter().chain([&by_reference]) {
        let line = w.error(tool, arguments.clone());
        assert!(line.starts_with("error: \"touch made\" is denied by the rule"), "{line}");
        assert!(line.ends_with("Bash(touch:*) in .claude/settings.json"), "{line}");
    }
    let commands =
        json!({"commands": ["echo first", "true && touch made", "$X made", "echo last"]});
    let text = w.run("batch", commands);
    assert!(
        text.contains("2: not run: \"touch made\" is denied by the rule Bash(touch:*)"),
        "{text}"
    );
    assert!(
        text.contains("3: not run: \"$X made\" cannot be held against the deny rules"),
        "{text}"
    );
    assert!(text.contains("1: exit 0") && text.contains("4: exit 0"), "{text}");
    assert!(!w.exists("made"));
    // Other languages are not parsed; that is what the confinement is for.
    w.run(
        "execute",
        json!({"language": "python", "code": "import subprocess as s\ns.run(['touch', 'made'])"}),
    );
    assert!(w.exists("made"));
}

#[test]
fn a_language_whose_program_is_denied_is_refused() {
    let w = Workspace::new();
    let python = json!({"language": "python", "code": "print(1)"});
    w.run("execute", python.clone());
    deny(&w, &["Bash(python3:*)", "Bash(python:*)"]);
    let line = w.error("execute", python);
    assert!(line.contains("the program for python is denied by the rule Bash(python"), "{line}");
    assert_eq!(w.run("execute", json!({"language": "shell", "code": "echo 1"})), "1\n");
}

#[test]
fn files_that_may_not_be_read_are_neither_opened_nor_indexed() {
    let w = Workspace::new();
    for (path, text) in [
        ("secret/a.txt", "alphasecret"),
        ("sub/secret/b.txt", "betasecret"),
        ("open.txt", "opentext"),
    ] {
        w.write(path, text);
    }
    std::os::unix::fs::symlink("secret/a.txt", w.root().join("link")).unwrap();
    let exec = |path: &str| json!({"language": "shell", "code": "cat", "path": path});
    assert!(w.run("exec-file", exec("secret/a.txt")).contains("alphasecret"), "the control");
    let text = w.ok("index", json!({"path": "."}));
    assert!(text.starts_with("3 files"), "{text}");
    let home = w.root().parent().unwrap().join("home");
    std::fs::create_dir_all(home.join("secret")).unwrap();
    let absolute = format!("Read(/{}/secret/**)", w.root().display());
    for (rule, other) in [
        (absolute.as_str(), true),
        ("Read(**/secret/**)", false),
        ("Read(./secret/**)", true),
        ("Read(/secret/**)", true),
        ("Read(secret)", false),
    ] {
        deny(&w, &[rule]);
        for path in ["secret/a.txt", "link", "./secret//a.txt", "secret/../secret/a.txt"] {
            for (tool, arguments) in [("exec-file", exec(path)), ("index", json!({"path": path}))] {
                let line = w.error(tool, arguments);
                assert!(line.contains("is denied by the rule Read("), "{tool} {path}: {line}");
            }
        }
        let answer = w.call("index", json!({"path": "secret"}));
        let text = answer.text.as_str();
        let told = text.contains("denied by rules") || text.contains("denied by the rule Read(");
        assert!(told, "{rule} {text}");
        let found = w.call("exec-file", exec("sub/secret/b.txt"));
        assert_eq!(found.is_error, !other, "{rule}: {}", found.text);
        assert!(w.run("exec-file", exec("open.txt")).contains("opentext"));
    }
    // What was indexed before goes when the directory is indexed again.
    deny(&w, &["Read(**/secret/**)"]);
    let text = w.ok("index", json!({"path": "."}));
    assert!(text.contains("2 denied by rules") && text.contains(" removed"), "{text}");
    assert!(w.ok("search", json!({"queries": ["alphasecret"]})).contains("no match"));
    assert!(!w.ok("search", json!({"queries": ["opentext"]})).contains("no match"));
}

#[test]
fn a_broken_rule_file_stops_what_the_rules_are_about() {
    let w = Workspace::new();
    w.write("a.txt", "text");
    let calls = [
        ("execute", json!({"language": "shell", "code": "touch made"})),
        ("execute", json!({"language": "python", "code": "open('made', 'w')"})),
        ("exec-file", json!({"language": "shell", "code": "touch made", "path": "a.txt"})),
        ("batch", json!({"commands": ["touch made"]})),
        ("index", json!({"path": "a.txt"})),
        ("index", json!({"path": "."})),
    ];
    w.write(".claude/settings.json", "{ \"permissions\": ");
    for (tool, arguments) in &calls {
        let line = w.error(tool, arguments.clone());
        assert!(line.contains("the deny rules of .claude/settings.json cannot be used"), "{line}");
    }
    assert!(!w.exists("made"));
    assert!(w.ok("search", json!({"queries": ["x"]})).contains("no match"), "others go on");
    w.write(".claude/settings.json", "{}");
    for (tool, arguments) in calls {
        w.ok(tool, arguments);
    }
    assert!(w.exists("made"), "the control");
}
