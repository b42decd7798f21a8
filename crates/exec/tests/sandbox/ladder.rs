//! The ladder: what is found, what remains without user namespaces, and that it is said.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::Stdio;

use crate::lab::both;

both! {
    /// Here every layer works, the canary stays in, nothing has to be said.
    fn every_layer_is_found(lab) {
        let output = lab.command(lab.path("bin/lab")).arg("assess").arg(lab.path("workspace")).output();
        let output = String::from_utf8(output.unwrap().stdout).unwrap();
        for layer in ["user namespaces", "network namespace", "mount view", "process namespace",
            "landlock", "seccomp", "task limit"] {
            assert!(output.contains(&format!("{layer}: present")), "{output}");
        }
        assert!(output.contains("rung: Some(Namespaces)\nannouncement: None"), "{output}");
        assert_eq!(std::fs::read_dir(lab.path("workspace")).unwrap().count(), 0, "it cleans up");
    }

    /// Inside a box there are no user namespaces: the next rung is found, tried and announced.
    fn without_user_namespaces_the_reduced_box_is_found(lab) {
        let outcome = lab.run(&[], &[&lab.at("bin/lab"), "assess", &lab.at("workspace")]);
        let output = outcome.good();
        assert!(output.contains("user namespaces: missing"), "{output}");
        assert!(output.contains("rung: Some(Landlock)"), "{output}");
        assert!(output.contains("network is off"), "{output}");
    }

    /// The reduced box holds files, secrets, sockets and signals.
    fn the_reduced_box_holds(lab) {
        std::fs::write(lab.path("home/secret"), "x").unwrap();
        lab.give_away();
        let try_in = |argv: &[&str]| lab.attempt_with(&["--reduced"], argv);
        for attempt in [
            &["append", &lab.at("outside/file")][..],
            &["append", &lab.at("outside/new")],
            &["append", "/tmp/box-lab-new"],
            &["read", &lab.at("home/secret")],
            &["list", &lab.at("home")],
            &["link", &lab.at("outside/file"), &lab.at("workspace/second")],
        ] {
            let answer = try_in(attempt);
            assert!(answer.starts_with("refused"), "{attempt:?}: {answer}");
        }
        assert_eq!(try_in(&["append", &lab.at("workspace/new")]), "done");
        assert_eq!(try_in(&["read", &lab.at("outside/file")]), "done");
        assert_eq!(lab.control(&["append", &lab.at("outside/file")]), "done");
        let answer = lab.attempt_with(&["--reduced", "--read-only"], &["append", &lab.at("workspace/new")]);
        assert_eq!(answer, "refused 13");

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        for attempt in ["tcp", "udp", "mptcp"] {
            assert_eq!(try_in(&[attempt, &port]), format!("refused {}", libc::EAFNOSUPPORT));
        }
        assert_eq!(try_in(&["unix", &lab.at("outside/s")]), format!("refused {}", libc::EAFNOSUPPORT));
        assert_eq!(lab.control(&["tcp", &port]), "done");

        let mut other = lab.command("/bin/sleep").arg("600").spawn().unwrap();
        let pid = other.id().to_string();
        for attempt in ["signal", "ptrace", "peek", "steal"] {
            assert!(try_in(&[attempt, &pid]).starts_with("refused"), "{attempt}");
        }
        let environ = format!("/proc/{pid}/environ");
        assert!(try_in(&["read", &environ]).starts_with("refused"));
        assert_eq!(lab.control(&["signal", &pid]), "done");
        other.kill().unwrap();
        other.wait().unwrap();
    }

    /// What cannot be hidden is not shown: nothing runs.
    fn the_reduced_box_refuses_what_it_cannot_hide(lab) {
        std::fs::write(lab.path("workspace/secret"), "x").unwrap();
        lab.give_away();
        let secret = lab.at("workspace/secret");
        let outcome = lab.run(&["--reduced", "--hidden", &secret], &["/bin/cat", &secret]);
        assert!(outcome.report.contains("landlock: it cannot hide"), "{outcome:?}");
        assert_eq!(outcome.stdout, "");
        assert_eq!(lab.run(&["--reduced"], &["/bin/cat", &secret]).stdout, "x", "the control");
        // The full box hides it.
        let outcome = lab.run(&["--hidden", &secret], &["/bin/cat", &secret]);
        assert_eq!(outcome.stdout, "");
    }

    /// Its reaper finds what left its session and its group, also when the server is killed.
    fn the_reduced_box_leaves_nothing(lab) {
        let marker = format!("{}.5", 200_000_000 + u64::from(std::process::id()));
        let runs = || {
            let list = std::process::Command::new("pgrep").args(["-f", &marker]).output().unwrap();
            list.status.success()
        };
        let text = format!("setsid sleep {marker} & (setsid sleep {marker} &) & sleep 0.3; exit 3");
        let outcome = lab.run(&["--reduced"], &["/bin/bash", "-c", &text]);
        assert!(!runs());
        assert_eq!(outcome.status().code(), Some(3));
        assert!(outcome.left_behind() >= 2, "{outcome:?}");
        let text = format!("(setsid sleep {marker} &) & sleep 0.3; echo up; sleep 600");
        let mut server = lab.boxed(&["--reduced"], &["/bin/bash", "-c", &text]);
        let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
        server.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
        assert!(runs(), "the control");
        server.kill().unwrap();
        server.wait().unwrap();
        // The pipe closes when the last of them is gone.
        let mut rest = Vec::new();
        server.stdout.as_mut().unwrap().read_to_end(&mut rest).unwrap();
        assert!(!runs());
        let place = lab.run(&["--reduced"], &["/bin/bash", "-c", "test -w $TMPDIR && echo $TMPDIR"]);
        assert!(!std::path::Path::new(place.good()).exists(), "its temporary directory is gone");
    }
}
