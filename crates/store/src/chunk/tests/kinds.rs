//! What each kind must do with a small text: where chunks start and what they are called.

use super::super::{ContentKind, Context, sections, sections_with};
use super::{cut, titles};

fn kind(name: &str) -> ContentKind {
    ContentKind::parse(name).expect("a kind of that name")
}

/// Filler of about `bytes` bytes in lines of prose.
fn prose(bytes: usize) -> String {
    "Some words that say little, again.\n".repeat(bytes / 35)
}

/// The chunk that holds `word`, as `(title, text)`.
fn holding(kind_name: &str, text: &str, word: &str) -> (String, String) {
    let mut chunks = cut(kind(kind_name), text).into_iter();
    chunks.find(|(_, body)| body.contains(word)).expect("a chunk with the word")
}

#[test]
fn markdown_titles_are_heading_paths() {
    let filler = prose(300);
    let text = format!(
        "# Guide\n{filler}\n## Setup `now`\n{filler}\n### [Linux](x.html) ###\n{filler}\n<h2>Use</h2>\n{filler}\nUnderlined\n---\n{filler}"
    );
    assert_eq!(
        titles(ContentKind::Markdown, &text),
        [
            "Guide",
            "Guide > Setup now",
            "Guide > Setup now > Linux",
            "Guide > Use",
            "Guide > Underlined"
        ]
    );
}

#[test]
fn markdown_keeps_a_fence_whole_and_its_comments_are_no_headings() {
    let code = "# not a heading\nlet x = 1;\n\n".repeat(50);
    let text = format!("# One\n\n{}```sh\n{code}```\n\nafter\n", prose(600));
    let (title, body) = holding("markdown", &text, "let x");
    assert_eq!(title, "One");
    assert!(
        body.starts_with("```sh\n") && body.contains("```\n\nafter")
            || body.ends_with("```\n\n")
            || body.ends_with("```\n")
    );
    assert_eq!(body.matches("let x").count(), 50);
}

#[test]
fn markdown_takes_a_fence_without_an_end_as_text() {
    let text = format!("# One\n```\n{}\n# Two\n{}", prose(300), prose(300));
    assert_eq!(titles(ContentKind::Markdown, &text), ["One", "Two"]);
}

#[test]
fn markdown_joins_tiny_sections_and_reads_front_matter() {
    assert_eq!(titles(ContentKind::Markdown, "# A\n\n## B\ntext\n## C\ntext\n"), ["A > B, C"]);
    let text = format!("---\ntitle: \"The Page\"\ntags: [x]\n---\n{}", prose(300));
    assert_eq!(titles(ContentKind::Markdown, &text), ["The Page"]);
}

#[test]
fn rst_levels_follow_the_order_of_signs() {
    let filler = prose(300);
    let text = format!(
        "=====\nGuide\n=====\n{filler}\nSetup\n-----\n{filler}\nLinux\n~~~~~\n{filler}\nUse\n---\n{filler}"
    );
    assert_eq!(
        titles(ContentKind::Rst, &text),
        ["Guide", "Guide > Setup", "Guide > Setup > Linux", "Guide > Use"]
    );
}

#[test]
fn html_titles_are_heading_paths() {
    let filler = "<p>Some words that say little.</p>\n".repeat(9);
    let text = format!("<html><h1>Guide</h1>{filler}<h2 id=\"s\">Set <b>up</b></h2>{filler}");
    assert_eq!(titles(ContentKind::Html, &text), ["Guide", "Guide > Set up"]);
}

#[test]
fn xml_titles_are_element_paths() {
    let item = |name: &str| {
        format!("  <item name=\"{name}\">\n    <v>{}</v>\n  </item>\n", "x ".repeat(600))
    };
    let text = format!("<list>\n{}{}</list>\n", item("first"), item("second"));
    assert_eq!(titles(ContentKind::Xml, &text), ["list/item first", "list/item second"]);
}

#[test]
fn json_members_keep_key_and_value_together() {
    let value = "v".repeat(700);
    for gap in ["", "\n  "] {
        let text = format!(
            "{{{gap}\"a\": {{\"x\": \"{value}\"}},{gap}\"b\": {{{gap}\"y\": \"{value}\",{gap}\"z\": {{\"w\": \"{value}\"}},{gap}\"q\": \"{value}\"}}}}"
        );
        let (title, body) = holding("json", &text, "\"w\"");
        assert_eq!(title, "b.z", "{gap:?}");
        assert!(body.trim_start().starts_with("\"z\": {\"w\": \"v"), "{body}");
        let (title, body) = holding("json", &text, "\"x\"");
        assert_eq!(title, "a");
        assert!(body.contains("\"a\": {\"x\": \"v"), "{body}");
    }
}

#[test]
fn json_lists_show_the_number_and_the_name() {
    let object = |name: &str| format!("{{\"name\":\"{name}\",\"text\":\"{}\"}}", "t ".repeat(600));
    let text = format!("{{\"rules\":[{},{}]}}", object("first"), object("second"));
    assert_eq!(titles(ContentKind::Json, &text), ["rules[0] first", "rules[1] second"]);
}

