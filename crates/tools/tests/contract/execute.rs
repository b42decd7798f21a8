//! What a run answers, and that nothing it printed is lost.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{UNCONFINED, Workspace, eventually, reference};

fn shell(code: &str) -> serde_json::Value {
    json!({"language": "shell", "code": code})
}

#[test]
fn output_that_fits_comes_back_as_it_is() {
    let w = Workspace::new();
    assert_eq!(w.ok("execute", shell("echo hi")), format!("{UNCONFINED}hi\n"));
    assert_eq!(w.run("execute", shell("printf 'a\\n\\n b'")), "a\n\n b");
    assert_eq!(w.run("execute", shell("true")), "[no output]");
    assert_eq!(w.run("execute", shell("pwd")), format!("{}\n", w.root().display()));
}

/// F-007.
#[test]
fn standard_error_and_exit_code_are_always_said() {
    let w = Workspace::new();
    let text = w.run("execute", shell("ls ./no-such-dir-42"));
    assert!(text.starts_with("[stderr]\n") && text.contains("no-such-dir-42"), "{text}");
    assert!(text.ends_with("\n[exit 2]"), "{text}");
    assert_eq!(w.run("execute", shell("echo out; echo err >&2")), "out\n[stderr]\nerr\n");
    assert_eq!(w.run("execute", shell("printf x; exit 3")), "x\n[exit 3]");
    assert_eq!(w.run("execute", shell("kill -KILL $$")), "[no output]\n[signal SIGKILL]");
}

/// F-017.
#[test]
fn what_was_printed_before_the_deadline_is_kept() {
    let w = Workspace::new();
    let text = w.run(
        "execute",
        json!({"language": "python", "timeout_ms": 3000,
               "code": "import time; print('partial-progress-1', flush=True); time.sleep(30)"}),
    );
    assert_eq!(text, "partial-progress-1\n[timed out after 3000 ms]");
}

/// F-001, and the contract line "oversized output stays searchable and joins to the exact bytes".
#[test]
fn oversized_output_stays_searchable_and_joins_to_the_exact_bytes() {
    let w = Workspace::new();
    let code = "for i in $(seq 1 5000); do if [ $i -eq 3071 ]; then echo 'core/x.go:88: NEEDLE_7f3a used here'; else echo \"pkg/f$i.go:12: filler line $i\"; fi; done";
    let text = w.run("execute", shell(code));
    assert!(
        text.starts_with("[indexed ") && text.contains(" 5,000 lines as execute:1 · r:"),
        "{text}"
    );
    assert!(text.len() + UNCONFINED.len() <= 1_500, "{}", text.len());
    let found = w.ok("search", json!({"queries": ["NEEDLE_7f3a"], "preview": true}));
    assert!(found.contains("core/x.go:88: NEEDLE_7f3a used here"), "{found}");
    let expected: String = (1..=5_000)
        .map(|i| match i {
            3_071 => "core/x.go:88: NEEDLE_7f3a used here\n".to_owned(),
            i => format!("pkg/f{i}.go:12: filler line {i}\n"),
        })
        .collect();
    for max_bytes in [256, 1_000, 8_192] {
        assert_eq!(w.read_all(&reference(&text), max_bytes), expected);
    }
}

/// F-004.
#[test]
fn a_small_budget_never_cuts_the_handle_away() {
    let w = Workspace::new();
    for max_bytes in [256, 300, 1_000, 8_192] {
        let text = w.ok(
            "execute",
            json!({"language": "shell", "code": "seq 1 200000", "max_bytes": max_bytes}),
        );
        assert!(text.len() <= max_bytes, "{} > {max_bytes}", text.len());
        assert!(text.contains("[indexed 1,288,895 bytes, 200,000 lines as execute:"), "{text}");
        reference(&text);
    }
    for wrong in [json!(64), json!(0), json!(-5), json!(10_000_000_000_u64), json!("lots")] {
        let error = w.error(
            "execute",
            json!({"language": "shell", "code": "touch ran", "max_bytes": wrong}),
        );
        assert!(
            error.starts_with("error: max_bytes must be an integer from 256 to 8192"),
            "{error}"
        );
    }
    assert!(!w.exists("ran"), "validated before anything runs");
}

