//! Kinds of questions, each with the text that answers it.

use super::Shelf;
use crate::{Label, NewDocument, Origin, Verdict};

#[test]
fn queries_with_punctuation_find_their_document() {
    let shelf = Shelf::with(&[(
        "notes.txt",
        "The multi-agent loop doesn't stop.\nsee src/main.rs on ubuntu 20.04\n\
         run tsc --error-on-warnings\nkey a:b maps foo(x)",
    )]);
    for query in [
        "multi-agent",
        "doesn't",
        "src/main.rs",
        "ubuntu 20.04",
        "\"--error-on-warnings\"",
        "foo(",
        "a:b",
    ] {
        assert_eq!(shelf.first(query).as_deref(), Some("notes.txt"), "{query}");
    }
    for query in ["*", "", "   ", "\"", "^", "%", "\0", "()"] {
        assert_eq!(shelf.find(query).verdict, Verdict::NothingToSearch, "{query:?}");
    }
    for query in ["AND", "NOT", "NEAR(", "col:", "-z"] {
        assert!(shelf.find(query).hits.is_empty(), "{query:?}");
    }
}

#[test]
fn chinese_words_of_two_characters_are_found() {
    let shelf = Shelf::with(&[
        ("zh.txt", "用户身份验证失败，请检查数据库连接"),
        ("glued.txt", "使用Rust语言编写"),
        ("ko.txt", "소유권은 러스트의 기능이다"),
    ]);
    for query in ["用户", "身份", "数据库", "验证失败", "接"] {
        assert_eq!(shelf.first(query).as_deref(), Some("zh.txt"), "{query}");
    }
    assert_eq!(shelf.first("rust").as_deref(), Some("glued.txt"));
    assert_eq!(shelf.first("소유권").as_deref(), Some("ko.txt"));
    assert!(shelf.find("北京").hits.is_empty());
}

#[test]
fn names_are_found_in_any_style() {
    let shelf = Shelf::with(&[
        ("camel.js", "export function parseHumanSize(text) {\n  return 1;\n}\n"),
        ("snake.py", "def apply_secrets(config):\n    return config\n"),
        ("use.py", "from snake import apply_secrets\n\napply_secrets(apply_secrets({}))\n"),
        ("filler.md", "# Sizes\n\nA human can parse many things. Some apply to secrets.\n"),
    ]);
    for query in ["parseHumanSize", "parse_human_size", "ParseHumanSize", "parseHumanSzie"] {
        assert_eq!(shelf.first(query).as_deref(), Some("camel.js"), "{query}");
    }
    for query in ["apply_secrets", "applySecrets", "apply_secrets definition"] {
        assert_eq!(shelf.first(query).as_deref(), Some("snake.py"), "{query}");
    }
}

#[test]
fn codes_versions_paths_and_flags_come_first() {
    let shelf = Shelf::with(&[
        ("decisions.md", "# Decisions\n\nDEC-0053 was replaced.\nDEC-0054 keeps the table.\n"),
        ("other.md", "# Log\n\nDEC 54 is mentioned, 0054 too, in a table of decisions.\n"),
        ("src/main.rs", "fn main() {\n    println!(\"{}\", 1);\n}\n"),
        ("readme.md", "# Readme\n\nThe program starts in src/main.rs, see src/main.rs again.\n"),
        ("errors.rs", "pub type Result = std::result::Result<(), std::io::Error>;\n"),
        ("changes.md", "# Changes\n\nv1.2.3-rc.1 fixes a crash.\nv1.2.3 is older.\n"),
    ]);
    for (query, source) in [
        ("DEC-0054", "decisions.md"),
        ("src/main.rs", "src/main.rs"),
        ("main.rs", "src/main.rs"),
        ("std::io::Error", "errors.rs"),
        ("v1.2.3-rc.1", "changes.md"),
    ] {
        assert_eq!(shelf.first(query).as_deref(), Some(source), "{query}");
    }
}

#[test]
fn a_path_leads_to_the_beginning_of_its_file() {
    let functions = |part: usize| {
        format!(
            "/// Part {part} of walk.rs.\nfn walk_{part}(n: usize) {{\n{}}}\n\n",
            "    step(n);\n".repeat(90)
        )
    };
    let long = (0..200).map(functions).collect::<Vec<_>>().concat();
    let log =
        "panicked at crates/ignore/src/walk.rs:7: src/walk.rs, ignore/src/walk.rs\n".repeat(9);
    let shelf = Shelf::with(&[("crates/ignore/src/walk.rs", &long), ("panic.log", &log)]);
    for query in ["src/walk.rs", "walk.rs", "./crates/ignore/src/walk.rs"] {
        let hits = shelf.find(query).hits;
        assert_eq!(hits[0].source, "crates/ignore/src/walk.rs", "{query}");
        assert_eq!(hits[0].lines.0, 1, "{query}");
    }
}

