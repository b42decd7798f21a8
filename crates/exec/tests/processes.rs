//! Nothing outlives its run, and nothing outlives its server.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Bench, PATIENCE, helper, is_alive, pids, text, wait_until};
use quietcontext_exec::{Cancel, Exit};

/// Leaves its session, its group and its parent, ignores what can be ignored, and stays.
const ESCAPE: &str = "import os, signal, sys, time\n\
    for number in range(1, 65):\n    \
        try: signal.signal(number, signal.SIG_IGN)\n    \
        except (OSError, ValueError): pass\n\
    if os.fork() == 0:\n    \
        os.setsid()\n    \
        if os.fork() == 0:\n        \
            os.setsid()\n        \
            with open('pids', 'a') as f: f.write(f'{os.getpid()}\\n')\n        \
            time.sleep(1000)\n    \
        os._exit(0)\n\
    while not os.path.exists('pids') or not open('pids').read().endswith('\\n'): time.sleep(0.01)\n";

fn dead(path: &Path, n_wanted: usize) {
    for pid in pids(path, n_wanted) {
        wait_until("the end of a process", || !is_alive(pid));
    }
}

#[test]
fn a_helper_that_keeps_the_pipe_does_not_delay_the_answer_and_is_stopped() {
    let bench = Bench::new();
    let started = Instant::now();
    let run = bench.shell("sleep 1000 & echo $! > pids; echo started");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!(text(&run.stdout), "started\n");
    assert_eq!((run.exit, run.left_behind), (Exit::Code(0), 1));
    assert!(!is_alive(pids(&bench.root.join("pids"), 1)[0]));
}

#[test]
fn the_last_words_of_a_process_substitution_are_kept() {
    let bench = Bench::new();
    let run = bench.shell("echo hello > >(sleep 0.05; tr a-z A-Z)");
    assert_eq!(text(&run.stdout), "HELLO\n");
    assert_eq!(run.left_behind, 0);
}

#[test]
fn what_left_its_session_and_its_parent_is_stopped() {
    let bench = Bench::new();
    let run = bench.run("python", &format!("{ESCAPE}print('main ends')"));
    assert_eq!(text(&run.stdout), "main ends\n", "{}", text(&run.stderr));
    assert_eq!((run.exit, run.left_behind), (Exit::Code(0), 1));
    assert!(!is_alive(pids(&bench.root.join("pids"), 1)[0]));
}

#[test]
fn a_swarm_is_stopped() {
    let bench = Bench::new();
    let run = bench.shell(
        "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sleep 1000 & sleep 1000 & sleep 1000 & wait) & done\n\
         until [ $(pgrep -c -s 0 sleep) -ge 10 ]; do :; done; echo end",
    );
    assert_eq!(text(&run.stdout), "end\n", "{}", text(&run.stderr));
    assert!(run.left_behind >= 20, "{}", run.left_behind);
}

#[test]
fn the_deadline_stops_everything_and_keeps_what_was_printed() {
    let bench = Bench::new();
    let mut request =
        bench.request("python", &format!("{ESCAPE}print('partial', flush=True)\ntime.sleep(1000)"));
    request.deadline = Some(Instant::now() + Duration::from_secs(3));
    let started = Instant::now();
    let run = bench.executor.run(&request, &Cancel::new()).unwrap();
    assert!(started.elapsed() >= Duration::from_millis(2900));
    assert_eq!(run.exit, Exit::TimedOut);
    assert_eq!(run.left_behind, 0);
    dead(&bench.root.join("pids"), 1);
    if started.elapsed() < Duration::from_secs(5) {
        assert_eq!(text(&run.stdout), "partial\n");
    }
    bench.assert_clean();
}

#[test]
fn a_deadline_in_the_past_starts_nothing() {
    let bench = Bench::new();
    let mut request = bench.request("shell", "touch started");
    request.deadline = Some(Instant::now());
    let run = bench.executor.run(&request, &Cancel::new()).unwrap();
    assert_eq!(run.exit, Exit::TimedOut);
    assert!(!bench.root.join("started").exists());
}

#[test]
fn cancelling_stops_everything_within_two_seconds() {
    let bench = Bench::new();
    let cancel = Cancel::new();
    let request = bench.request(
        "python",
        &format!("{ESCAPE}open('pids', 'a').write(f'{{os.getpid()}}\\n')\nprint(1, flush=True)\ntime.sleep(1000)"),
    );
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| bench.executor.run(&request, &cancel).unwrap());
        let pids = pids(&bench.root.join("pids"), 2);
        let cancelled = Instant::now();
        cancel.cancel();
        cancel.cancel();
        let run = thread.join().unwrap();
        assert!(cancelled.elapsed() < Duration::from_secs(2), "{:?}", cancelled.elapsed());
        assert_eq!(run.exit, Exit::Cancelled);
        assert!(!pids.iter().any(|pid| is_alive(*pid)));
    });
}

#[test]
fn a_run_that_was_cancelled_before_starts_nothing() {
    let bench = Bench::new();
    let cancel = Cancel::new();
    cancel.cancel();
    let run = bench.executor.run(&bench.request("shell", "touch started"), &cancel).unwrap();
    assert_eq!(run.exit, Exit::Cancelled);
    assert!(!bench.root.join("started").exists());
}

