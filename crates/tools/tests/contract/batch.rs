//! Many commands in one call: order, budget, what each left.

use serde_json::json;

use crate::support::{Workspace, reference};

#[test]
fn each_command_has_its_line_and_its_document() {
    let w = Workspace::new();
    let text = w.run(
        "batch",
        json!({"commands": [
        {"label": "one", "command": "echo batch-one"},
        {"label": "two", "command": "echo out; echo why >&2; exit 4"},
        {"label": "none", "command": "true"}],
        "queries": ["batch-one", "nowhere-at-all"]}),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("one: exit 0 · 10 bytes, 1 line · r:"), "{text}");
    assert!(lines[1].starts_with("two: exit 4 · "), "{text}");
    assert_eq!(lines[2..4], ["[stderr]", "why"], "{text}");
    assert_eq!(lines[4], "none: exit 0 · no output");
    assert!(
        text.contains("query: batch-one\n[r:") && text.contains(" (batch:1:one:L1-1)\nbatch-one"),
        "{text}"
    );
    assert!(text.contains("query: nowhere-at-all\nno match in 3 outputs"), "{text}");
}

/// Queries take the place of digests; how a test run went must not need a second call.
#[test]
fn a_line_ends_with_what_the_run_said_of_itself() {
    let w = Workspace::new();
    let run = "for i in $(seq 300); do echo line $i; done; echo '3 failed, 2 passed in 0.12s'";
    let commands =
        json!([{"label": "tests", "command": run}, {"label": "none", "command": "echo 3"}]);
    let text = w.run("batch", json!({"commands": commands, "queries": ["line 77"]}));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with(" · 3 failed, 2 passed in 0.12s"), "{text}");
    assert!(!lines[1].contains("failed"), "{text}");
    // Without queries the digest says it, once.
    let text = w.run("batch", json!({"commands": commands}));
    assert_eq!(text.matches("3 failed, 2 passed").count(), 1, "{text}");
}

/// F-021: exactly as written.
#[test]
fn commands_run_exactly_as_written() {
    let w = Workspace::new();
    let text = w.run("batch", json!({"commands": [{"label": "hd", "command": "cat <<'EOT'\nheredoc-works $HOME `x`\nEOT"}, "for i in 1 2; do (echo n$i); done # end"]}));
    let hd = text.lines().find(|line| line.starts_with("hd: ")).unwrap();
    assert_eq!(w.read_all(&reference(hd), 8_192), "heredoc-works $HOME `x`\n");
    assert!(text.contains("2: exit 0 · 6 bytes, 2 lines"), "{text}");
}

/// F-034.
#[test]
fn equal_labels_and_outputs_stay_apart() {
    let w = Workspace::new();
    let long = format!("{}\n[r:1]", "y".repeat(5_000));
    let text = w.run(
        "batch",
        json!({"commands": [
        {"label": "t", "command": "echo same"}, {"label": "t", "command": "echo same"},
        {"label": "t", "command": "echo other; exit 4"}, {"label": "", "command": "echo nolabel"},
        {"label": long, "command": "echo long"}], "queries": ["nolabel"]}),
    );
    let lines: Vec<&str> = text.lines().take(5).collect();
    for (line, (start, output)) in lines.iter().zip([
        ("t: exit 0", "same\n"),
        ("t#2: exit 0", "same\n"),
        ("t#3: exit 4", "other\n"),
        ("4: exit 0", "nolabel\n"),
        ("yyy", "long\n"),
    ]) {
        assert!(line.starts_with(start) && line.len() <= 200, "{line}");
        assert_eq!(w.read_all(&reference(&line[line.rfind("r:").unwrap()..]), 8_192), output);
    }
}

#[test]
fn independent_commands_run_side_by_side() {
    let w = Workspace::new();
    // Each waits for the other's file: in order, the first would never end.
    let wait = |mine: &str, other: &str| {
        format!(
            "touch {mine}; for i in $(seq 500); do [ -e {other} ] && echo met && exit 0; sleep 0.01; done; exit 9"
        )
    };
    let text =
        w.run("batch", json!({"commands": [wait("a", "b"), wait("b", "a")], "concurrency": 2}));
    assert_eq!(text.matches("exit 0").count(), 2, "{text}");
}

#[test]
fn past_the_deadline_every_command_is_accounted_for() {
    let w = Workspace::new();
    let text = w.run("batch", json!({"commands": ["echo done", "echo partial; sleep 60", "echo never"], "timeout_ms": 1500}));
    assert!(text.contains("1: exit 0 · 5 bytes"), "{text}");
    assert!(text.contains("2: timed out after 1500 ms · 8 bytes"), "{text}");
    assert!(text.contains("3: not started"), "{text}");
}

#[test]
fn two_hundred_commands_stay_inside_the_budget_and_none_is_lost() {
    let w = Workspace::new();
    let commands: Vec<_> = (0..200).map(|i| json!({"label": format!("command-number-{i}"), "command": format!("echo out-{i}; exit $(({i} % 50 == 7))")})).collect();
    for max_bytes in [256, 2_000, 6_000] {
        let text = w.ok(
            "batch",
            json!({"commands": commands, "concurrency": 8, "max_bytes": max_bytes, "queries": ["out-150"]}),
        );
        assert!(text.len() <= max_bytes, "{} > {max_bytes}", text.len());
        assert!(text.contains("[200 commands, 4 failed · all lines as batch:"), "{text}");
        let list = w.read_all(&reference(&text), 8_192);
        assert_eq!(list.lines().count(), 200);
        if max_bytes > 256 {
            assert!(text.contains("command-number-157: exit 1"), "failures first: {text}");
        }
    }
}

#[test]
fn without_queries_each_output_has_a_digest() {
    let w = Workspace::new();
    let text = w.run("batch", json!({"commands": [{"label": "a", "command": "echo short-output"}, {"label": "b", "command": "seq 1 20000"}]}));
    assert!(text.contains("== a\nshort-output\n== b\n1\n2\n"), "{text}");
    assert!(text.ends_with("\n20000"), "{text}");
}

#[test]
fn a_wrong_batch_runs_nothing() {
    let w = Workspace::new();
    for arguments in [
        json!({"commands": "touch ran"}),
        json!({"commands": ["touch ran", {"label": "x"}]}),
        json!({"commands": ["touch ran"], "concurrency": 0}),
        json!({"commands": ["touch ran"], "concurrency": 1000}),
        json!({"commands": ["touch ran"], "max_bytes": 12289}),
        json!({"commands": ["touch ran"], "query_scope": "all"}),
        json!({"commands": ["touch ran", " "]}),
    ] {
        w.error("batch", arguments);
    }
    assert!(!w.exists("ran"));
}

#[test]
fn what_was_shown_is_not_shown_again_as_a_digest() {
    let w = Workspace::new();
    let fail = "echo only-this >&2; exit 3";
    let text = w.run("batch", json!({"commands": [fail, fail, "echo same", "echo same"]}));
    assert_eq!(text.matches("only-this").count(), 2, "below each failing command: {text}");
    assert_eq!(text.matches("\nsame").count(), 1, "equal outputs once: {text}");
    assert_eq!(text.matches("\n== ").count(), 1, "{text}");
    let text = w.run("batch", json!({"commands": ["echo out; echo why >&2; exit 3"]}));
    assert!(text.contains("== 1\nout\n"), "the tail was not all of it: {text}");
}
