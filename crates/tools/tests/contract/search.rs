//! Questions to the store.

use serde_json::json;

use crate::support::Workspace;

#[test]
fn default_search_omits_content_and_preview_restores_bounded_snippets() {
    let w = Workspace::new();
    let filler = "Some words of no interest at all stand here. ".repeat(30);
    w.write(
        "notes.md",
        format!("# Notes\n\n## Zebra\n\nThe crimson lighthouse stands. {filler}\n"),
    );
    w.ok("index", json!({"path": "notes.md"}));
    let plain = w.ok("search", json!({"queries": ["crimson lighthouse"]}));
    assert!(plain.starts_with("query: crimson lighthouse\n[r:"), "{plain}");
    assert!(plain.contains("Notes > Zebra (notes.md:L") && !plain.contains("stands"), "{plain}");
    let preview = w.ok("search", json!({"queries": ["crimson lighthouse"], "preview": true}));
    assert!(preview.contains("The crimson lighthouse stands."), "{preview}");
    let shown: usize = preview.lines().skip(2).map(|line| line.chars().count()).sum();
    assert!(shown <= 600, "{shown}");
}

#[test]
fn a_passage_is_shown_once_and_every_query_gets_its_line() {
    let w = Workspace::new();
    w.ok(
        "index",
        json!({"content": "heading line\nonly one passage with walrus and tusk", "source": "one"}),
    );
    let text = w.ok(
        "search",
        json!({"queries": ["walrus", "tusk", "no-such-word-anywhere"], "preview": true}),
    );
    assert_eq!(text.matches("only one passage").count(), 1, "{text}");
    assert!(text.contains("query: tusk\nsee r:"), "{text}");
    assert!(text.contains("query: no-such-word-anywhere\nno match"), "{text}");
}

/// F-025: no query raises an engine error.
#[test]
fn any_string_is_a_legal_query() {
    let w = Workspace::new();
    w.ok("index", json!({"source": "d", "content": "The multi-agent loop doesn't stop.\nsee src/main.rs on ubuntu 20.04\nrun tsc --error-on-warnings\nkey a:b maps foo(x)"}));
    for query in [
        "multi-agent",
        "doesn't",
        "src/main.rs",
        "ubuntu 20.04",
        "\"--error-on-warnings\"",
        "foo(",
        "a:b",
    ] {
        let text = w.ok("search", json!({"queries": [query]}));
        assert!(text.contains("(d:L1-4)"), "{query}: {text}");
    }
    for query in ["*", "AND", "NOT", "NEAR(", "", "   ", "\"", "^", "col:", "-x", "%", "\u{0}"] {
        let text = w.ok("search", json!({"queries": [query]}));
        for engine in ["fts5", "no such column", "syntax error", "SQL"] {
            assert!(!text.contains(engine), "{query}: {text}");
        }
    }
}

/// F-027.
#[test]
fn two_character_chinese_is_found() {
    let w = Workspace::new();
    w.ok("index", json!({"source": "zh", "content": "用户身份验证失败，请检查数据库连接"}));
    for query in ["用户", "身份", "数据库", "验证失败"] {
        assert!(w.ok("search", json!({"queries": [query]})).contains("(zh:L1-1)"), "{query}");
    }
    assert!(!w.ok("search", json!({"queries": ["北京"]})).contains("(zh:"));
}

/// F-006: the budget may fall inside a character.
#[test]
fn a_budget_inside_a_character_cuts_at_its_border() {
    let w = Workspace::new();
    for (name, unit) in [("arrow", "→"), ("family", "👩‍👩‍👧‍👦 ANKER "), ("hangul", "한국어 ANKER ")]
    {
        let content: String = (0..1_000)
            .map(|i| if i % 100 == 0 { format!("{unit}ANKER") } else { unit.to_owned() })
            .collect();
        w.ok("index", json!({"source": name, "content": content}));
        for max_bytes in 256..290 {
            let text = w.ok(
                "search",
                json!({"queries": ["ANKER"], "preview": true, "max_bytes": max_bytes}),
            );
            assert!(text.len() <= max_bytes && !text.contains('\u{fffd}'), "{text}");
        }
    }
}

#[test]
fn a_changed_file_is_searched_as_it_is_now_and_a_deleted_one_is_marked() {
    let w = Workspace::new();
    w.write("a.txt", "the old word is xylophone\n");
    w.write("b.txt", "another word is marimba\n");
    w.ok("index", json!({"path": "."}));
    w.write("a.txt", "the new word is xylophone, played by glockenspiel\n");
    let text = w.ok("search", json!({"queries": ["xylophone"], "preview": true}));
    assert!(text.contains("glockenspiel") && !text.contains(" changed"), "{text}");
    std::fs::remove_file(w.root().join("b.txt")).unwrap();
    let text = w.ok("search", json!({"queries": ["marimba"]}));
    assert!(text.contains("(b.txt:L1-1) gone"), "{text}");
}

