//! Exact retrieval by reference, paging, and every way a reference can fail.

use serde_json::json;

use crate::support::{Workspace, reference};

/// F-030.
#[test]
fn exact_reference_retrieval_returns_the_content() {
    let w = Workspace::new();
    let mut text = String::new();
    for i in 0..6_000 {
        let end = if i % 3 == 0 { "\r\n" } else { "\n" };
        text.push_str(&format!("line {i}\twith tab  and trailing blanks   👩‍👩‍👧‍👦 ü{end}"));
        if i % 50 == 0 {
            text.push_str("\n\n");
        }
    }
    text.push_str("no final newline");
    w.write("big.txt", &text);
    let receipt = w.ok("index", json!({"path": "big.txt"}));
    assert_eq!(w.read_all(&reference(&receipt), 8_192), text);
    assert_eq!(w.read_all(&reference(&receipt), 700), text);
}

#[test]
fn the_tail_of_a_document_is_read_to_its_present_end() {
    let w = Workspace::new();
    let text: String = (0..2_000).map(|i| format!("row {i}\n")).collect();
    w.write("rows.txt", &text);
    let range = reference(&w.ok("index", json!({"path": "rows.txt"})));
    let (first, _) = range.split_once('-').unwrap();
    assert_eq!(w.read_all(&format!("{first}-"), 8_192), text);
    let skipped = w.ok("search", json!({"refs": [format!("{first}@4")]}));
    assert!(skipped.lines().nth(1).unwrap().starts_with('0'), "{skipped}");
}

/// A program gets the text of a part as it is read by reference, from the byte that is named.
#[test]
fn a_part_of_a_document_is_given_to_a_program() {
    let w = Workspace::new();
    let text: String = (0..9_000).map(|i| format!("row {i} with some words\n")).collect();
    w.write("rows.txt", &text);
    let range = reference(&w.ok("index", json!({"path": "rows.txt"})));
    let (first, last) = range.trim_start_matches("r:").split_once('-').unwrap();
    let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
    assert!(last > first + 3, "{range}");
    let given = |path: &str| {
        let code = "import sys; sys.stdout.write(sys.stdin.read())";
        let answer = json!({"path": path, "language": "python", "code": code});
        let said = w.run("exec-file", answer);
        if said.contains(" · r:") { w.read_all(&reference(&said), 8_192) } else { said }
    };
    let part = format!("r:{}-{}", first + 1, first + 2);
    let read = w.read_all(&part, 8_192);
    assert!(text.contains(&read) && read.len() > 100, "{read}");
    assert_eq!(given(&part), read);
    assert_eq!(given(&format!("r:{}@9-{}", first + 1, first + 2)), read[9..]);
    assert_eq!(
        given(&format!("r:{}-", first + 1)),
        w.read_all(&format!("r:{}-", first + 1), 8_192)
    );
    assert_eq!(given(&range), text, "the control: the whole of it");
    let call = |path: String| json!({"path": path, "language": "shell", "code": "cat"});
    let error = w.error("exec-file", call(format!("r:{}-{}", first, last + 9)));
    assert!(error.contains("leaves its document"), "{error}");
    let error = w.error("exec-file", call(".".to_owned()));
    assert!(error.contains("is a directory; name a regular file"), "{error}");
}

#[test]
fn a_reference_that_leads_nowhere_says_why() {
    let w = Workspace::new();
    w.write("a.txt", "first text of the file\n");
    let old = reference(&w.ok("index", json!({"path": "a.txt"})));
    w.write("a.txt", "second text, quite different\n");
    let new = reference(&w.ok("index", json!({"path": "a.txt"})));
    assert_ne!(old, new);
    let error = w.error("search", json!({"refs": [old]}));
    assert!(error.contains(&format!("{old} replaced, now {new}")), "{error}");
    let error = w.error("search", json!({"refs": ["r:1"]}));
    assert!(error.contains("r:1 unknown"), "{error}");
    let error = w.error("search", json!({"refs": ["nonsense"]}));
    assert!(error.contains("is not a reference"), "{error}");
    let error = w.error("search", json!({"refs": [format!("{new}@999")]}));
    assert!(error.contains("begins behind the chunk's end"), "{error}");
    let mixed = w.ok("search", json!({"refs": [new, "r:1"]}));
    assert!(mixed.contains("second text") && mixed.contains("r:1 unknown"), "{mixed}");
}

#[test]
fn a_range_never_crosses_a_document() {
    let w = Workspace::new();
    w.write("a.txt", "alpha\n");
    w.write("b.txt", "beta\n");
    let a = reference(&w.ok("index", json!({"path": "a.txt"})));
    w.ok("index", json!({"path": "b.txt"}));
    let first: u64 = a.trim_start_matches("r:").parse().unwrap();
    let error = w.error("search", json!({"refs": [format!("r:{first}-{}", first + 1)]}));
    assert!(error.contains("leaves its document, which ends at"), "{error}");
}

#[test]
fn references_survive_a_restart_and_stay_in_their_root() {
    let w = Workspace::new();
    w.write("a.txt", "durable text\n");
    let kept = reference(&w.ok("index", json!({"path": "a.txt"})));
    let w = w.restarted();
    assert!(w.ok("search", json!({"refs": [kept]})).contains("durable text"));
    let other = Workspace::new();
    other.write("x.txt", "elsewhere\n");
    other.ok("index", json!({"path": "x.txt"}));
    other.error("search", json!({"refs": [kept]}));
}

/// The header line, the text exactly, one added newline, in order.
#[test]
fn a_page_has_the_form_of_the_contract() {
    let w = Workspace::new();
    w.write("n.md", "# Title\n\nbody\n");
    let r = reference(&w.ok("index", json!({"path": "n.md"})));
    assert_eq!(
        w.ok("search", json!({"refs": [r]})),
        format!("[{r}] Title (n.md:L1-3)\n# Title\n\nbody\n\n")
    );
}
