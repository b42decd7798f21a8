//! One run: output, exit, input, working directory, environment, staging.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Bench, assert_output, confined, text, wait_until};
use quietcontext_exec::{Cancel, ExecError, Exit, Program, Streams};

#[test]
fn both_streams_and_the_exit_code_are_kept_apart() {
    let bench = Bench::new();
    let run = bench.shell("echo out; echo err >&2; exit 3");
    assert_eq!(text(&run.stdout), "out\n");
    assert_eq!(text(&run.stderr), "err\n");
    assert_eq!(run.exit, Exit::Code(3));
    assert_eq!((run.left_behind, run.io_lost), (0, None));
    bench.assert_clean();
}

#[test]
fn merged_streams_keep_their_order() {
    let bench = Bench::new();
    let mut request = bench.request("shell", "echo 1; echo 2 >&2; echo 3; echo 4 >&2");
    request.streams = Streams::Merged;
    let run = bench.executor.run(&request, &Cancel::new()).unwrap();
    assert_output(&run, "1\n2\n3\n4\n");
    assert!(run.stderr.is_empty());
}

#[test]
fn stderr_is_there_when_stdout_is_empty() {
    let run = Bench::new().shell("ls ./no-such-dir-42");
    assert_eq!(run.exit, Exit::Code(2));
    assert!(run.stdout.is_empty());
    assert!(text(&run.stderr).contains("no-such-dir-42"));
}

#[test]
fn a_signal_is_named() {
    let run = Bench::new().shell("kill -SEGV $$");
    assert!(matches!(run.exit, Exit::Signal { number: 11, name: "SIGSEGV", .. }), "{:?}", run.exit);
    let run = Bench::new().shell("kill -9 $$");
    assert_eq!(run.exit, Exit::Signal { number: 9, name: "SIGKILL", core: false });
}

#[test]
fn heredocs_comments_and_odd_ends_run_as_written() {
    let bench = Bench::new();
    for (command, expected) in [
        ("cat <<'EOT'\nheredoc-works $HOME `x`\nEOT", "heredoc-works $HOME `x`\n"),
        ("echo a # comment at the end", "a\n"),
        ("f() { echo $1; }\n(f b); for i in 1 2; do f $i; done", "b\n1\n2\n"),
        ("printf '%s' \"a'b\"", "a'b"),
    ] {
        let mut request = bench.request("shell", "");
        request.program = Program::Command(command.into());
        let run = bench.executor.run(&request, &Cancel::new()).unwrap();
        assert_output(&run, expected);
        assert!(run.stderr.is_empty());
    }
}

#[test]
fn large_and_awkward_programs_run() {
    let bench = Bench::new();
    let numbers: Vec<String> = (0..60_000).map(|n| n.to_string()).collect();
    let code = format!("numbers = [{}]\nprint(sum(numbers))\n", numbers.join(", "));
    assert!(code.len() > 300_000);
    assert_output(&bench.run("python", &code), "1799970000\n");
    let words = vec!["word"; 40_000].join(" ");
    let run = bench.shell(&format!("f() {{ echo $#; }}; f {words}"));
    assert_output(&run, "40000\n");
    assert_output(&bench.shell("rm -- \"$0\"; echo gone $(ls -- \"$0\" 2>&1 | wc -l)"), "gone 1\n");
    assert_output(&bench.run("python", "#!/usr/bin/env node\nprint(1)"), "1\n");
    bench.assert_clean();
}

#[test]
fn the_working_directory_is_the_given_one_and_must_be_there() {
    let bench = Bench::new();
    let mut request = bench.request("shell", "pwd; echo $PWD");
    request.cwd = bench.root.join("sub");
    let error = bench.executor.run(&request, &Cancel::new()).unwrap_err();
    assert!(matches!(error, ExecError::CwdMissing));
    fs::create_dir(&request.cwd).unwrap();
    let run = bench.executor.run(&request, &Cancel::new()).unwrap();
    let cwd = request.cwd.canonicalize().unwrap();
    assert_output(&run, &format!("{0}\n{0}\n", cwd.display()));
}

