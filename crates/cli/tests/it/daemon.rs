//! The daemon: many sessions over loopback, each in its root, with the answers of stdio.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{
    Daemon, PATIENCE, Server, World, assert_gone, call, finish, mark, shell, sleeper,
    wait_for_process, wait_until,
};

const IN_TIME: Duration = Duration::from_secs(2);

const NEWEST: &str = "2026-07-28";

/// What a session asks, in order.
fn script(revision: &str) -> Vec<(&'static str, Value)> {
    let program = format!("# {}\nseq 1 3000", "x".repeat(300));
    let call = |tool: &str, arguments: Value| {
        ("tools/call", json!({ "name": tool, "arguments": arguments }))
    };
    let mut script = vec![
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/list", json!({ "cursor": "x" })),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("no/such/method", json!({})),
        call("execute", shell("echo hello; pwd; echo \"\u{e9}\u{1f600}\"; exit 3")),
        call("execute", shell(&program)),
        call("search", json!({ "queries": ["2999"] })),
        call("execute", json!({ "language": "shell", "cod": "true" })),
        call("execute", json!({ "script_ref": "s:0123456789abcdef" })),
        call(
            "index",
            json!({ "content": "# Tokens\n\nTokens are renewed each hour.", "source": "guide" }),
        ),
        call("index", json!({ "path": "notes.md" })),
        call("search", json!({ "queries": ["how are tokens renewed", "notes about ports"] })),
        call(
            "exec-file",
            json!({ "path": "notes.md", "language": "shell", "code": "wc -l \"$FILE\"" }),
        ),
        call(
            "batch",
            json!({ "commands": ["echo one", { "label": "two", "command": "echo two" }] }),
        ),
        call("fetch-index", json!({ "url": "http://127.0.0.1:1/" })),
        call("no-such-tool", json!({})),
        call("search", json!({})),
    ];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if revision == NEWEST {
        script.retain(|(method, _)| *method != "ping");
        script.insert(0, ("server/discover", json!({})));
        for (_, params) in &mut script {
            params["_meta"] = meta.clone();
        }
    } else {
        let client = json!({ "name": "test", "version": "0" });
        let params =
            json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
        script.insert(0, ("initialize", params));
    }
    script
}

#[test]
fn tools_and_answers_are_the_bytes_of_stdio() {
    let world = World::new();
    fs::write(world.work().join("notes.md"), "# Ports\n\nNotes about ports.\n").unwrap();
    for (number, revision) in
        ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NEWEST].iter().enumerate()
    {
        let data = |kind: &str| world.path(&format!("data-{kind}-{number}"));
        let (ours, theirs) = (data("http"), data("stdio"));
        // A store begins to count at a random number: both continue the same one.
        let begun = theirs.to_str().unwrap();
        let words = json!({ "content": "begun", "source": "begun" }).to_string();
        assert_eq!(world.run(&["--data-dir", begun, "call", "index", &words]).code, Some(0));
        fs::create_dir(&ours).unwrap();
        for file in fs::read_dir(&theirs).unwrap().flatten() {
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), ours.join(file.file_name())).unwrap();
            }
        }
        let mut server =
            Server::start(world.command(&["serve", "--data-dir", theirs.to_str().unwrap()]));
        let outcome = world.run(&["roots", "add", world.work().to_str().unwrap()]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let command = world.command(&["daemon", "--data-dir", ours.to_str().unwrap()]);
        let daemon = Daemon::start(command, &ours);
        let root = world.work();
        for (id, (method, params)) in script(revision).into_iter().enumerate() {
            let name = params["name"].as_str().unwrap_or_default().to_owned();
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            let mut headers = vec![("x-quietcontext-root", root.to_str().unwrap())];
            if method != "initialize" {
                headers.push(("mcp-protocol-version", revision));
            }
            if *revision == NEWEST {
                headers.push(("mcp-method", method));
                if !name.is_empty() {
                    headers.push(("mcp-name", &name));
                }
            }
            let response = daemon.post(&headers, &message);
            server.send(&message);
            let line = server.message(id).to_string();
            assert_eq!(timeless(&response.body), timeless(&line), "{revision} {method} {name}");
        }
    }
}

