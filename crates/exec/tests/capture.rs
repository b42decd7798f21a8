//! Output of any size: both pipes together, the cap, and a disk that refuses.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use std::time::{Duration, Instant};

use common::{Bench, bytes, helper, text, wait_until};
use quietcontext_exec::{Cancel, Exit, MEMORY_LIMIT_BYTES};

#[test]
fn more_than_a_pipe_holds_on_either_stream_does_not_block() {
    let bench = Bench::new();
    let run = bench.run(
        "python",
        "import sys\nsys.stderr.write('e' * 1048576); sys.stderr.flush(); print('done')\n\
         sys.stdout.write('o' * 3000000)",
    );
    assert_eq!(run.exit, Exit::Code(0));
    assert!(bytes(&run.stderr) == vec![b'e'; 1_048_576], "{} bytes", run.stderr.len());
    let out = text(&run.stdout);
    assert_eq!(out.len(), 3_000_005);
    assert!(out.starts_with("done\noo"));
}

#[test]
fn small_output_is_in_memory_and_larger_is_not() {
    let bench = Bench::new();
    let small = bench.shell(&format!("head -c {MEMORY_LIMIT_BYTES} /dev/zero"));
    assert_eq!(small.stdout.bytes().map(<[u8]>::len), Some(MEMORY_LIMIT_BYTES));
    let large = bench.shell(&format!("head -c {} /dev/zero", MEMORY_LIMIT_BYTES + 1));
    assert_eq!(large.stdout.bytes(), None);
    assert_eq!(bytes(&large.stdout).len(), MEMORY_LIMIT_BYTES + 1);
    bench.assert_clean();
}

#[test]
fn every_byte_arrives_in_order() {
    let bench = Bench::new();
    let run = bench.shell("seq 1 500000");
    let out = text(&run.stdout);
    assert!(out.lines().enumerate().all(|(at, line)| line.parse() == Ok(at + 1)));
    assert_eq!(out.lines().count(), 500_000);
}

#[test]
fn the_cap_stops_the_program_and_keeps_exactly_so_much() {
    let bench = Bench::with(|config| config.output_cap = 1_000_000);
    let run = bench.shell("sleep 1000 & yes abcdefg");
    assert_eq!(run.exit, Exit::OutputCap);
    assert_eq!(run.stdout.len() + run.stderr.len(), 1_000_000);
    assert!(text(&run.stdout).starts_with("abcdefg\nabcdefg\n"));
    let exact = bench.shell("head -c 1000000 /dev/zero");
    assert_eq!((exact.exit, exact.stdout.len()), (Exit::Code(0), 1_000_000));
    let over = bench.shell("head -c 1000001 /dev/zero");
    assert_eq!((over.exit, over.stdout.len()), (Exit::OutputCap, 1_000_000));
    // Both streams count.
    let both = bench.shell("head -c 600000 /dev/zero; head -c 600000 /dev/zero >&2");
    assert_eq!(both.exit, Exit::OutputCap);
    assert_eq!(both.stdout.len() + both.stderr.len(), 1_000_000);
}

#[test]
fn what_the_disk_refuses_is_said_and_the_program_still_ends_by_itself() {
    const VARIABLE: &str = "EXEC_TEST_LIMIT";
    if std::env::var_os(VARIABLE).is_some() {
        let bench = Bench::new();
        let run = bench.shell(
            "ulimit -f unlimited 2>/dev/null; head -c 3000000 /dev/zero; echo e >&2; exit 4",
        );
        assert_eq!(run.exit, Exit::Code(4));
        assert_eq!(run.stdout.len(), 1_000_000);
        assert!(bytes(&run.stdout) == vec![0; 1_000_000]);
        assert_eq!(text(&run.stderr), "e\n");
        let lost = run.io_lost.unwrap();
        assert_eq!(lost, "stdout not kept from byte 1000000 on: File too large (os error 27)");
        // A program that does not fit is an error, not the end of the server.
        let big = format!("true # {}", "x".repeat(1_000_001));
        let error = bench.try_run("shell", &big).unwrap_err();
        assert!(error.to_string().contains("File too large"), "{error}");
        return;
    }
    // Set in a process of its own: the limit is the whole process's.
    let name = "what_the_disk_refuses_is_said_and_the_program_still_ends_by_itself";
    let test = helper(name, VARIABLE, "1");
    let mut command = std::process::Command::new("prlimit");
    command.arg("--fsize=1000000").arg(test.get_program()).args(test.get_args()).env(VARIABLE, "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn output_goes_on_when_the_scratch_directory_is_removed_meanwhile() {
    let bench = Bench::new();
    let request = bench.request(
        "shell",
        "head -c 100000 /dev/zero; touch first; until [ -e second ]; do sleep 0.01; done; \
         head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2",
    );
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| bench.executor.run(&request, &Cancel::new()).unwrap());
        wait_until("the first part", || bench.root.join("first").exists());
        std::fs::remove_dir_all(bench.scratch()).unwrap();
        std::fs::write(bench.root.join("second"), "").unwrap();
        let run = thread.join().unwrap();
        assert_eq!((run.exit, run.io_lost), (Exit::Code(0), None));
        assert_eq!((run.stdout.len(), run.stderr.len()), (200_000, 100_000));
    });
}

/// Peak memory of this process in KiB, and a way to start counting anew.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn memory_stays_flat_and_a_hundred_megabytes_are_quick() {
    let bench = Bench::new();
    bench.shell("head -c 1000000 /dev/zero");
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak_kib();
    let started = Instant::now();
    let run = bench.shell("head -c 100000000 /dev/zero");
    let took = started.elapsed();
    assert_eq!((run.exit, run.stdout.len()), (Exit::Code(0), 100_000_000));
    // Threads that ended meanwhile may have given more back than the run took.
    let more = peak_kib().saturating_sub(before);
    assert!(more < 4 * 1024, "{more} KiB more");
    assert!(took < Duration::from_secs(10), "{took:?}");
}
