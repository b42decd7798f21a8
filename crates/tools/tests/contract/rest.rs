//! A server for many roots closes the stores of those that nobody uses.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Workspace, reference};

#[test]
fn an_unused_store_is_closed_and_nothing_is_forgotten() {
    let w = Workspace::new();
    let code = format!("# {}\nseq 1 3000; echo kakapo", "-".repeat(300));
    let text = w.run("execute", json!({"language": "shell", "code": code}));
    let stored = reference(&text);
    let script = text.rsplit("[s:").next().unwrap().trim_end_matches(']');
    assert!(w.open_store_files() > 0, "the control");
    let hour = Duration::from_hours(1);
    assert!(w.rest(hour).is_some_and(|left| left <= hour), "it was used just now");
    assert!(w.open_store_files() > 0);
    // Work behind the answer may still want it.
    let until = Instant::now() + Duration::from_secs(20);
    while w.rest(Duration::ZERO).is_some() || w.open_store_files() > 0 {
        assert!(Instant::now() < until, "{} are open", w.open_store_files());
        w.ok("search", json!({"queries": ["kakapo"]}));
    }
    assert_eq!(w.rest(Duration::ZERO), None, "nothing is left to close");
    assert!(w.read_all(&stored, 4096).contains("\n2999\n"));
    w.ok("execute", json!({"script_ref": format!("s:{script}")}));
}
