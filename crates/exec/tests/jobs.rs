//! Background jobs: they grow, can be read, stopped, and end with everything they started.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use std::time::{Duration, Instant};

use common::{Bench, PATIENCE, bytes, is_alive, numbers_are_a_boxs_own, pids, wait_until};
use quietcontext_exec::{ExecError, Exit, Job};

fn output(job: &Job) -> String {
    String::from_utf8(bytes(&job.output())).unwrap()
}

#[test]
fn a_job_grows_and_is_readable_after_its_end() {
    let bench = Bench::new();
    let job = bench
        .executor
        .start(bench.request(
            "python",
            "import os, sys, time\n\
             for i in range(40):\n    print('tick', i, flush=True)\n    \
             if i == 20:\n        while not os.path.exists('go'): time.sleep(0.01)\n\
             print('BGDONE', file=sys.stderr, flush=True)",
        ))
        .unwrap();
    wait_until("half of the ticks", || output(&job).contains("tick 20\n"));
    assert_eq!((job.exit(), job.wait(Duration::ZERO)), (None, false));
    let mut piece = [0; 6];
    assert_eq!(job.read_at(0, &mut piece).unwrap(), 6);
    assert_eq!(&piece, b"tick 0");
    assert_eq!(job.read_at(job.output_len(), &mut piece).unwrap(), 0);
    std::fs::write(bench.root.join("go"), "").unwrap();
    assert!(job.wait(PATIENCE));
    assert_eq!(job.exit(), Some(Exit::Code(0)));
    let all = output(&job);
    assert_eq!(all.lines().count(), 41);
    assert!(all.ends_with("BGDONE\n"));
    assert_eq!(job.output_len(), all.len() as u64);
    let duration = job.duration();
    assert!(duration > Duration::ZERO);
    assert_eq!(job.duration(), duration);
    bench.assert_clean();
}

/// Descriptors of this process that lead to an event counter, as each flag has one.
fn event_counters() -> usize {
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.to_string_lossy().contains("eventfd"))
        .count()
}

#[test]
fn a_job_that_has_ended_holds_no_descriptor() {
    let bench = Bench::new();
    let before = event_counters();
    let running = bench.executor.start(bench.request("shell", "sleep 1000")).unwrap();
    assert!(event_counters() > before, "a running job has its flag");
    let jobs: Vec<_> = (0..20)
        .map(|_| {
            let job = bench.executor.start(bench.request("shell", "true")).unwrap();
            assert!(job.wait(PATIENCE));
            job
        })
        .collect();
    // Other tests may run in this process, each with a job or two.
    wait_until("the flags are closed", || event_counters() < before + 10);
    jobs.last().unwrap().stop();
    running.stop();
    assert_eq!(running.exit(), Some(Exit::Cancelled));
}

#[test]
fn stop_returns_when_all_of_it_is_gone() {
    if numbers_are_a_boxs_own() {
        return;
    }
    let bench = Bench::new();
    let code = "sleep 1000 & echo $! > pids; setsid sleep 1000 & echo $$ >> pids; echo up; wait";
    let job = bench.executor.start(bench.request("shell", code)).unwrap();
    let pids = pids(&bench.root.join("pids"), 2);
    let started = Instant::now();
    job.stop();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    assert_eq!(job.exit(), Some(Exit::Cancelled));
    assert_eq!(output(&job), "up\n");
    job.stop();
}

#[test]
fn dropping_a_job_stops_it() {
    if numbers_are_a_boxs_own() {
        return;
    }
    let bench = Bench::new();
    let job = bench.executor.start(bench.request("shell", "echo $$ > pids; sleep 1000")).unwrap();
    let pids = pids(&bench.root.join("pids"), 1);
    drop(job);
    wait_until("the end", || !is_alive(pids[0]));
}

#[test]
fn shutdown_ends_jobs() {
    let bench = Bench::new();
    let job = bench.executor.start(bench.request("shell", "echo up; sleep 1000")).unwrap();
    wait_until("output", || job.output_len() > 0);
    bench.executor.shutdown();
    assert!(job.wait(Duration::from_secs(2)));
    assert_eq!(job.exit(), Some(Exit::Cancelled));
}

#[test]
fn the_cap_ends_a_job() {
    let bench = Bench::with(|config| config.output_cap = 100_000);
    let job = bench.executor.start(bench.request("shell", "yes")).unwrap();
    assert!(job.wait(PATIENCE));
    assert_eq!((job.exit(), job.output_len()), (Some(Exit::OutputCap), 100_000));
}

#[test]
fn what_can_be_refused_is_refused_at_once() {
    let bench = Bench::new();
    let mut request = bench.request("shell", "true");
    request.cwd = bench.root.join("none");
    assert!(matches!(bench.executor.start(request), Err(ExecError::CwdMissing)));
}

#[test]
fn a_job_says_how_many_it_left_behind() {
    let bench = Bench::new();
    let job = bench.executor.start(bench.request("shell", "sleep 1000 & exit 5")).unwrap();
    assert!(job.wait(PATIENCE));
    assert_eq!((job.exit(), job.left_behind()), (Some(Exit::Code(5)), 1));
    assert_eq!(job.io_lost(), None);
}