/// An answer without the line that says how long a run over a second took.
fn timeless(answer: &str) -> String {
    let took = |line: &&str| line.starts_with('[') && line.ends_with(" s]");
    answer.split("\\n").filter(|line| !took(line)).collect::<Vec<_>>().join("\\n")
}

#[test]
fn a_call_outside_of_the_registered_roots_runs_nothing() {
    let world = World::new();
    let daemon = world.daemon();
    let outside = world.path("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, world.work().join("link")).unwrap();
    let made = "touch made; pwd";
    for root in [outside.clone(), world.work().join("link"), world.work().join(".."), "/".into()] {
        let answer = daemon.shell(&root, made);
        assert!(answer.is_error, "{answer:?}");
        assert!(answer.text.starts_with("error: "), "{answer:?}");
        assert_eq!(answer.text.lines().count(), 1, "{answer:?}");
    }
    assert!(!outside.join("made").exists());
    let answer = daemon.shell(&world.work(), made);
    assert!(answer.text.contains(world.work().to_str().unwrap()), "the control: {answer:?}");
    // It follows what the user registers, at once.
    let named = outside.to_str().unwrap();
    assert_eq!(world.run(&["roots", "add", named]).code, Some(0));
    assert!(!daemon.shell(&outside, made).is_error);
    assert!(outside.join("made").exists());
    assert_eq!(world.run(&["roots", "remove", named]).code, Some(0));
    assert!(daemon.shell(&outside, made).is_error);
}

#[test]
fn roots_share_no_text_no_program_and_no_job() {
    let world = World::new();
    let (one, two) = (world.work().join("one"), world.work().join("two"));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&two).unwrap();
    let daemon = world.daemon();
    let program = format!("# {}\nseq 1 3000; echo zanzibar", "x".repeat(300));
    let answer = daemon.shell(&one, &program);
    let reference = format!("s:{}", after(&answer.text, "[s:"));
    let stored = after(&answer.text, "r:").to_owned();
    let mark = mark("isolated");
    let mut job = shell(&sleeper(&mark));
    job["background"] = json!(true);
    job["timeout_ms"] = json!(50);
    let answer = daemon.call(&one, "execute", job);
    let label = after(&answer.text, "[").to_owned();
    wait_for_process(&mark);
    let found = |root, tool: &str, arguments: Value| daemon.call(root, tool, arguments);
    let words = || json!({ "queries": ["zanzibar"] });
    let range = || json!({ "queries": [format!("r:{stored}")] });
    let again = || json!({ "script_ref": reference });
    let stop = || json!({ "stop": label });
    assert!(!found(&two, "search", words()).text.contains("[r:"));
    assert!(found(&two, "execute", again()).text.contains("unknown"));
    let other = found(&two, "search", range());
    assert!(!other.text.contains("2999"), "{other:?}");
    let other = found(&two, "execute", stop());
    assert!(other.is_error && other.text.contains("is no background job"), "{other:?}");
    // The control: where they belong.
    assert!(found(&one, "search", words()).text.contains("[r:"));
    assert!(!found(&one, "execute", again()).is_error);
    assert!(!found(&one, "execute", stop()).is_error);
    assert_gone(&mark, PATIENCE);
}

/// The word that stands behind `before`.
fn after<'a>(text: &'a str, before: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before}: {text}"));
    rest.split([']', ' ', '\n']).next().unwrap_or_default()
}

