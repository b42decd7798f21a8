//! A daemon that is asked for more than it can do at once: who is answered first.

use std::{
    fs,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::json;

use crate::harness::{World, call, finish};

/// Text of about that size that is new each time.
fn text(kilobytes: usize, number: usize) -> String {
    let line = |at: usize| format!("Paragraph {at} of text {number}: {}.\n\n", at * 7919 % 104_729);
    (0..kilobytes * 25).map(line).collect()
}

/// Seen by what is answered first: much of one session is not yet, when the little of another one is.
#[test]
fn a_quiet_session_does_not_wait_for_all_that_a_busy_one_has_asked() {
    const MANY: usize = 24;
    let world = World::new();
    let daemon = world.daemon();
    let [busy, quiet] = ["busy", "quiet"].map(|name| world.work().join(name));
    for root in [&busy, &quiet] {
        fs::create_dir(root).unwrap();
        // The store is there, and the busy root has had something.
        let content = json!({ "content": text(100, 0), "source": "first" });
        assert!(!daemon.call(root, "index", content).is_error);
    }
    let answered = AtomicUsize::new(0);
    let sent = Barrier::new(MANY + 1);
    thread::scope(|scope| {
        for number in 1..=MANY {
            let (daemon, busy, answered, sent) = (&daemon, &busy, &answered, &sent);
            scope.spawn(move || {
                // Long enough that a client which is slow to ask has not missed half of them.
                let arguments =
                    json!({ "content": text(2_000, number), "source": format!("text {number}") });
                let headers = [("x-quietcontext-root", busy.to_str().unwrap())];
                let request = daemon.request(&headers, &call("index", arguments).to_string());
                let stream = daemon.begin(&request);
                sent.wait();
                let response = finish(stream);
                answered.fetch_add(1, Ordering::SeqCst);
                assert!(response.body.contains("indexed"), "{response:?}");
            });
        }
        sent.wait();
        let before = answered.load(Ordering::SeqCst);
        let content = json!({ "content": text(1, 1), "source": "note" });
        assert!(!daemon.call(&quiet, "index", content).is_error);
        let meanwhile = answered.load(Ordering::SeqCst) - before;
        let search = daemon.call(&quiet, "search", json!({ "queries": ["paragraph"] }));
        assert!(!search.is_error, "{search:?}");
        assert!(daemon.shell(&quiet, "echo here").text.contains("here"));
        assert!(meanwhile < MANY / 2, "{meanwhile} of {MANY} went before it");
    });
    // And all that the busy one asked has been answered: it had its turns as well.
    assert_eq!(answered.load(Ordering::SeqCst), MANY);
}
