//! The protocol's revisions, and the orders in which clients begin.

use serde_json::{Value, json};

use crate::harness::{World, keys, shell};

const NEWEST: &str = "2026-07-28";

fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": { "roots": { "listChanged": true }, "elicitation": {} },
        "clientInfo": { "name": "test", "version": "0" },
    })
}

/// What a request of the newest revision carries.
fn meta() -> Value {
    json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    }})
}

#[test]
fn every_older_revision_is_spoken_as_it_was_asked_for() {
    let world = World::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut server = world.serve();
        server.request("a", "initialize", initialize(version));
        let answer = server.answer("a");
        assert_eq!(answer["protocolVersion"], version);
        assert_eq!(answer["serverInfo"]["name"], "quietcontext");
        assert!(!answer["instructions"].as_str().unwrap().is_empty());
        assert_eq!(keys(&answer["capabilities"]), ["tools"]);
        server.notify("notifications/initialized", json!({}));
        let list = server.ask("tools/list", json!({}));
        assert_eq!(keys(&list), ["tools"], "{version}");
        let answer = server.ask("tools/call", json!({ "name": "search", "arguments": {} }));
        assert_eq!(keys(&answer), ["content", "isError"], "{version}");
    }
}

#[test]
fn discovery_first_and_no_initialize_at_all() {
    let world = World::new();
    let mut server = world.serve();
    server.request("discover-1", "server/discover", meta());
    let answer = server.answer("discover-1");
    let versions = answer["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(NEWEST)), "{answer}");
    assert!(!answer["instructions"].as_str().unwrap().is_empty());
    let list = server.ask("tools/list", meta());
    assert_eq!(list["resultType"], "complete");
    assert_eq!(list["cacheScope"], "public");
    assert!(list["ttlMs"].as_u64().unwrap() > 0);
    let mut call = meta();
    call["name"] = json!("execute");
    call["arguments"] = shell("echo modern");
    let answer = server.ask("tools/call", call);
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("modern"), "{answer}");
    assert_eq!(answer["resultType"], "complete");
    for empty in ["prompts/list", "resources/list", "resources/templates/list"] {
        let answer = server.ask(empty, meta());
        assert!(answer["ttlMs"].is_u64(), "{empty}: {answer}");
    }
}

#[test]
fn discovery_first_and_then_the_old_way() {
    let world = World::new();
    let mut server = world.serve();
    server.request("d", "server/discover", meta());
    server.answer("d");
    server.request(0, "initialize", initialize("2025-11-25"));
    assert_eq!(server.answer(0)["protocolVersion"], "2025-11-25");
    assert_eq!(keys(&server.ask("tools/list", json!({}))), ["tools"]);
    assert!(server.shell("echo old").text.contains("old"));
}

#[test]
fn discovery_without_what_it_needs_is_answered() {
    let world = World::new();
    let mut server = world.serve();
    server.request("d", "server/discover", json!({}));
    assert_eq!(server.answer("d")["code"], -32602);
    server.initialize();
}

#[test]
fn a_revision_that_does_not_exist_is_refused_by_name() {
    let world = World::new();
    let mut server = world.serve();
    let mut params = meta();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let error = server.ask("tools/list", params);
    assert!(error["code"].as_i64().unwrap() < 0, "{error}");
    assert!(error.to_string().contains(NEWEST), "{error}");
}

#[test]
fn empty_lists_where_there_is_nothing() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    for (method, member) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        assert_eq!(server.ask(method, json!({})), json!({ member: [] }));
    }
}