#[test]
fn a_client_that_goes_away_stops_its_program() {
    let world = World::new();
    let daemon = world.daemon();
    let root = world.work();
    let headers = [("x-quietcontext-root", root.to_str().unwrap())];
    let begin = |mark: &str| {
        // Something that left its session is stopped as well.
        let code = format!("(setsid {} &); {}", sleeper(mark), sleeper(mark));
        let stream =
            daemon.begin(&daemon.request(&headers, &call("execute", shell(&code)).to_string()));
        wait_for_process(mark);
        stream
    };
    let (gone, stays) = (mark("gone"), mark("stays"));
    let (first, _second) = (begin(&gone), begin(&stays));
    drop(first);
    assert_gone(&gone, IN_TIME);
    wait_for_process(&stays);
}

#[test]
fn two_hundred_sessions_at_once_are_all_answered_with_their_own_text() {
    const SESSIONS: usize = 200;
    let world = World::new();
    let daemon = world.daemon();
    let roots: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let root = world.work().join(format!("session-{number}"));
            fs::create_dir(&root).unwrap();
            root
        })
        .collect();
    let barrier = Barrier::new(SESSIONS);
    thread::scope(|scope| {
        for (number, root) in roots.iter().enumerate() {
            let (daemon, barrier) = (&daemon, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let word = format!("quokka{number}x");
                let content = format!("# Note\n\nThe word of this session is {word}.");
                let answer =
                    daemon.call(root, "index", json!({ "content": content, "source": "note" }));
                assert!(!answer.is_error, "{number}: {answer:?}");
                let query =
                    json!({ "queries": ["what is the word of this session"], "preview": true });
                let answer = daemon.call(root, "search", query);
                assert!(answer.text.contains(&word), "{number}: {answer:?}");
                assert_eq!(answer.text.matches("quokka").count(), 1, "{number}: {answer:?}");
            });
        }
    });
}

#[test]
fn nothing_that_was_answered_is_lost_when_it_is_killed() {
    let world = World::new();
    let mut daemon = world.daemon();
    let root = world.work();
    let answer = daemon.shell(&root, "seq 1 5000; echo pangolin");
    let stored = after(&answer.text, "r:").to_owned();
    let mark = mark("killed");
    let request = call("execute", shell(&sleeper(&mark))).to_string();
    let headers = [("x-quietcontext-root", root.to_str().unwrap())];
    let _running = daemon.begin(&daemon.request(&headers, &request));
    wait_for_process(&mark);
    daemon.signal(Signal::KILL);
    daemon.exit(IN_TIME);
    assert_gone(&mark, IN_TIME);
    let (port, token) = (daemon.port, daemon.token.clone());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    // What it left does not keep the next one from starting, and clients need nothing new.
    let daemon = world.daemon();
    assert_eq!(daemon.token, token);
    let answer = daemon.call(&root, "search", json!({ "queries": ["pangolin"] }));
    assert!(answer.text.contains("[r:"), "{answer:?}");
    let answer = daemon.call(&root, "search", json!({ "queries": [format!("r:{stored}")] }));
    assert!(!answer.is_error, "{answer:?}");
}

#[test]
fn signals_end_it_in_time_with_all_it_runs() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (world, mark, other) = (World::new(), mark("daemon-run"), mark("daemon-job"));
        let mut daemon = world.daemon();
        let root = world.work();
        let mut job = shell(&sleeper(&other));
        job["background"] = json!(true);
        job["timeout_ms"] = json!(50);
        assert!(!daemon.call(&root, "execute", job).is_error);
        let headers = [("x-quietcontext-root", root.to_str().unwrap())];
        let request = call("execute", shell(&sleeper(&mark))).to_string();
        let running = daemon.begin(&daemon.request(&headers, &request));
        wait_for_process(&mark);
        let started = Instant::now();
        daemon.signal(signal);
        let response = finish(running);
        assert_eq!(response.status, 200, "what ran is answered: {response:?}");
        assert_eq!(daemon.exit(IN_TIME).code(), Some(0), "{signal:?}");
        assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());
        assert_gone(&mark, IN_TIME);
        assert_gone(&other, IN_TIME);
    }
}