/// F-015.
#[test]
fn both_streams_are_drained_together() {
    let w = Workspace::new();
    let text = w.run(
        "execute",
        json!({"language": "python", "code": "import sys\nsys.stderr.write('e'*1048576); sys.stderr.flush(); print('done')"}),
    );
    assert!(text.contains("done") && text.contains("exit 0"), "{text}");
    let whole = w.read_all(&reference(&text), 8_192);
    assert_eq!(whole, format!("done\n[stderr]\n{}", "e".repeat(1_048_576)));
}

#[test]
fn a_second_big_output_does_not_replace_the_first() {
    let w = Workspace::new();
    let first = w.run("execute", shell("for i in $(seq 1 2000); do echo alpha-$i; done"));
    let second = w.run("execute", shell("for i in $(seq 1 2000); do echo beta-$i; done"));
    assert!(first.contains("execute:1") && second.contains("execute:2"));
    assert!(w.read_all(&reference(&first), 8_192).starts_with("alpha-1\n"));
    assert!(w.read_all(&reference(&second), 8_192).starts_with("beta-1\n"));
}

/// Words that only happen to stand there are shortly shown, and the digest as well.
#[test]
fn an_intent_without_a_good_match_leaves_the_digest() {
    let w = Workspace::new();
    let code = "for i in $(seq 400); do echo step $i is done; done; echo 'error: disk on fire'; \
                for i in $(seq 400); do echo rest $i; done";
    let intent = "which authentication step issues refresh tokens for mobile clients";
    let text = w.run("execute", json!({"language": "shell", "code": code, "intent": intent}));
    assert!(text.contains("\nno good match for the intent\n"), "{text}");
    assert!(text.contains("error: disk on fire"), "{text}");
}

#[test]
fn an_intent_shows_the_best_matches_instead_of_the_digest() {
    let w = Workspace::new();
    let code = "for i in $(seq 1 3000); do echo filler $i; done; echo the quick zebra jumped; for i in $(seq 1 3000); do echo filler $i; done";
    let text = w.run("execute", json!({"language": "shell", "code": code, "intent": "zebra"}));
    assert!(text.contains("the quick zebra jumped") && text.contains("\n[r:"), "{text}");
    assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("[r:")), "{text}");
}

/// F-078: all real escapes go, look-alikes stay, and the bytes as they came are kept.
#[test]
fn terminal_escapes_are_removed_and_the_raw_bytes_kept() {
    let w = Workspace::new();
    let code = r"printf '\033]8;id=1;https://e.x\033\\text\033]8;;\033\\ \033[31mred\033[0m a\010A [31m not an escape\n'";
    assert_eq!(w.run("execute", shell(code)), "text red A [31m not an escape\n");
    let raw = w.run(
        "exec-file",
        json!({"path": "execute:1", "language": "python", "code": "import sys; print(sys.stdin.buffer.read().count(b'\\x1b'))"}),
    );
    assert_eq!(raw, "6\n");
}

/// F-079.
#[test]
fn bytes_that_are_no_text_are_said_and_kept() {
    let w = Workspace::new();
    let text = w.run(
        "execute",
        shell(r"printf 'ok \377\376\200 end\n'; printf 'a\000b\n'; head -c 3000 /dev/urandom"),
    );
    assert!(
        text.contains("ok ") && text.contains(" end") && text.contains("[indexed 3,015 bytes"),
        "{text}"
    );
    assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
    let size = w.run(
        "exec-file",
        json!({"path": reference(&text), "language": "python", "code": "import sys; b=sys.stdin.buffer.read(); print(len(b), b[:8])"}),
    );
    assert_eq!(size, "3015 b'ok \\xff\\xfe\\x80 e'\n");
}

/// F-024.
#[test]
fn awkward_programs_run_or_are_refused_by_name() {
    let w = Workspace::new();
    let list = (0..20_000).map(|i| format!("{i},")).collect::<String>();
    let long = format!("x=[{list}]\nprint(sum(x))\n#{}", "p".repeat(200_000));
    let text = w.run("execute", json!({"language": "python", "code": long}));
    assert!(text.starts_with("199990000\n"), "{text}");
    for (code, why) in [("print(1)\0", "code must not hold a NUL"), (" \n ", "code is empty")] {
        let error = w.error("execute", json!({"language": "python", "code": code}));
        assert!(error.contains(why), "{error}");
    }
    let text =
        w.run("execute", json!({"language": "python", "code": "#!/usr/bin/env node\nprint('py')"}));
    assert_eq!(text, "py\n");
    assert_eq!(w.run("execute", shell("rm -f \"$0\"; echo still")), "still\n");
}

