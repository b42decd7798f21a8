//! F-014 and F-071: calls side by side, and calls that are not wanted any more.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{World, assert_gone, mark, shell, sleeper, wait_for_process};

/// F-014: the work of a cancelled call stops within 2 s; stray cancellations change nothing.
#[test]
fn cancel_a_running_call() {
    let (world, mark) = (World::new(), mark("cancel"));
    let mut server = world.serve();
    server.initialize();
    server.begin(41, "execute", shell(&sleeper(&mark)));
    wait_for_process(&mark);
    server.notify("notifications/cancelled", json!({ "requestId": 41, "reason": "user" }));
    assert_gone(&mark, Duration::from_secs(2));
    server.ping(Duration::from_millis(200));
    for stray in [json!({ "requestId": 41 }), json!({ "requestId": 9999 }), json!({})] {
        server.notify("notifications/cancelled", stray);
        server.ping(Duration::from_millis(200));
    }
    assert!(server.unasked().is_empty(), "a cancelled call has no answer");
    assert!(server.shell("echo still here").text.contains("still here"));
}

/// F-071: a slow call delays no other.
#[test]
fn a_slow_call_does_not_block_fast_ones() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    // What is measured is the waiting, not the first opening of a store.
    server.shell("echo warm");
    server.call("search", json!({ "queries": ["warm"] }));
    let started = Instant::now();
    server.begin(1, "execute", shell("sleep 8; echo slow"));
    server.begin(2, "search", json!({ "queries": ["anything"] }));
    server.request(3, "ping", json!({}));
    server.begin(4, "execute", shell("echo fast"));
    assert_eq!(server.answer(3), json!({}));
    assert!(!server.reply(2).is_error);
    assert!(server.reply(4).text.contains("fast"));
    let fast = started.elapsed();
    assert!(server.reply(1).text.contains("slow"));
    assert!(fast < Duration::from_secs(1), "{fast:?}");
    assert!(started.elapsed() >= Duration::from_secs(8));
}

/// More calls than threads, all waiting.
#[test]
fn thirty_calls_wait_side_by_side() {
    let world = World::new();
    let mut server = world.serve();
    let started = Instant::now();
    for id in 0..30 {
        server.begin(id, "execute", shell(&format!("sleep 2; echo number {id}.")));
    }
    server.ping(Duration::from_secs(1));
    for id in 0..30 {
        let text = server.reply(id).text;
        assert!(text.contains(&format!("number {id}.")), "{text}");
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn one_id_twice_in_flight_is_answered_twice() {
    let world = World::new();
    let mut server = world.serve();
    server.begin("same", "execute", shell("sleep 1; echo first"));
    server.begin("same", "execute", shell("echo second"));
    let mut texts = [server.reply("same").text, server.reply("same").text];
    texts.sort_unstable();
    assert!(texts[0].contains("first") && texts[1].contains("second"), "{texts:?}");
}

#[test]
fn a_wrong_argument_is_an_answer_to_the_model() {
    let world = World::new();
    let mut server = world.serve();
    for arguments in [json!({}), json!({ "language": "shell" }), json!({ "cod": "x" })] {
        let answer = server.call("execute", arguments);
        assert!(answer.is_error && answer.text.starts_with("error: "), "{answer:?}");
        assert!(answer.text.len() <= 512 && !answer.text.contains('\n'), "{answer:?}");
    }
}
