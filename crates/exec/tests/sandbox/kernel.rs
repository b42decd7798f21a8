//! System calls that would open what namespaces close.

use std::os::unix::process::ExitStatusExt as _;

use crate::lab::both;

both! {
    /// Refused in the box, possible without it.
    fn dangerous_calls_are_refused(lab) {
        let own = |name: &str| format!("{name} in the box");
        for (attempt, errno) in [
            (&["unshare"][..], libc::EPERM),
            (&["clone-user"], libc::EPERM),
            (&["keyring"], libc::EPERM),
            (&["ptrace-me"], libc::EPERM),
        ] {
            let answer = lab.attempt(attempt);
            assert_eq!(answer, format!("refused {errno}"), "{}", own(attempt[0]));
            assert_eq!(lab.control(attempt), "done", "the control of {attempt:?}");
        }
        assert_eq!(lab.attempt(&["io-uring"]), format!("refused {}", libc::ENOSYS));
        let control = lab.control(&["io-uring"]);
        // Some hosts switch it off, with another answer.
        assert!(control == "done" || control == format!("refused {}", libc::EPERM), "{control}");
        // Without arguments the kernel finds fault with them; ours does not look.
        for (attempt, host) in [("clone3", libc::EINVAL), ("setns", 0)] {
            let inside = lab.attempt(&[attempt]);
            assert!([libc::ENOSYS, libc::EPERM].map(|n| format!("refused {n}")).contains(&inside));
            if host != 0 {
                assert_eq!(lab.control(&[attempt]), format!("refused {host}"), "{attempt}");
            }
        }
        for attempt in [&["bpf"][..], &["perf"], &["chroot"], &["mount", "/tmp"], &["umount", "/proc"]] {
            assert_eq!(lab.attempt(attempt), "refused 1", "{attempt:?}");
        }
        if lab.is_root() {
            assert_ne!(lab.control(&["perf"]), "refused 1");
            assert_eq!(lab.control(&["chroot"]), "done");
        }
    }

    /// Neither of the two other ways to number system calls goes round the filter.
    fn other_call_tables_are_closed(lab) {
        assert_eq!(lab.attempt(&["x32"]), format!("refused {}", libc::ENOSYS));
        if cfg!(target_arch = "x86_64") {
            let outcome = lab.run(&[], &[&lab.at("bin/lab"), "try", "i386"]);
            assert_eq!(outcome.status().signal(), Some(libc::SIGSYS), "{outcome:?}");
            let control = lab.control(&["i386"]);
            assert!(control == "done" || control.is_empty(), "{control}");
        }
    }

    /// Typing into a terminal, also with something in the upper half of the request.
    fn nothing_can_be_typed_into_a_terminal(lab) {
        for high in ["0", "1"] {
            assert_eq!(lab.attempt(&["tiocsti", high]), "refused 1", "high half {high}");
        }
        // Where the host still allows it.
        let legacy = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
        if legacy.is_ok_and(|text| text.trim() == "1") {
            assert_eq!(lab.control(&["tiocsti", "0"]), "done");
        }
    }

    /// No capability in any set, and no way back to one.
    fn no_capability_is_left(lab) {
        let status = lab.shell("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status");
        let status = status.good();
        for line in status.lines().filter(|line| line.starts_with("Cap")) {
            assert!(line.ends_with("\t0000000000000000"), "{line}");
        }
        assert!(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"), "{status}");
        let mounts = lab.shell("cat /proc/self/mounts").stdout;
        for line in mounts.lines() {
            let options: Vec<_> = line.split(' ').nth(3).unwrap().split(',').collect();
            assert!(options.contains(&"nosuid"), "{line}");
        }
    }

    /// The init of the box cannot be looked into by the program, although they share the user.
    fn init_is_closed(lab) {
        for path in ["/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/fd/0", "/proc/1/fd/3"] {
            assert!(lab.attempt(&["read", path]).starts_with("refused"), "{path}");
        }
        for path in ["/proc/1/root/etc", "/proc/1/cwd/"] {
            assert!(lab.attempt(&["list", path]).starts_with("refused"), "{path}");
        }
        for attempt in ["ptrace", "peek", "steal"] {
            assert!(lab.attempt(&[attempt, "1"]).starts_with("refused"), "{attempt}");
        }
        // Its own child a program may look into.
        assert_eq!(lab.shell("sleep 9 & until grep -x sleep /proc/$!/comm; do :; done; kill %1").good(), "sleep");
    }
}
