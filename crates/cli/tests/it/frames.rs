//! F-068: odd frames. Each request with an id gets one answer, notifications none, and the
//! service goes on: a ping is answered after each.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, World, keys};

const SOON: Duration = Duration::from_secs(1);

/// One row: what is written, and the answers that have to come, as id and error code (0 for a
/// result).
struct Frame {
    name: &'static str,
    bytes: Vec<u8>,
    answers: Vec<(Value, i64)>,
}

fn frame(name: &'static str, text: &str, answers: &[(Value, i64)]) -> Frame {
    Frame { name, bytes: format!("{text}\n").into_bytes(), answers: answers.to_vec() }
}

fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn search(id: &str, query: &str) -> String {
    request(
        id,
        "tools/call",
        &format!(r#"{{"name":"search","arguments":{{"queries":["{query}"]}}}}"#),
    )
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn frames() -> Vec<Frame> {
    let deep = format!("{}{}", r#"{"a":["#.repeat(2_500), "]}".repeat(2_500));
    let call = |arguments: &str| format!(r#"{{"name":"search","arguments":{arguments}}}"#);
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let mut frames = vec![
        frame("unknown method", &request("1", "no/such", "{}"), &[(json!(1), -32601)]),
        frame("params null", &request("2", "tools/list", "null"), &[(json!(2), 0)]),
        frame("call with params null", &request("3", "tools/call", "null"), &[(json!(3), -32602)]),
        frame(
            "call without params",
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call"}"#,
            &[(json!(4), -32602)],
        ),
        frame(
            "call without a name",
            &request("5", "tools/call", r#"{"arguments":{}}"#),
            &[(json!(5), -32602)],
        ),
        frame(
            "unknown tool",
            &request("6", "tools/call", r#"{"name":"no","arguments":{}}"#),
            &[(json!(6), -32602)],
        ),
        frame(
            "arguments as array",
            &request("7", "tools/call", &call("[1]")),
            &[(json!(7), -32602)],
        ),
        frame(
            "arguments as text",
            &request("8", "tools/call", &call("\"x\"")),
            &[(json!(8), -32602)],
        ),
        frame("arguments null", &request("9", "tools/call", &call("null")), &[(json!(9), 0)]),
        frame("params as array", &request("10", "tools/list", "[]"), &[(json!(10), -32602)]),
        frame("empty method", &request("11", "", "{}"), &[(json!(11), -32601)]),
        frame(
            "method as number",
            r#"{"jsonrpc":"2.0","id":12,"method":7}"#,
            &[(json!(12), -32600)],
        ),
        frame("id as text", &ping(r#""str""#), &[(json!("str"), 0)]),
        frame("id 0", &ping("0"), &[(json!(0), 0)]),
        frame("id null", &ping("null"), &[(Value::Null, -32600)]),
        frame("id 1.5", &ping("1.5"), &[(json!(1.5), -32600)]),
        frame("id as object", &ping("{}"), &[(Value::Null, -32600)]),
        frame("largest id", &ping("9223372036854775807"), &[(json!(i64::MAX), 0)]),
        frame("batch", &format!("[{},{}]", ping("13"), ping("14")), &[(Value::Null, -32600)]),
        frame("empty batch", "[]", &[(Value::Null, -32600)]),
        frame("no jsonrpc", r#"{"id":15,"method":"ping"}"#, &[(json!(15), -32600)]),
        frame(
            "jsonrpc 1.0",
            r#"{"jsonrpc":"1.0","id":16,"method":"ping"}"#,
            &[(json!(16), -32600)],
        ),
        frame(
            "result and method",
            r#"{"jsonrpc":"2.0","id":17,"method":"ping","result":{}}"#,
            &[(json!(17), -32600)],
        ),
        frame("blank line", "", &[]),
        frame("white space", " \t ", &[]),
        frame("carriage return", &format!("{}\r", ping("18")), &[(json!(18), 0)]),
        frame("byte order mark", &format!("\u{feff}{}", ping("19")), &[(json!(19), 0)]),
        frame("not JSON", "hello", &[(Value::Null, -32700)]),
        frame("cut JSON", r#"{"jsonrpc":"2.0","id":20,"#, &[(Value::Null, -32700)]),
        frame("two on a line", &format!("{}{}", ping("21"), ping("22")), &[(Value::Null, -32700)]),
        frame("a number", "42", &[(Value::Null, -32600)]),
        frame("lone surrogate", &search("23", r"a\ud800b"), &[(json!(23), 0)]),
        frame("lone surrogate as id", &ping(r#""\udc00""#), &[(json!("\u{fffd}"), 0)]),
        frame("deep arguments", &request("24", "tools/call", &call(&deep)), &[(json!(24), -32600)]),
        frame(
            "deep notification",
            &format!(r#"{{"jsonrpc":"2.0","method":"x","params":{deep}}}"#),
            &[],
        ),
        frame("deep and open", &"[".repeat(5_000), &[(Value::Null, -32700)]),
        frame("unknown notification", r#"{"jsonrpc":"2.0","method":"notifications/no"}"#, &[]),
        frame("stray result", r#"{"jsonrpc":"2.0","id":77,"result":{}}"#, &[]),
        frame("stray error", r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}"#, &[]),
        frame("odd result", r#"{"jsonrpc":"2.0","id":77,"result":7}"#, &[]),
        frame(
            "unknown cursor",
            &request("25", "tools/list", r#"{"cursor":"x"}"#),
            &[(json!(25), -32602)],
        ),
        frame("prompts", &request("26", "prompts/list", "{}"), &[(json!(26), 0)]),
        frame("resources", &request("27", "resources/list", "{}"), &[(json!(27), 0)]),
        frame("templates", &request("28", "resources/templates/list", "{}"), &[(json!(28), 0)]),
        frame("unknown revision", &request("29", "initialize", INITIALIZE_2099), &[(json!(29), 0)]),
        frame(
            "initialize without params",
            &request("30", "initialize", "{}"),
            &[(json!(30), -32602)],
        ),
        frame(
            "duplicate id",
            &format!("{}\n{}", ping("31"), ping("31")),
            &[(json!(31), 0), (json!(31), 0)],
        ),
        frame(
            "two in one write",
            &format!("{}\n{}", ping("32"), ping("33")),
            &[(json!(32), 0), (json!(33), 0)],
        ),
    ];
    let mut broken = search("34", "a?b").into_bytes();
    let at = broken.iter().position(|&byte| byte == b'?').unwrap();
    broken[at] = 0xff;
    broken.push(b'\n');
    frames.push(Frame { name: "invalid UTF-8", bytes: broken, answers: vec![(json!(34), 0)] });
    frames
}

const INITIALIZE_2099: &str =
    r#"{"protocolVersion":"2099-01-01","capabilities":{},"clientInfo":{"name":"t","version":"0"}}"#;

fn check(server: &mut Server, frame: &Frame) {
    for (id, code) in &frame.answers {
        let message = server.message(id.clone());
        let found = message["error"]["code"].as_i64().unwrap_or(0);
        assert_eq!(found, *code, "{}: {message}", frame.name);
        assert!(keys(&message).len() == 3, "{}: {message}", frame.name);
    }
    server.ping(SOON);
    let unasked = server.unasked();
    assert!(unasked.is_empty(), "{}: {unasked:?}", frame.name);
}

#[test]
fn each_odd_frame_gets_its_answers_and_the_service_goes_on() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    for frame in frames() {
        server.write(&frame.bytes);
        check(&mut server, &frame);
    }
}

#[test]
fn each_odd_frame_is_survived_before_initialize() {
    let world = World::new();
    for frame in frames() {
        let mut server = world.serve();
        server.write(&frame.bytes);
        check(&mut server, &frame);
    }
}

#[test]
fn a_message_may_arrive_in_pieces() {
    let world = World::new();
    let mut server = world.serve();
    let line = format!("{}\n", request("1", "tools/list", "{}"));
    for piece in line.as_bytes().chunks(line.len() / 7 + 1) {
        server.write(piece);
    }
    assert_eq!(server.answer(1)["tools"].as_array().unwrap().len(), 6);
}

#[test]
fn twelve_megabytes_on_a_line_are_taken() {
    let world = World::new();
    let mut server = world.serve();
    let big = "x".repeat(12 << 20);
    let answer = server.call("search", json!({ "queries": ["a"], "unheard_of": big }));
    assert!(answer.is_error && answer.text.contains("unheard_of"), "{answer:?}");
    server.ping(SOON);
}

#[test]
fn a_line_over_the_limit_is_refused_by_its_id() {
    let world = World::new();
    let mut server = world.serve();
    let big = "x".repeat(17 << 20);
    server.write(format!("{}\n", search("7", &big)).as_bytes());
    assert_eq!(server.answer(7)["code"], -32600);
    let last = format!(r#"{{"method":"tools/call","params":{{"id":3,"x":"{big}"}},"id":"last"}}"#);
    server.write(format!("{last}\n").as_bytes());
    assert_eq!(server.answer("last")["code"], -32600);
    server.ping(SOON);
    assert!(server.unasked().is_empty());
}

#[test]
fn initialize_twice_and_the_list_before_it() {
    let world = World::new();
    let mut server = world.serve();
    server.notify("notifications/initialized", json!({}));
    let list = server.ask("tools/list", json!({}));
    assert_eq!(server.initialize()["protocolVersion"], "2025-06-18");
    assert_eq!(server.initialize()["protocolVersion"], "2025-06-18");
    assert_eq!(server.ask("tools/list", json!({})), list);
    let unknown = server.ask("initialize", serde_json::from_str(INITIALIZE_2099).unwrap());
    assert_eq!(unknown["protocolVersion"], "2025-11-25");
}

#[test]
fn a_name_with_underscores_is_the_same_tool() {
    let world = World::new();
    let mut server = world.serve();
    for (underscored, hyphened) in [("exec_file", "exec-file"), ("fetch_index", "fetch-index")] {
        let answer = server.call(underscored, json!({}));
        assert!(answer.is_error);
        assert_eq!(answer, server.call(hyphened, json!({})));
    }
}