#[test]
fn the_program_is_private_and_removed() {
    let bench = Bench::new();
    let run =
        bench.shell("stat -c '%a' \"$0\" \"${0%/*}\" \"$TMPDIR\"; touch \"$TMPDIR/x\"; echo $0");
    let out = text(&run.stdout);
    // The temporary directory of a box is `/tmp` as everywhere, and nobody else's.
    let temporary = if confined() { "1777" } else { "700" };
    assert!(out.starts_with(&format!("600\n700\n{temporary}\n")), "{out}");
    let path = out.lines().last().unwrap();
    let place = if confined() { "/run/code/".into() } else { bench.scratch() };
    assert!(Path::new(path).starts_with(place), "{path}");
    assert!(!fs::exists(path).unwrap());
    let run = bench
        .shell("mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/c && (cd $TMPDIR; chmod 0 a/b/c a/b a)");
    assert_output(&run, "");
    bench.assert_clean();
    let mode = fs::metadata(bench.scratch()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_missing_runtime_is_named_with_what_there_is() {
    let bench = Bench::with(|config| config.path = "/nonexistent".into());
    let error = bench.try_run("python", "print(1)").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no runtime for python on the path (install Python 3); available: none"
    );
    let only_shell = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/sh", only_shell.path().join("sh")).unwrap();
    let bench = Bench::with(|config| config.path = only_shell.path().into());
    let error = bench.try_run("go", "x").unwrap_err();
    assert!(error.to_string().ends_with("available: shell"), "{error}");
    assert_output(&bench.run("shell", "echo ${0##*/}; echo plain"), "program.sh\nplain\n");
}

#[test]
fn a_runtime_that_cannot_be_executed_is_an_error_that_names_it() {
    let broken = tempfile::tempdir().unwrap();
    let bash = broken.path().join("bash");
    fs::write(&bash, "\0not a program").unwrap();
    fs::set_permissions(&bash, fs::Permissions::from_mode(0o755)).unwrap();
    let bench = Bench::with(|config| config.path = broken.path().into());
    let error = bench.try_run("shell", "true").unwrap_err();
    let expected = "could not start bash: execute: Exec format error (os error 8)";
    assert_eq!(error.to_string(), expected);
    bench.assert_clean();
}

#[test]
fn leftovers_of_a_dead_server_are_swept_and_those_of_a_live_one_stay() {
    const VARIABLE: &str = "EXEC_TEST_SWEEP";
    if let Some(directory) = std::env::var_os(VARIABLE) {
        // The helper: a server that runs something for ever.
        let bench = Bench::with(|config| config.scratch = vec![directory.into()]);
        let mut request = bench.request("shell", "sleep 1000");
        request.deadline = None;
        drop(bench.executor.run(&request, &Cancel::new()));
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let names = || {
        let entries = fs::read_dir(scratch.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<std::collections::BTreeSet<String>>()
    };
    let start = |n_before: usize| {
        let mut command = common::helper(
            "leftovers_of_a_dead_server_are_swept_and_those_of_a_live_one_stay",
            VARIABLE,
            scratch.path(),
        );
        let child = command.spawn().unwrap();
        wait_until("the helper's directory", || names().len() == n_before + 2);
        child
    };
    let mut dead = start(0);
    let of_dead = names();
    let mut live = start(2);
    let of_live: std::collections::BTreeSet<_> = names().difference(&of_dead).cloned().collect();
    dead.kill().unwrap();
    dead.wait().unwrap();
    assert_eq!(names().len(), 4);
    // Again and again: for a moment a dying process may still hold the dead server's lock.
    wait_until("the sweep", || {
        let bench = Bench::with(|config| config.scratch = vec![scratch.path().into()]);
        assert_output(&bench.shell("echo hi"), "hi\n");
        drop(bench);
        names() == of_live
    });
    live.kill().unwrap();
    live.wait().unwrap();
}

#[test]
fn a_scratch_directory_that_was_cleaned_away_is_made_again() {
    let bench = Bench::new();
    assert_output(&bench.shell("echo 1"), "1\n");
    fs::remove_dir_all(bench.scratch()).unwrap();
    assert_output(&bench.shell("echo 2"), "2\n");
}

#[test]
fn the_first_usable_scratch_directory_is_taken() {
    let bench = Bench::with(|config| config.scratch.insert(0, "/proc/none".into()));
    assert_output(&bench.shell("head -c 100000 /dev/zero | tr '\\0' a | wc -c"), "100000\n");
    let bench = Bench::with(|config| config.scratch = vec!["/proc/none".into()]);
    let error = bench.try_run("shell", "true").unwrap_err();
    assert!(error.to_string().starts_with("could not stage the program: "), "{error}");
    assert!(!error.to_string().contains("/proc"), "{error}");
}

#[test]
fn runs_side_by_side_do_not_wait_for_each_other() {
    let bench = Bench::new();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let bench = &bench;
            scope.spawn(move || {
                let run = bench.shell(&format!("sleep 1; echo {n}"));
                assert_output(&run, &format!("{n}\n"));
            });
        }
    });
    assert!(started.elapsed() < Duration::from_secs(7), "{:?}", started.elapsed());
    bench.assert_clean();
}
