//! Every kind of file that standard input and output can be.

use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};

use crate::harness::{Server, World};

#[test]
fn three_sockets() {
    let world = World::new();
    let mut server = Server::start_on_sockets(world.command(&[]));
    server.initialize();
    assert!(server.shell("cat; echo over a socket").text.contains("over a socket"));
    // Longer than a socket takes at once.
    let big = "x".repeat(3 << 20);
    server.begin(1, "index", json!({ "content": big, "source": "big" }));
    server.reply(1);
    server.close();
    assert_eq!(server.exit(Duration::from_secs(2)).code(), Some(0));
}

#[test]
fn files_on_both_sides() {
    let world = World::new();
    let mut input = File::create(world.path("input")).unwrap();
    for id in 0..50 {
        writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#).unwrap();
    }
    // The last line has no end.
    write!(input, r#"{{"jsonrpc":"2.0","id":50,"method":"ping"}}"#).unwrap();
    let mut output = File::options()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(world.path("out"))
        .unwrap();
    let status = world
        .command(&[])
        .stdin(File::open(world.path("input")).unwrap())
        .stdout(output.try_clone().unwrap())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    let mut text = String::new();
    output.rewind().unwrap();
    output.read_to_string(&mut text).unwrap();
    let mut ids: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..=50).collect::<Vec<_>>());
}

#[test]
fn everything_at_once_and_then_the_end() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for id in 0..20 {
        writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 20);
}

/// A client that does not read for a while loses nothing and stops nothing.
#[test]
fn a_client_that_reads_late() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    // The questions fit into a pipe; their answers, over a megabyte, do not.
    for id in 0..400 {
        writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#).unwrap();
    }
    let mut server = Server::over(child, input, output);
    let mut seen = 0;
    while seen < 400 {
        let line = server.line(Duration::from_secs(20), |line| line["id"].is_number());
        assert!(line.is_some(), "only {seen} answers");
        seen += 1;
    }
    server.ping(Duration::from_secs(5));
}

/// What another process sees of our streams does not change: no flag is left on them.
#[test]
fn the_streams_stay_blocking_for_others() {
    let world = World::new();
    let mut command = world.command(&[]);
    let (reader, writer) = std::io::pipe().unwrap();
    let (output_reader, output_writer) = std::io::pipe().unwrap();
    command.stdin(reader.try_clone().unwrap()).stdout(output_writer.try_clone().unwrap());
    let mut server = Server::over(command.spawn().unwrap(), writer, output_reader);
    server.initialize();
    for flags in [rustix::fs::fcntl_getfl(&reader), rustix::fs::fcntl_getfl(&output_writer)] {
        assert!(!flags.unwrap().contains(rustix::fs::OFlags::NONBLOCK));
    }
}

#[test]
fn a_program_cannot_reach_the_protocol() {
    let world = World::new();
    let mut server = world.serve();
    let code = "for fd in 0 1 2 3 4 5 6 7 8 9; do echo intruder 2>/dev/null >&$fd; done; \
                cat <&0; ls -l /proc/self/fd";
    server.shell(code);
    server.ping(Duration::from_secs(5));
    assert!(server.unasked().is_empty());
}
