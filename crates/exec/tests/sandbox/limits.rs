//! Bounds: tasks, memory, files, temporary space.

use std::time::Instant;

use crate::lab::{Lab, Who, both, skip};

fn number(text: &str) -> u64 {
    text.rsplit(' ').next().unwrap().parse().unwrap()
}

both! {
    /// A fork bomb ends at the limit and leaves the server as it was.
    fn a_fork_bomb_ends_at_the_limit(lab) {
        let lab_binary = lab.at("bin/lab");
        let bomb = [lab_binary.as_str(), "try", "forks", "600"];
        let outcome = lab.run(&["--tasks", "400"], &bomb);
        let made = number(outcome.good());
        assert!((200..400).contains(&made), "{outcome:?}");
        assert!(outcome.left_behind() >= 200, "{outcome:?}");
        let roomy = lab.run(&["--tasks", "2000"], &bomb);
        assert_eq!(number(roomy.good()), 600, "the control");
        let host = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
        assert!(number(host.trim()) > 2000, "the host's own limit was touched: {host}");
        let shell = lab.run(&["--tasks", "400"], &["/bin/bash", "-c", "f() { f | f & }; f; sleep 1"]);
        assert!(!shell.report.is_empty());
        assert!(lab.shell("true").status().success());
    }

    /// One program cannot take more memory than the limit.
    fn a_memory_hog_ends_at_the_limit(lab) {
        let lab_binary = lab.at("bin/lab");
        let hog = [lab_binary.as_str(), "try", "memory", "400000000"];
        let outcome = lab.run(&["--memory", "200000000"], &hog);
        if outcome.status().success() {
            assert!(number(outcome.good()) < 200_000_000, "{outcome:?}");
        }
        let roomy = lab.run(&["--memory", "1000000000"], &hog);
        assert!(number(roomy.good()) >= 400_000_000, "the control: {roomy:?}");
    }

    /// Neither one file nor all temporary places together grow past their bounds.
    fn a_disk_filler_ends_at_the_limit(lab) {
        let size = 64 << 20;
        let file = lab.at("workspace/big");
        let fill = ["fill", file.as_str(), "67108864"];
        let answer = lab.attempt_with(&["--file", "16777216"], &fill);
        assert_eq!(answer, format!("refused {}", libc::EFBIG));
        assert!(std::fs::metadata(&file).unwrap().len() <= 16 << 20);
        assert_eq!(lab.attempt(&fill), "done", "the control");
        assert_eq!(std::fs::metadata(&file).unwrap().len(), size);
        std::fs::remove_file(&file).unwrap();
        for place in ["/tmp/big", "/var/tmp/big", "/dev/shm/big", &lab.at("home/big")] {
            let fill = ["fill", place, "67108864"];
            let answer = lab.attempt_with(&["--temporary", "33554432"], &fill);
            assert_eq!(answer, format!("refused {}", libc::ENOSPC), "{place}");
            assert_eq!(lab.attempt(&fill), "done", "the control of {place}");
        }
        let both = "head -c 20M /dev/zero > /tmp/a && head -c 20M /dev/zero > /dev/shm/b";
        let outcome = lab.run(&["--temporary", "33554432"], &["/bin/bash", "-c", both]);
        assert!(!outcome.status().success(), "one bound for all: {outcome:?}");
    }

    /// The other limits are set, and hard.
    fn limits_cannot_be_raised(lab) {
        let outcome = lab.shell("ulimit -Hc; ulimit -Hn; ulimit -n 999999; echo $?");
        let mut lines = outcome.stdout.lines();
        assert_eq!(lines.next(), Some("0"));
        assert!(lines.next().unwrap().parse::<u64>().unwrap() <= 4096);
        assert_ne!(lines.next(), Some("0"));
        let score = lab.shell("cat /proc/self/oom_score_adj");
        assert_eq!(score.good(), "500", "the server is not the first to go");
    }

    /// A busy box is ended at once when the server lets go of it.
    fn a_busy_box_ends_at_once(lab) {
        let text = "for i in $(seq 40); do (while :; do :; done) & done; echo up; wait";
        let mut server = lab.boxed(&[], &["/bin/bash", "-c", text]);
        let mut server = server.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut up = [0; 2];
        std::io::Read::read_exact(server.stdout.as_mut().unwrap(), &mut up).unwrap();
        let start = Instant::now();
        server.kill().unwrap();
        server.wait().unwrap();
        // The pipe closes when the last process of the box is gone.
        let mut rest = Vec::new();
        std::io::Read::read_to_end(server.stdout.as_mut().unwrap(), &mut rest).unwrap();
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }
}

/// Where a control group can be made, several programs together do not take more either.
#[test]
fn memory_of_the_whole_box_is_bounded() {
    let Some(lab) = Lab::new(Who::Root) else { return };
    let found = lab.command(lab.path("bin/lab")).arg("assess").arg(lab.path("workspace")).output();
    if !String::from_utf8(found.unwrap().stdout).unwrap().contains("memory limit: present") {
        return skip("no control group can be made");
    }
    // A group whose supervisor was killed: no process has this number.
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let path = own.lines().find_map(|line| line.split_once(":memory:")).map(|(_, path)| path);
    let left = path.map(|path| format!("/sys/fs/cgroup/memory{path}/quietcontext-99999999"));
    if let Some(left) = &left {
        std::fs::create_dir_all(left).unwrap();
    }
    // One in the other, so that all have theirs at the same time.
    let program = lab.at("bin/lab");
    let hogs = [program.as_str(), "try", "memory", "150000000"].repeat(4);
    let count = |bytes: &str| {
        let outcome = lab.run(&["--memory", bytes], &hogs);
        outcome.stdout.lines().filter(|line| line.starts_with("took 15")).count()
    };
    assert!(count("300000000") < 4);
    assert_eq!(count("2000000000"), 4, "the control");
    assert!(!left.is_some_and(|left| std::path::Path::new(&left).exists()), "it was swept");
}