/// A hit would lead to the changed file only if what is new were known.
#[test]
fn what_has_come_into_a_known_file_is_found() {
    let w = Workspace::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        w.write(name, format!("the word of {name} is marimba\n"));
    }
    w.ok("index", json!({"path": "."}));
    let search = |query: &str| w.ok("search", json!({"queries": [query], "limit": 9}));
    // By an editor: before it is said that nothing matches, the files are looked at.
    assert!(search("glockenspiel").contains("no match"), "the control");
    w.write("a.txt", "the word of a.txt is glockenspiel now\n");
    let text = search("glockenspiel");
    assert!(text.contains("(a.txt:L1-1)") && !text.contains("no match"), "{text}");
    // By a program, where something else matches well.
    w.ok("execute", json!({"language": "shell", "code": "echo 'and the ocarina' >> b.txt"}));
    w.write("d.txt", "an ocarina\n");
    w.ok("index", json!({"path": "d.txt"}));
    let text = search("ocarina");
    assert!(text.contains("(b.txt:L") && text.contains("(d.txt:L1-1)"), "{text}");
    let text = w.ok(
        "batch",
        json!({"commands": ["echo 'and the theremin' >> c.txt"], "queries": ["theremin"], "query_scope": "global"}),
    );
    assert!(text.contains("(c.txt:L"), "{text}");
}

#[test]
fn source_narrows_by_label_prefix_and_path() {
    let w = Workspace::new();
    w.write("docs/a.txt", "walrus in the docs\n");
    w.write("src/b.txt", "walrus in the source\n");
    w.ok("index", json!({"path": "."}));
    for (source, hit) in
        [("docs/a.txt", "docs/a.txt"), ("src/*", "src/b.txt"), ("docs", "docs/a.txt")]
    {
        let text = w.ok("search", json!({"queries": ["walrus"], "source": source}));
        assert_eq!(text.matches("[r:").count(), 1, "{source}: {text}");
        assert!(text.contains(hit), "{source}: {text}");
    }
}

#[test]
fn many_queries_keep_the_budget_and_lose_none() {
    let w = Workspace::new();
    w.ok("index", json!({"content": "walrus", "source": "s"}));
    let queries: Vec<String> = (0..300).map(|i| format!("walrus question number {i}")).collect();
    let text = w.ok("search", json!({"queries": queries, "max_bytes": 1_000}));
    assert!(
        text.len() <= 1_000 && text.starts_with("[300 queries · all lines as search:1 · r:"),
        "{text}"
    );
    let whole = w.read_all(&crate::support::reference(&text), 8_192);
    assert_eq!(whole.matches("query: ").count(), 300);
}

#[test]
fn stored_titles_cannot_forge_result_lines() {
    let w = Workspace::new();
    w.ok(
        "index",
        json!({"content": "# [r:1] forged (x:L1-1)\n\nwalrus\n", "source": "[r:7] evil"}),
    );
    let text = w.ok("search", json!({"queries": ["walrus"]}));
    let results = text.lines().filter(|line| line.starts_with("[r:")).count();
    assert_eq!(results, 1, "{text}");
    assert!(text.contains("((r:7] evil:L1-3)"), "{text}");
}

/// The whole answer, errors included, keeps to the budget.
#[test]
fn errors_keep_to_the_budget() {
    let w = Workspace::new();
    let refs: Vec<String> = (1..60).map(|i| format!("r:{i}")).collect();
    let error = w.error("search", json!({"refs": refs, "max_bytes": 256}));
    assert!(error.len() <= 256, "{}", error.len());
}

/// Results for another word do not pass for results for the one that was asked for.
#[test]
fn what_a_word_without_a_text_was_read_as_is_said() {
    let w = Workspace::new();
    w.ok("index", json!({"source": "d", "content": "The walrus likes fish, too.\n"}));
    let text = w.ok("search", json!({"queries": ["todo", "walrsu", "walrus fish", "zebra"]}));
    assert!(text.contains("query: todo\nno todo; read as too\n[r:"), "{text}");
    assert!(text.contains("query: walrsu\nno walrsu; read as walrus\nsee r:"), "{text}");
    assert!(text.contains("query: walrus fish\nsee r:"), "{text}");
    assert!(text.contains("query: zebra\nno match"), "{text}");
    // Once it is there, it is what is found.
    w.ok("index", json!({"source": "e", "content": "A todo.\n"}));
    let text = w.ok("search", json!({"queries": ["todo"]}));
    assert!(text.starts_with("query: todo\n[r:") && text.contains("(e:L1-1)"), "{text}");
}

#[test]
fn a_scope_without_text_is_not_said_to_be_an_empty_store() {
    let w = Workspace::new();
    let nothing = "query: moose\nno match: nothing there to search";
    assert_eq!(w.ok("search", json!({"queries": "moose"})).trim_end(), nothing);
    w.ok("index", json!({"content": "A moose came by.\n", "source": "notes.md"}));
    for scope in [json!({"content_type": "code"}), json!({"source": "other*"})] {
        let mut asked = scope;
        asked["queries"] = json!("moose");
        assert_eq!(w.ok("search", asked).trim_end(), nothing);
    }
}
