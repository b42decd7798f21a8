//! One store under pressure: two servers, a disk that fills up, a limit on its size.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{PATIENCE, Server, World, binary, skip, wait_until};

/// F-073: two servers index side by side, and both find everything.
#[test]
fn two_servers_on_one_root_lose_nothing() {
    const EACH: u64 = 200;
    let world = World::new();
    let mut servers = ["ant", "bee"].map(|who| (who, world.serve()));
    for (_, server) in &mut servers {
        server.initialize();
    }
    for number in 0..EACH {
        for (who, server) in &mut servers {
            let content = format!("# Note {number}\n\nunique{who}{number} of one of two servers\n");
            let arguments = json!({"content": content, "source": format!("{who}-{number}")});
            server.begin(number, "index", arguments);
        }
    }
    for (who, server) in &mut servers {
        for number in 0..EACH {
            let answer = server.reply(number);
            assert!(!answer.is_error, "{who} {number}: {answer:?}");
        }
    }
    for (asked, server) in &mut servers {
        for who in ["ant", "bee"] {
            let queries: Vec<_> =
                (0..EACH).map(|number| format!("\"unique{who}{number}\"")).collect();
            let mut found = 0;
            for queries in queries.chunks(20) {
                let text = server.call("search", json!({"queries": queries, "limit": 1})).text;
                let lines = text.lines().filter(|line| line.starts_with("[r:"));
                found += lines.filter(|line| line.contains(&format!("({who}-"))).count() as u64;
            }
            assert_eq!(found, EACH, "{who}'s, as {asked} sees them");
        }
        server.ping(PATIENCE);
    }
}

/// Text that hardly compresses.
fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed;
    let mut text = String::new();
    while text.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        writeln!(text, "{:x}", state >> 4).unwrap();
    }
    text
}

/// F-076, the disk: what does not fit is said, what was there before is intact.
#[test]
fn a_disk_that_fills_up_while_indexing_costs_what_did_not_fit() {
    let world = World::new();
    let data = world.path("data");
    fs::create_dir(&data).unwrap();
    let lines = (0..60_000)
        .map(|number| format!("line {number} of the first text, plain words all over it\n"));
    let first = format!("# First\n\nfirstword stands here\n\n{}", lines.collect::<String>());
    assert!(first.len() > 3 << 20);
    fs::write(world.work().join("first.txt"), first).unwrap();
    fs::write(world.work().join("second.txt"), noise(5, 40 << 20)).unwrap();
    let mut able = Command::new("unshare");
    able.args(["--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]);
    if !able.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return skip("no mount can be made here, not even of one's own");
    }
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c"]);
    command.arg(
        "mount -t tmpfs -o size=24m none \"$1\" && exec \"$2\" --data-dir \"$1\" --sandbox off",
    );
    command.args(["sh", data.to_str().unwrap(), binary().to_str().unwrap()]);
    command.current_dir(world.work()).env("HOME", world.path("home"));
    let mut server = Server::start(command);
    server.initialize();
    let answer = server.call("index", json!({"path": "first.txt"}));
    assert!(!answer.is_error, "{answer:?}");
    let answer = server.call("index", json!({"path": "second.txt"}));
    assert!(answer.is_error && answer.text.contains("disk is full"), "{answer:?}");
    assert_eq!(answer.text.lines().count(), 1, "{answer:?}");
    let found = server.call("search", json!({"queries": ["firstword", "\"line 59999 of\""]}));
    assert_eq!(found.text.matches("(first.txt:L").count(), 2, "{found:?}");
    assert!(!found.text.contains("second.txt"), "{found:?}");
}

/// F-076, the limit: the longest unread goes first, its references say so, what is read stays.
#[test]
fn a_limit_on_the_size_removes_what_was_not_read() {
    const LIMIT: u64 = 5_000_000;
    const RUNS: usize = 12;
    let world = World::new();
    world.configure(&format!("store.max_bytes = {LIMIT}\n"));
    let mut server = world.serve();
    server.initialize();
    let kept = json!({"content": noise(1, 100_000), "source": "on purpose"});
    assert!(!server.call("index", kept).is_error);
    let output = |server: &mut Server, name: &str| {
        let text = server
            .shell(&format!("echo {name}word; od -v -An -tx8 -w8 -N 240000 /dev/urandom"))
            .text;
        let reference = text.split("r:").nth(1).unwrap_or_else(|| panic!("{text}"));
        let digits: String = reference.chars().take_while(char::is_ascii_digit).collect();
        format!("r:{digits}")
    };
    let refs = |server: &mut Server, reference: &str| {
        server.call("search", json!({"refs": [reference], "max_bytes": 2_000})).text
    };
    let first = output(&mut server, "first");
    let read = output(&mut server, "read");
    for number in 0..RUNS {
        let kept = refs(&mut server, &read);
        assert!(kept.contains("readword"), "{number}: {kept}");
        output(&mut server, &format!("run{number}"));
    }
    let folder = world.path("home/.local/share/quietcontext");
    let size = || -> u64 {
        let entries = fs::read_dir(&folder).unwrap().flatten();
        let stores =
            entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "db"));
        stores.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
    };
    // The file may be small because what was stored is still in the log. Asking for the text itself would
    // be a use that keeps it.
    let listed = || world.run(&["sources"]).stdout;
    wait_until(PATIENCE, || !listed().contains("execute:1\n"))
        .unwrap_or_else(|| panic!("{}", listed()));
    wait_until(PATIENCE, || size() <= LIMIT + LIMIT / 10)
        .unwrap_or_else(|| panic!("{} bytes", size()));
    let kept = refs(&mut server, &read);
    assert!(kept.contains("readword"), "{kept}\n{}", listed());
    let gone = refs(&mut server, &first);
    assert!(gone.contains(&format!("{first} expired")), "{gone}");
    let unknown = refs(&mut server, "r:1");
    assert!(unknown.contains("unknown") && !unknown.contains("expired"), "{unknown}");
    let sources = listed();
    assert!(
        sources.contains("on purpose") && sources.contains(&format!("execute:{}", RUNS + 2)),
        "{sources}"
    );
}