#[test]
fn shutdown_stops_runs_and_refuses_new_ones() {
    let bench = Bench::new();
    let request = bench.request("shell", "echo $$ > pids; sleep 1000");
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| bench.executor.run(&request, &Cancel::new()).unwrap());
        let pids = pids(&bench.root.join("pids"), 1);
        bench.executor.shutdown();
        bench.executor.shutdown();
        assert_eq!(thread.join().unwrap().exit, Exit::Cancelled);
        assert!(!is_alive(pids[0]));
    });
    let error = bench.try_run("shell", "true").unwrap_err();
    assert_eq!(error.to_string(), "the server is shutting down");
}

#[test]
fn a_program_that_signals_its_group_reaches_itself_only() {
    let bench = Bench::new();
    let run = bench.shell("sleep 1000 & kill -TERM 0; sleep 1000");
    assert!(matches!(run.exit, Exit::Signal { name: "SIGTERM", .. }), "{:?}", run.exit);
}

#[test]
fn a_program_that_stops_or_kills_its_supervisor_is_still_ended() {
    let bench = Bench::new();
    let mut request = bench.request("shell", "kill -STOP $PPID; echo $$ > pids; sleep 1000");
    request.deadline = Some(Instant::now() + Duration::from_secs(2));
    let run = bench.executor.run(&request, &Cancel::new()).unwrap();
    assert_eq!(run.exit, Exit::TimedOut);
    dead(&bench.root.join("pids"), 1);
    let run = bench.shell("sleep 1000 & echo $! > pids2; kill -KILL $PPID; sleep 1000");
    assert!(matches!(run.exit, Exit::Signal { name: "SIGKILL", .. }), "{:?}", run.exit);
    dead(&bench.root.join("pids2"), 1);
}

#[test]
fn signals_and_descriptors_of_the_server_do_not_reach_the_program() {
    let bench = Bench::new();
    // Inherited without close-on-exec, as from a careless client.
    let inherited = std::fs::File::open("/etc/hostname").unwrap();
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    let run = bench.run(
        "python",
        "import os, signal\n\
         print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:4])\n\
         print([l for l in open('/proc/self/status') if l.startswith(('SigBlk', 'SigIgn'))])\n\
         print(os.getpgid(0) == os.getpid(), os.getsid(0) == os.getppid())\n",
    );
    let out = text(&run.stdout);
    let mut lines = out.lines();
    // The fourth is the listing's own.
    assert_eq!(lines.next(), Some("[0, 1, 2, 3]"));
    let masks = lines.next().unwrap();
    assert!(masks.contains("SigBlk:\\t0000000000000000"), "{masks}");
    // Python itself ignores SIGPIPE (13) and SIGXFSZ (25); nothing else is.
    assert!(masks.contains("SigIgn:\\t0000000001001000"), "{masks}");
    assert_eq!(lines.next(), Some("True True"));
    drop(inherited);
}

#[test]
fn sigpipe_has_its_default_effect() {
    let run = Bench::new().shell("yes | head -1; echo ${PIPESTATUS[0]}");
    assert_eq!(text(&run.stdout), "y\n141\n");
}

#[test]
fn everything_ends_with_a_server_that_is_killed() {
    const VARIABLE: &str = "EXEC_TEST_SERVER";
    if let Some(root) = std::env::var_os(VARIABLE) {
        // The helper: a server with a run and a background job.
        let bench = Bench::new();
        let place = |request: &mut quietcontext_exec::RunRequest| {
            request.cwd = (&root).into();
            request.deadline = None;
        };
        let mut job = bench.request("shell", "echo $$ >> pids2; sleep 1000 & sleep 1000");
        place(&mut job);
        let _job = bench.executor.start(job).unwrap();
        let code =
            format!("{ESCAPE}open('pids', 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(1000)");
        let mut request = bench.request("python", &code);
        place(&mut request);
        drop(bench.executor.run(&request, &Cancel::new()));
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut server = helper("everything_ends_with_a_server_that_is_killed", VARIABLE, root.path())
        .spawn()
        .unwrap();
    let run = pids(&root.path().join("pids"), 2);
    let job = pids(&root.path().join("pids2"), 1);
    assert!(run.iter().chain(&job).all(|pid| is_alive(*pid)));
    let killed = Instant::now();
    server.kill().unwrap();
    server.wait().unwrap();
    for pid in run.into_iter().chain(job) {
        wait_until("the end of a process", || !is_alive(pid));
    }
    assert!(killed.elapsed() < PATIENCE / 2);
}

#[test]
fn no_zombie_and_no_descriptor_is_left() {
    const NAME: &str = "no_zombie_and_no_descriptor_is_left";
    const VARIABLE: &str = "EXEC_TEST_LEFT";
    if std::env::var_os(VARIABLE).is_none() {
        // In a process of its own, where no other test opens anything.
        let output = helper(NAME, VARIABLE, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        return;
    }
    let bench = Bench::new();
    bench.shell("true");
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = count();
    for _ in 0..20 {
        bench.shell("sleep 1000 & head -c 200000 /dev/zero");
    }
    assert_eq!(count(), before);
    let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    assert_eq!(children, "");
}
