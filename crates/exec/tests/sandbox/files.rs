//! Writes: only the workspace and private temporary space.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;

use crate::lab::both;

/// Attempts to change something, with the paths of the lab in place of `%`.
const CHANGES: &[&[&str]] = &[
    &["append", "%/file"],
    &["append", "%/new"],
    &["truncate", "%/file"],
    &["mkdir", "%/newdir"],
    &["symlink", "x", "%/newlink"],
    &["link", "%/file", "%/newhard"],
    &["chmod", "%/file"],
    &["chown", "%/file"],
    &["utime", "%/file"],
    &["xattr", "%/file"],
    &["rename", "%/file", "%/moved"],
    &["unlink", "%/moved"],
    &["rmdir", "%/newdir"],
];

fn placed(change: &[&str], place: &str) -> Vec<String> {
    change.iter().map(|part| part.replace('%', place)).collect()
}

fn borrowed(change: &[String]) -> Vec<&str> {
    change.iter().map(String::as_str).collect()
}

both! {
    /// Neither content nor metadata of anything outside changes; without the box each does.
    fn nothing_outside_changes(lab) {
        let outside = lab.at("outside");
        let before = std::fs::metadata(lab.path("outside/file")).unwrap();
        for change in CHANGES {
            let change = placed(change, &outside);
            let answer = lab.attempt(&borrowed(&change));
            assert!(answer.starts_with("refused"), "{change:?}: {answer}");
        }
        let after = std::fs::metadata(lab.path("outside/file")).unwrap();
        assert_eq!((before.ctime(), before.ctime_nsec()), (after.ctime(), after.ctime_nsec()));
        assert_eq!(std::fs::read_dir(lab.path("outside")).unwrap().count(), 1);
        for change in CHANGES {
            let change = placed(change, &outside);
            assert_eq!(lab.control(&borrowed(&change)), "done", "the control of {change:?}");
        }
    }

    /// The same changes all work in the workspace and in the private places.
    fn the_workspace_and_private_places_are_writable(lab) {
        for place in ["workspace", "tmp", "var", "shm", "home"] {
            let path = match place {
                "tmp" => "/tmp/%".to_owned(),
                "var" => "/var/tmp/%".to_owned(),
                "shm" => "/dev/shm/%".to_owned(),
                _ => format!("{}/%", lab.at(place)),
            };
            let mut text = format!("set -e; mkdir {0}; echo a > {0}/file; L={1}\n",
                path.replace('%', "d"), lab.at("bin/lab"));
            for change in CHANGES {
                // Extended attributes of users are newer than temporary file systems.
                if change[0] != "xattr" || place == "workspace" {
                    let change = placed(change, &path.replace('%', "d"));
                    writeln!(text, "echo {} $($L try {})", change[0], change.join(" ")).unwrap();
                }
            }
            let outcome = lab.shell(&text);
            for line in outcome.good().lines() {
                assert!(line.ends_with(" done"), "{place}: {line}");
            }
        }
        assert!(lab.path("workspace/d").is_dir(), "the workspace is the real one");
        assert!(!lab.path("home/d").exists(), "the home is not");
    }

    /// Temporary places are the box's own: empty at the start, gone at the end.
    fn temporary_places_are_private(lab) {
        let marker = format!("/tmp/box-lab-marker-{}", std::process::id());
        std::fs::write(&marker, "host").unwrap();
        let text = format!("ls -A /tmp /var/tmp /run /dev/shm; cat {marker}; echo in > /tmp/x; echo $TMPDIR");
        let outcome = lab.shell(&text);
        std::fs::remove_file(&marker).unwrap();
        let stdout = outcome.stdout.trim();
        assert!(stdout.ends_with("/tmp") && !stdout.contains("host"), "{outcome:?}");
        assert!(outcome.stderr.contains("No such file"), "{outcome:?}");
        assert_eq!(lab.shell("ls -A /tmp").good(), "");
    }

    /// Mode read-only: the workspace too, but not the private places.
    fn read_only_means_the_workspace_too(lab) {
        let file = lab.at("workspace/new");
        assert_eq!(lab.attempt_with(&["--read-only"], &["append", &file]), "refused 30");
        assert_eq!(lab.attempt_with(&["--read-only"], &["append", "/tmp/new"]), "done");
        assert_eq!(lab.attempt(&["append", &file]), "done");
        let git = lab.shell("ls -A").stdout;
        let quiet = lab.run(&["--read-only"], &["/bin/ls", "-A"]).stdout;
        assert!(git.contains(".claude") && !quiet.contains(".claude"), "no placeholders needed");
    }

    /// Extra roots are what they say, also in hidden places.
    fn extra_roots_are_what_they_say(lab) {
        let (readable, writable) = (lab.path("home/data"), lab.path("outside/more"));
        std::fs::create_dir(&readable).unwrap();
        std::fs::create_dir(&writable).unwrap();
        std::fs::write(readable.join("file"), "x").unwrap();
        lab.give_away();
        let (readable, writable) = (lab.at("home/data"), lab.at("outside/more"));
        let flags = ["--readable", &readable, "--writable", &writable];
        let file = lab.at("home/data/file");
        assert_eq!(lab.attempt_with(&flags, &["read", &file]), "done");
        assert_eq!(lab.attempt_with(&flags, &["append", &file]), "refused 30");
        assert_eq!(lab.attempt_with(&flags, &["append", &lab.at("outside/more/new")]), "done");
        assert_eq!(lab.attempt(&["read", &file]), "refused 2");
        assert_eq!(lab.attempt(&["append", &lab.at("outside/more/new")]), "refused 30");
        // In mode read-only an extra writable root is only readable.
        let flags = ["--read-only", "--writable", &writable];
        assert_eq!(lab.attempt_with(&flags, &["append", &lab.at("outside/more/new")]), "refused 30");
    }

    /// Standard input is a file of the host; the descriptor is no way round the view.
    fn standard_input_is_no_way_to_write(lab) {
        let (plain, protected) = (lab.at("workspace/data"), lab.at("workspace/.mcp.json"));
        let text = "L=$0; $L try chmod /proc/self/fd/0; $L try utime /proc/self/fd/0; \
            $L try append /proc/self/fd/0; cat";
        let lab_binary = lab.at("bin/lab");
        for file in [&plain, &protected] {
            std::fs::write(file, "input").unwrap();
        }
        lab.give_away();
        let run = |flags: &[&str]| lab.run(flags, &["/bin/bash", "-c", text, &lab_binary]);
        for flags in [&["--read-only", "--stdin", &plain][..], &["--stdin", &protected]] {
            let outcome = run(flags);
            let lines: Vec<_> = outcome.good().lines().collect();
            assert!(lines[..3].iter().all(|line| line.starts_with("refused")), "{outcome:?}");
            assert_eq!(lines[3..], ["input"], "it is still read");
        }
        let control = run(&["--stdin", &plain]);
        assert_eq!(control.good(), "done\ndone\ndone\ninputx", "the control");
        // A file that the box does not show is given all the same.
        let away = lab.at("home/given");
        std::fs::write(&away, "given").unwrap();
        lab.give_away();
        assert_eq!(lab.run(&["--stdin", &away], &["/bin/cat"]).good(), "given");
    }

    /// A pipe with a name can be written on a read-only mount; the second layer refuses it.
    fn pipes_of_the_host_are_not_written(lab) {
        let pipe = lab.at("outside/pipe");
        let made = lab.command("/usr/bin/mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(lab.attempt(&["fifo", &pipe]), format!("refused {}", libc::EACCES));
        assert_eq!(lab.control(&["fifo", &pipe]), format!("refused {}", libc::ENXIO), "no reader");
    }

    /// As root these switches would be the host's.
    fn switches_of_the_system_cannot_be_thrown(lab) {
        for path in [
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/pid_max",
            "/proc/sys/vm/drop_caches",
            "/proc/sysrq-trigger",
            "/proc/1/oom_score_adj",
            "/sys/kernel/mm/transparent_hugepage/enabled",
        ] {
            assert!(lab.attempt(&["append", path]).starts_with("refused"), "{path}");
        }
        assert!(lab.attempt(&["mkdir", "/sys/fs/cgroup/pids/x"]).starts_with("refused"));
        for path in ["/dev/null", "/dev/urandom", "/etc/passwd", "/bin"] {
            assert!(lab.attempt(&["chmod", path]).starts_with("refused"), "{path}");
            assert!(lab.attempt(&["utime", path]).starts_with("refused"), "{path}");
        }
        assert_eq!(lab.shell("echo x > /dev/null && head -c 1 /dev/zero | wc -c").good(), "1");
    }

    /// What is written to a terminal that is not there, or to a device by a wrong name, fails; it was
    /// kept by a file that nobody reads.
    fn nothing_is_created_beside_the_devices(lab) {
        for path in ["/dev/tty", "/dev/nul", "/dev/console"] {
            assert!(lab.attempt(&["append", path]).starts_with("refused"), "{path}");
        }
        assert_eq!(lab.attempt(&["append", "/dev/shm/new"]), "done");
        let terminals = "import os, pty; m, s = pty.openpty(); os.write(s, b'x'); print(os.read(m, 9))";
        assert_eq!(lab.shell(&format!("python3 -c \"{terminals}\"")).good(), "b'x'");
    }

    /// What the box cannot see it cannot start; a missing working directory is named.
    fn a_step_that_fails_is_named(lab) {
        let outcome = lab.run(&[], &["/nonexistent/program"]);
        assert_eq!(outcome.failure().unwrap(),
            "execute: /nonexistent/program: No such file or directory (os error 2)");
        let missing = lab.at("workspace/missing");
        let outcome = lab.run(&["--cwd", &missing], &["/bin/true"]);
        assert!(outcome.failure().unwrap().starts_with("working directory: "), "{outcome:?}");
        let missing = lab.at("missing");
        let outcome = lab.run(&["--root", &missing], &["/bin/true"]);
        assert!(outcome.failure().is_some(), "{outcome:?}");
        let home = lab.at("home");
        let outcome = lab.run(&["--root", &home], &["/bin/true"]);
        assert!(outcome.report.starts_with("refused "), "{outcome:?}");
        assert!(lab.run(&[], &["/bin/true"]).status().success());
    }
}