#[test]
fn wrong_arguments_are_one_line_and_run_nothing() {
    let w = Workspace::new();
    for (arguments, says) in [
        (json!({}), "code is missing"),
        (json!({"code": "touch ran"}), "language is missing"),
        (json!({"language": "cobol", "code": "touch ran"}), "is not one of shell, python"),
        (json!({"language": "shell", "code": "touch ran", "foo": 1}), "unknown argument \"foo\""),
        (json!({"language": "shell", "code": "touch ran", "cwd": "no/where"}), "is not there"),
        (json!({"language": "shell", "code": "touch ran", "timeout_ms": 0}), "timeout_ms must be"),
        (json!({"language": "shell", "code": 7}), "code must be a string"),
        (json!({"stop": "execute:99"}), "is no background job"),
        (json!({"stop": "execute:1", "code": "touch ran"}), "stands alone"),
    ] {
        let error = w.error("execute", arguments.clone());
        assert!(error.contains(says), "{arguments}: {error}");
    }
    assert!(!w.exists("ran"));
}

#[test]
fn an_unusable_store_costs_no_output_and_is_said() {
    let w = Workspace::without_store();
    assert_eq!(w.run("execute", shell("echo hi")), "hi\n");
    let text = w.run("execute", shell("seq 1 200000"));
    assert!(text.starts_with("[not stored: "), "{text}");
    assert!(text.contains("\n1\n2\n") && text.ends_with("\n199999\n200000\n"), "{text}");
    assert!(text.contains(" bytes not shown …"), "{text}");
    let batch = w.run("batch", json!({"commands": ["echo out"], "queries": ["out"]}));
    assert!(batch.starts_with("1: exit 0 · [not stored: "), "{batch}");
    assert!(batch.contains("could not search"), "no match would be a lie: {batch}");
    assert!(w.error("search", json!({"queries": ["x"]})).contains("could not search"));
    assert!(w.error("index", json!({"content": "x"})).contains("not indexed"));
    let job = json!({"language": "shell", "code": "touch ran", "background": true});
    assert!(w.error("execute", job).contains("the job was not started"));
    assert!(!w.exists("ran"));
}

/// F-020.
#[test]
fn a_background_job_is_readable_while_it_runs_and_after_it_ended() {
    let w = Workspace::new();
    let text = w.run(
        "execute",
        json!({"language": "python", "background": true, "timeout_ms": 200,
               "code": "import time,sys\nfor i in range(20):\n print('tick',i,flush=True); time.sleep(0.05)\nprint('BGDONE',flush=True)"}),
    );
    assert!(text.starts_with("[execute:1 · r:") && text.contains("- · running]"), "{text}");
    let open = reference(&text);
    assert!(open.ends_with('-'), "{open}");
    let mut last = String::new();
    eventually("the end of the job", || {
        last = w.ok("search", json!({"refs": [open]}));
        last.ends_with("[exit 0]")
    });
    for i in 0..20 {
        assert!(last.contains(&format!("tick {i}\n")), "{last}");
    }
    assert!(last.contains("BGDONE\n"), "{last}");
}

#[test]
fn a_background_job_has_a_reference_before_it_has_output_and_is_stopped_by_its_label() {
    let w = Workspace::new();
    let code = "until [ -e go ]; do sleep 0.02; done; echo up; sleep 600";
    let text = w.run(
        "execute",
        json!({"language": "shell", "background": true, "timeout_ms": 1, "code": code}),
    );
    let open = reference(&text);
    assert_eq!(text, format!("[execute:1 · {open} · running]"));
    assert_eq!(w.ok("search", json!({"refs": [open]})), "[running]");
    w.write("go", "");
    eventually("output", || w.ok("search", json!({"refs": [open]})).contains("up\n"));
    let text = w.run("execute", json!({"stop": "execute:1"}));
    assert!(text.contains("stopped]") && text.contains("up\n"), "{text}");
    let end = w.ok("search", json!({"refs": [open]}));
    assert!(end.ends_with("\n[stopped]"), "{end}");
}

#[test]
fn the_output_of_a_cancelled_run_stays_searchable() {
    let w = Workspace::new();
    let cancel = CancellationToken::new();
    let fired = cancel.clone();
    let marker = w.root().join("started");
    std::thread::spawn(move || {
        eventually("the run", || marker.exists());
        fired.cancel();
    });
    let answer =
        w.call_until("execute", shell("echo QCANCELLED; touch started; sleep 600"), &cancel);
    assert!(answer.is_error, "{}", answer.text);
    let found = w.ok("search", json!({"queries": ["QCANCELLED"]}));
    assert!(found.contains("(execute:1:L1-1)"), "{found}");
}