#[test]
fn anchors_and_keys_are_where_a_name_is_explained() {
    let shelf = Shelf::with(&[
        (
            "use.js",
            "throw new ERR_NOT_FOUND()\nif (e instanceof ERR_NOT_FOUND) retry(ERR_NOT_FOUND)\n",
        ),
        (
            "errors.md",
            "# Errors\n\n| Code | Meaning |\n|--|--|\n| <a id=\"err_not_found\">ERR_NOT_FOUND</a> | gone |\n",
        ),
        ("use.py", "settings.max_retries\nprint(settings.max_retries, max_retries)\n"),
        ("settings.toml", "[http]\ntimeout = 3\nmax_retries = 5\n"),
        ("chain.rs", "fn and_then<F>(self, op: F) {}\n"),
        ("chain.md", "And then there was more, and then some.\n"),
    ]);
    for (query, source) in
        [("ERR_NOT_FOUND", "errors.md"), ("max_retries", "settings.toml"), ("and_then", "chain.rs")]
    {
        assert_eq!(shelf.first(query).as_deref(), Some(source), "{query}");
    }
}

#[test]
fn stems_typos_parts_and_questions() {
    let shelf = Shelf::with(&[
        ("a.md", "# Caching\n\nThe scheduler replaces entries that were configured as stale.\n"),
        ("b.md", "# Locks\n\nA deadlock happens when two threads wait for each other.\n"),
        ("c.md", "# Release\n\nCommit 3f9c0de12b4a fixed the deployment pipeline.\n"),
        ("d.md", "# Weather\n\nIt rains. Nothing else is known about the weather here.\n"),
    ]);
    for (query, source) in [
        ("configuration of stale entries", "a.md"),
        ("sheduler", "a.md"),
        ("deadlokc", "b.md"),
        ("eadloc", "b.md"),
        ("3f9c0de", "c.md"),
        ("why do threads wait for each other?", "b.md"),
        ("replacing entry", "a.md"),
    ] {
        assert_eq!(shelf.first(query).as_deref(), Some(source), "{query}");
    }
}

#[test]
fn inflections_come_before_words_only_derived() {
    let shelf = Shelf::with(&[
        ("derived.md", "# Parts\n\nA replacement of the controller is a replacement for years.\n"),
        (
            "inflected.md",
            "# Parts\n\nHe replaced what controls the engine, years ago, in spring.\n",
        ),
        ("large.md", "# Sizes\n\nA large map was written by a child.\n"),
    ]);
    for query in ["replaces control", "replacing controls"] {
        assert_eq!(shelf.sources(query), ["inflected.md", "derived.md"], "{query}");
    }
    for query in ["larger maps", "children write", "largest writing"] {
        assert_eq!(shelf.first(query).as_deref(), Some("large.md"), "{query}");
    }
}

#[test]
fn a_slip_of_the_keys_never_changes_a_digit() {
    let shelf = Shelf::with(&[
        ("one.md", "# Queues\n\nThe worker1 queue.\n"),
        (
            "two.md",
            "# Queues\n\nThe worker2 queue. A worker2 is no worker, worker2 is a worker2.\n",
        ),
    ]);
    for (query, source) in [("wokrer1", "one.md"), ("worker1", "one.md"), ("wokrer2", "two.md")] {
        assert_eq!(shelf.first(query).as_deref(), Some(source), "{query}");
    }
}

#[test]
fn quoted_text_wins() {
    let shelf = Shelf::with(&[
        ("many.md", "# Of and the\n\nof the state the of state of the the of state of state.\n"),
        ("one.md", "# Plan\n\nWe look at the state\nof the art and go on.\n"),
    ]);
    assert_eq!(shelf.first("\"the state of the art\"").as_deref(), Some("one.md"));
    assert_eq!(shelf.first("\"tate of the ar\"").as_deref(), Some("one.md"));
}

#[test]
fn an_object_is_known_by_its_name() {
    let shelf = Shelf::with(&[
        ("use.log", "SIM102 here\nSIM102 there\nSIM102 again and SIM102\n"),
        (
            "rules.json",
            "[{\"name\": \"collapsible-if\", \"code\": \"SIM102\", \"text\": \"nested\"}]",
        ),
    ]);
    assert_eq!(shelf.first("SIM102").as_deref(), Some("rules.json"));
    assert_eq!(shelf.first("collapsible if").as_deref(), Some("rules.json"));
}