/// Each denial beside the same without a box.
#[test]
fn a_confined_program_reaches_neither_the_token_nor_the_port() {
    let world = World::outside_of_tmp();
    let daemon = world.daemon();
    let token = world.path("home/.local/share/quietcontext/daemon/token");
    let code = format!(
        "cat {token} 2>&1; ls -A {folder} 2>&1; ls ~/.config/quietcontext 2>&1\n\
         (exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected) 2>&1",
        token = token.display(),
        folder = token.parent().unwrap().parent().unwrap().display(),
        port = daemon.port,
    );
    let answer = daemon.shell(&world.work(), &code);
    assert!(!answer.text.contains(&daemon.token), "{answer:?}");
    assert!(!answer.text.contains("connected"), "{answer:?}");
    assert!(!answer.text.contains("\nroots") && !answer.text.contains("daemon\n"), "{answer:?}");
    let arguments = shell(&code).to_string();
    let outcome = world.run(&["--sandbox", "off", "call", "execute", &arguments]);
    for shown in [daemon.token.as_str(), "connected", "\nroots", "daemon\n"] {
        assert!(outcome.stdout.contains(shown), "the control: {shown}: {outcome:?}");
    }
    // Nor does the fetcher go there.
    let url = format!("http://127.0.0.1:{}/status", daemon.port);
    let answer = daemon.call(&world.work(), "fetch-index", json!({ "url": url }));
    assert!(answer.text.contains("127.0.0.1"), "{answer:?}");
    assert!(!answer.text.contains("token is missing"), "{answer:?}");
}

#[test]
fn the_token_file_is_checked_at_each_start() {
    use std::os::unix::fs::PermissionsExt as _;

    let world = World::new();
    drop(world.daemon());
    let token = world.path("home/.local/share/quietcontext/daemon/token");
    let mode = |mode| fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o640);
    for command in [&["daemon"][..], &["daemon", "start"]] {
        let outcome = world.run(command);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains("repair: chmod 600 "), "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    }
    mode(0o600);
    let daemon = world.daemon();
    assert!(!daemon.shell(&world.work(), "true").is_error, "the control");
}

/// As a socket unit starts it: descriptor 3, and variables that name this process.
#[test]
fn a_socket_that_was_handed_over_is_served() {
    let world = World::new();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let command = world.command(&[]);
    let binary = command.get_program().to_owned();
    let shell = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" daemon 3<&0 </dev/null";
    let mut manager = std::process::Command::new("sh");
    manager.arg("-c").arg(shell).arg(binary).current_dir(world.work()).env_clear();
    manager.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    manager.stdin(std::os::fd::OwnedFd::from(socket));
    let daemon = Daemon::start(manager, &world.path("home/.local/share/quietcontext"));
    assert_eq!(daemon.port, port);
    assert_eq!(
        daemon.post(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).status,
        200
    );
    // What is no socket, or not on loopback, is refused.
    let open = TcpListener::bind("0.0.0.0:0").unwrap();
    for (input, wanted) in [
        (std::process::Stdio::null(), "no listening socket"),
        (std::os::fd::OwnedFd::from(open).into(), "not on loopback"),
    ] {
        let mut refused = std::process::Command::new("sh");
        refused.arg("-c").arg(shell).arg(command.get_program()).current_dir(world.work());
        refused.env_clear().env("HOME", world.path("second"));
        let output = refused.stdin(input).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(wanted), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn an_idle_daemon_holds_no_store_open_before_its_first_call() {
    let world = World::new();
    let daemon = world.daemon();
    let stores = || {
        let links = fs::read_dir(format!("/proc/{}/fd", daemon.child.id())).unwrap().flatten();
        let files = links.filter_map(|link| fs::read_link(link.path()).ok());
        files.filter(|file| file.to_string_lossy().contains(".db")).count()
    };
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(daemon.post(&[], &list).status, 200);
    assert_eq!(stores(), 0);
    assert!(!daemon.shell(&world.work(), "seq 1 5000").is_error);
    wait_until(PATIENCE, || stores() > 0).expect("the control");
}