#[test]
fn json_goes_on_in_the_next_window() {
    let value = "v ".repeat(500);
    let first = format!("{{\"a\": 1,\n\"list\": [\n\"{value}\",\n");
    let second = format!("\"{value}\"\n],\n\"after\": \"{value}\"}}");
    let mut context = Context::default();
    sections_with(ContentKind::Json, None, &first, &mut context);
    let found = sections_with(ContentKind::Json, None, &second, &mut context);
    let titles: Vec<&str> = found.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles, ["list[1]", "after"]);
}

#[test]
fn ndjson_records_survive_a_broken_neighbour() {
    let record =
        |name: &str| format!("{{\"event\":\"{name}\",\"data\":\"{}\"}}\n", "d ".repeat(400));
    let text = format!("{}{{\"broken\": [1, {{\n{}", record("start"), record("stop"));
    let (title, body) = holding("ndjson", &text, "stop");
    assert!(title.contains("record 3 stop"), "{title}");
    assert!(body.contains("{\"event\":\"stop\""));
    assert_eq!(titles(ContentKind::Ndjson, &record("only")), ["record 1 only"]);
}

#[test]
fn csv_keeps_a_record_with_line_feeds_whole() {
    let mut text = String::from("\u{feff}id,note\r\n1,\"line one\r\nQUOTED_TARGET line two\"\r\n");
    let (title, body) = holding("csv", &text, "QUOTED_TARGET");
    assert_eq!(title, "id, note: row 1");
    assert!(body.contains("1,\"line one\r\nQUOTED_TARGET line two\"\r\n"));
    for row in 2..200 {
        let row = row.to_string();
        text += &[&row, ",\"a \"\"b\"\"\r\nTAIL", &row, ";\"\r\n"].concat();
    }
    for (_, body) in cut(ContentKind::Csv, &text) {
        assert_eq!(body.matches("a \"\"b").count(), body.matches("TAIL").count(), "{body}");
    }
    let (title, _) = holding("csv", &text, "TAIL150;");
    assert!(title.starts_with("id, note: rows "), "{title}");
}

#[test]
fn csv_windows_share_the_header_and_count_on() {
    let mut context = Context::default();
    sections_with(ContentKind::Csv, None, "a;b\n1;2\n3;4\n", &mut context);
    let found = sections_with(ContentKind::Csv, None, "5;6\n", &mut context);
    assert_eq!(found.first().map(|section| section.title.as_str()), Some("a, b: row 3"));
}

#[test]
fn a_stray_quote_does_not_swallow_the_rest_of_a_table() {
    let rows = "1,2 inch,3\n".repeat(3_000);
    let text = format!("a,b,c\n1,\"open,3\n{rows}");
    let last = titles(ContentKind::Csv, &text).pop().expect("a chunk");
    assert!(last.ends_with("-3001"), "{last}");
}

#[test]
fn notebook_cells_are_named_by_heading_and_first_line() {
    let code = |line: &str| {
        format!(
            "{{\n \"cell_type\": \"code\",\n \"outputs\": [\"{}\"],\n \"source\": [\n  \"{line}\\n\",\n  \"x\"\n ]\n}}",
            "o ".repeat(300)
        )
    };
    let text = format!(
        "{{\"cells\": [\n{{\"cell_type\": \"markdown\", \"source\": [\"# Load \\\"it\\\"\\n\", \"{}\"]}},\n{},\n{}\n], \"nbformat\": 4}}",
        "words ".repeat(60),
        code("import pandas"),
        code("plot()")
    );
    assert_eq!(
        titles(ContentKind::Notebook, &text),
        [
            "Load \"it\" > cell 1",
            "Load \"it\" > cell 2: import pandas",
            "Load \"it\" > cell 3: plot()"
        ]
    );
}

#[test]
fn plain_text_is_cut_between_paragraphs() {
    let text = format!("First words.\n{}\nSecond words.\n{}", prose(1_000), prose(1_000));
    assert_eq!(titles(ContentKind::Plain, &text), ["First words.", "Second words."]);
}

#[test]
fn nothing_but_blank_lines_is_one_kind_of_text_too() {
    let text = "\n".repeat(5_000);
    assert_eq!(
        sections(ContentKind::Plain, Some("empty.txt"), &text)
            .first()
            .map(|section| section.title.as_str()),
        Some("empty.txt")
    );
}

#[test]
fn pages_are_chunks_of_their_own_and_say_their_number() {
    let filler = prose(900);
    let text = format!(
        "--- page 1 ---\nA Manual\n--- page 2 ---\n--- page 3 ---\n1. Widgets\n\n{filler}\n{filler}\nlast words\n"
    );
    let chunks = cut(ContentKind::Pages, &text);
    let titles: Vec<_> = chunks.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles[..3], ["page 1 > A Manual", "page 2", "page 3 > 1. Widgets"]);
    assert!(titles.len() > 3 && titles[3..].iter().all(|title| title.starts_with("page 3 > Some")));
    // The next window goes on with the page that the last one ended on.
    let mut context = Context::default();
    sections_with(ContentKind::Pages, None, &text, &mut context);
    let next = sections_with(ContentKind::Pages, None, "and so on\n--- page 4 ---\n", &mut context);
    let titles: Vec<_> = next.iter().map(|section| section.title.as_str()).collect();
    assert_eq!(titles, ["page 3 > and so on", "page 4"]);
}