#[test]
fn what_is_not_there_is_said() {
    let shelf = Shelf::with(&[
        ("a.md", "# Tuning\n\nThe cache is tuned by its size.\n"),
        ("b.md", "# Size\n\nThe size of a cache is a number.\n"),
    ]);
    assert_eq!(shelf.find("kubernetes ingress").verdict, Verdict::NoMatch);
    let weak = shelf.find("tuning kubernetes ingress certificates");
    assert_eq!((weak.verdict, weak.hits.len()), (Verdict::Weak, 1));
    // Words that only happen to stand in one long list.
    let entries = |words: &[&str]| {
        let entry = |word: &&str| {
            format!(
                "- the {word} entry, one of many others here\n{}",
                "- something else entirely, and more of it\n".repeat(9)
            )
        };
        words.iter().map(entry).collect::<Vec<_>>().concat()
    };
    shelf.add("list.md", &format!("# List\n\n{}", entries(&["lantern", "harbour", "velvet"])));
    shelf.add("near.md", "# Near\n\nA kettle stood by the copper basin, painted.\n");
    assert_eq!(shelf.find("lantern harbour velvet quarry trumpet").verdict, Verdict::Weak);
    assert_eq!(shelf.find("kettle copper basin quarry trumpet").verdict, Verdict::Good);
    assert_eq!(shelf.find("cache size").verdict, Verdict::Good);
    assert_eq!(Shelf::new().find("cache").verdict, Verdict::NothingToSearch);
}

#[test]
fn a_name_that_is_nowhere_is_not_found_in_pieces() {
    let shelf = Shelf::with(&[
        ("parse.rs", "fn parse_header() {}\n\nfn other() {\n    // the limit\n}\n"),
        ("codes.md", "# Codes\n\nAt most 9999 of them. E9998 is one.\n"),
        ("size.md", "# Size\n\nHow to parse a human size.\n"),
    ]);
    for absent in ["parse_the_limit_header", "E9999", "other_limit"] {
        let found = shelf.find(absent);
        assert!(!matches!(found.verdict, Verdict::Good), "{absent}: {found:?}");
        assert!(found.hits.len() <= 1, "{absent}");
    }
    // The controls: in another style, in its own words, with a slip of the keys, as a part.
    for present in ["parseHeader", "parse_human_size", "parse_haeder", "E9998", "header"] {
        assert_eq!(shelf.find(present).verdict, Verdict::Good, "{present}");
    }
}

#[test]
fn identical_text_is_one_hit_with_all_its_labels() {
    let text = "# Setup\n\nThe frobnicator is calibrated twice.\n";
    let shelf = Shelf::with(&[("a/setup.md", text), ("b/setup.md", text), ("c/setup.md", text)]);
    let hits = shelf.find("frobnicator calibrated").hits;
    assert_eq!(hits.len(), 1);
    let mut labels = hits[0].also.clone();
    labels.push(hits[0].source.clone());
    labels.sort();
    assert_eq!(labels, ["a/setup.md", "b/setup.md", "c/setup.md"]);
}

/// A function of forty lines, in some version of its file.
fn api(version: usize) -> String {
    let body = (0..36).map(|n| format!("\tstep{n} := load({n})\n")).collect::<Vec<_>>().concat();
    format!(
        "package core\n\n// version {version}\nfunc GetPlanSoc(id int) int {{\n{body}\treturn {version}\n}}\n"
    )
}

#[test]
fn copies_do_not_crowd_out_the_file_or_fresh_output() {
    let shelf = Shelf::new();
    for copy in 0..12 {
        shelf.add(&format!(".agents/wt-{copy}/core/api.go"), &api(copy));
    }
    shelf.add("core/api.go", &api(99));
    let sources = shelf.sources("GetPlanSoc");
    assert!(sources.iter().take(2).any(|source| source == "core/api.go"), "{sources:?}");

    let noise = (0..150)
        .map(|n| format!("request {n} took {} ms, all is well\n", n * 7))
        .collect::<Vec<_>>()
        .concat();
    let log = format!("calling GetPlanSoc\n{noise}GetPlanSoc returned 7\n{noise}GetPlanSoc done\n");
    let document = NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run);
    let label = shelf.store.add(document, &mut log.as_bytes(), None).unwrap().label;
    let found = shelf.find("GetPlanSoc");
    let sources: Vec<&str> = found.hits.iter().map(|hit| hit.source.as_str()).collect();
    assert!(sources.iter().take(3).any(|source| *source == label), "{sources:?}");
}

#[test]
fn an_endless_line_gives_a_bounded_preview() {
    let text = format!("{}NEEDLE_MIN=7;{}", "x=1;".repeat(60_000), "y=2;".repeat(60_000));
    let shelf = Shelf::with(&[("bundle.min.js", &text)]);
    let hits = shelf.find("NEEDLE_MIN").hits;
    assert!(hits[0].snippet.contains("NEEDLE_MIN=7;"));
    assert!(hits[0].snippet.chars().count() <= 600);
}