#[test]
fn unchanged_output_of_a_second_run_is_one_line_that_says_so() {
    let w = Workspace::new();
    let first = w.run("execute", shell("seq 1 5000"));
    let second = w.run("execute", shell("seq 1 5000"));
    let range = reference(&first);
    assert_eq!(
        second,
        format!(
            "[indexed 23,893 bytes, 5,000 lines as execute:2 · {range} · exit 0 · same output as execute:1]"
        )
    );
    let asked =
        w.run("execute", json!({"language": "shell", "code": "seq 1 5000", "max_bytes": 1_500}));
    assert!(asked.contains("\n1\n2\n"), "who asks for a size wants to see it: {asked}");
    let w = w.restarted();
    let later = w.run("execute", shell("seq 1 5000"));
    assert!(later.contains("\n1\n2\n"), "another session has not seen it: {later}");
}

/// The digest, on what real tools print among thousands of other lines.
#[test]
fn a_digest_shows_what_failed_and_the_verdict() {
    let w = Workspace::new();
    w.write(
        "test_sums.py",
        "import unittest\nclass T(unittest.TestCase):\n  def test_good(self): self.assertEqual(1, 1)\n  def test_bad(self): self.assertEqual(1 + 1, 3)\n",
    );
    w.write(
        "sums.test.js",
        "const test = require('node:test'); const assert = require('node:assert');\ntest('adds', () => assert.strictEqual(1 + 1, 3)); test('fine', () => {});\n",
    );
    w.write("broken.c", "int main(void) {\n  return undefined_name;\n}\n");
    for (command, told) in [
        (
            "python3 -m unittest",
            &["FAIL: test_bad", "AssertionError: 2 != 3", "FAILED (failures=1)"][..],
        ),
        ("node --test --test-reporter=tap", &["not ok 1 - adds", "# fail 1"][..]),
        ("cc broken.c", &["broken.c:2:10: error: ", "undefined_name"][..]),
    ] {
        let code = format!(
            "seq -f 'noise line %g' 1 4000; {command}; code=$?; seq -f 'noise line %g' 4001 8000; exit $code"
        );
        let text = w.run("execute", shell(&code));
        for words in told {
            assert!(text.contains(words), "{command}: {words} is not in {text}");
        }
        assert!(!text.contains("exit 0"), "{text}");
        let small = w.run("execute", json!({"language": "shell", "code": code, "max_bytes": 300}));
        assert!(told.iter().any(|words| small.contains(words)), "useful when small: {small}");
    }
}

#[test]
fn a_run_of_more_than_a_second_says_how_long_it_took() {
    let w = Workspace::new();
    let text = w.ok("execute", shell("sleep 1.1; exit 3"));
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert!(lines[1].starts_with("[1.") && lines[1].ends_with(" s]"), "{text}");
    assert_eq!((lines[0], lines[2]), ("[no output]", "[exit 3]"), "{text}");
    let text =
        w.ok("execute", json!({"language": "shell", "code": "sleep 9", "timeout_ms": 1_100}));
    assert!(text.ends_with("[no output]\n[timed out after 1100 ms]"), "said once: {text}");
}

/// Files without a name that this process holds open, in bytes.
fn spooled_bytes() -> u64 {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let gone = descriptors.filter(|entry| {
        std::fs::read_link(entry.path())
            .is_ok_and(|path| path.to_string_lossy().ends_with(" (deleted)"))
    });
    gone.filter_map(|entry| std::fs::metadata(entry.path()).ok()).map(|meta| meta.len()).sum()
}

#[test]
fn an_ended_job_leaves_no_spool_behind_and_is_still_answered() {
    let w = Workspace::new();
    let before = spooled_bytes();
    let code = "seq 1 300000; echo 'EOFError: EOF when reading a line' >&2; exit 3";
    let text = w.run(
        "execute",
        json!({"language": "shell", "background": true, "timeout_ms": 20_000, "code": code}),
    );
    assert!(text.contains(" · exit 3]") && text.contains("299999\n300000\n"), "{text}");
    assert!(text.contains("put the input into the program]"), "{text}");
    eventually("its space on the disk back", || spooled_bytes() <= before);
    let again = w.run("execute", json!({"stop": "execute:1"}));
    assert_eq!(again, text);
}
