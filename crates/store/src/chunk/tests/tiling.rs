//! Every chunker tiles every text.

use proptest::prelude::*;

use super::super::{Context, sections, sections_with};
use super::{assert_tiles, different_kinds, kinds};

/// Pieces that mean something to one chunker or another, in any order: broken on purpose.
const PIECES: [&str; 72] = [
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    " ",
    "    ",
    "\t",
    "\0",
    "\u{7f}",
    "\u{feff}",
    "\u{2028}",
    "é",
    "漢字かな",
    "👩‍👩‍👧",
    "word ",
    "# Title\n",
    "## Sub ##\n",
    "Title\n===\n",
    "Sub\n---\n",
    "```\n",
    "```rust\n",
    "~~~~\n",
    "---\n",
    "> quote\n",
    "- item\n",
    "| a | b |\n",
    "<h1>x</h1>",
    "<h2 id=a>",
    "</h2>",
    "<p>",
    "<a b=\"",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<x/>",
    "<x>",
    "</x>",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\"key\": ",
    "\"v\"",
    "123",
    "null,",
    "//",
    "/*",
    "*/",
    "fn name() {\n",
    "def name(self):\n",
    "class A {\n",
    "impl A for B {\n",
    "func (r *T) Name() {\n",
    "}\n",
    "end\n",
    "a,b,c\n",
    "\"a\nb\",c\n",
    "\"\"",
    "error[E0001]: no\n",
    "---- a stdout ----\n",
    "____ test ____\n",
    "=== x ===\n",
    "commit 1234567890\n",
    "diff --git a/x b/x\n",
    "@@ -1 +1 @@ fn\n",
    "\"cell_type\": \"markdown\"",
    "\"source\": [\"# x\\n\"",
];

fn broken_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,40}",
        1 => ("[a-z ,;.é]", 1..3_000_usize).prop_map(|(unit, count)| unit.repeat(count)),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_kind_tiles_broken_text(text in broken_text()) {
        for kind in kinds() {
            assert_tiles(kind, &text, &sections(kind, Some("name"), &text));
        }
    }

    #[test]
    fn every_kind_tiles_any_characters(text in "\\p{Any}{0,3000}") {
        for kind in kinds() {
            assert_tiles(kind, &text, &sections(kind, None, &text));
        }
    }

    #[test]
    fn windows_tile_like_whole_texts(first in broken_text(), second in broken_text()) {
        for kind in kinds() {
            let mut context = Context::default();
            for window in [&first, &second] {
                assert_tiles(kind, window, &sections_with(kind, None, window, &mut context));
            }
        }
    }
}

#[test]
fn an_empty_text_has_no_sections() {
    for kind in kinds() {
        assert_eq!(sections(kind, Some("name"), ""), []);
    }
}

#[test]
fn one_endless_line_is_cut_at_character_borders() {
    let units =
        ["x", "x=1;", "漢", "👩‍👩‍👧", "{\"a\":[", "a,", "\"", "\\", "<a ", "# ", "[", "}", " ", "\0"];
    for (index, unit) in units.into_iter().enumerate() {
        for kind in different_kinds() {
            // A megabyte for one unit of each kind; what is not linear shows there.
            let whole = kind.name().len() % units.len() == index;
            let text = unit.repeat(if whole { 1_000_000 } else { 20_000 } / unit.len());
            let found = sections(kind, None, &text);
            assert_tiles(kind, &text, &found);
            assert!(found.len() < text.len() / 500, "{kind:?} makes crumbs of {unit:?}");
        }
    }
}

/// Marks that are opened and never closed must not be searched for again and again: 400 KB of each
/// would take minutes instead of a moment.
#[test]
fn marks_without_an_end_cost_linear_time() {
    let marks = [
        "<!--",
        "<![CDATA[",
        "<script",
        "<script>",
        "<a>",
        "~~~~a\n",
        "/*\n",
        "\"cell_type\"",
        "a,\"b\n",
        "\\\"",
    ];
    for mark in marks {
        let text = mark.repeat(400_000 / mark.len());
        for name in ["html", "xml", "markdown", "rust", "notebook", "csv", "json", "log"] {
            let kind = super::super::ContentKind::parse(name).expect("a kind");
            assert_tiles(kind, &text, &sections(kind, None, &text));
        }
    }
}

#[test]
fn many_short_lines_fill_their_chunks() {
    for line in ["x\n", "\n", "\r\n", "  indented\n", "- item\n", "1,2\n", "{\"a\": 1}\n"] {
        let text = line.repeat(50_000 / line.len());
        for kind in different_kinds() {
            let found = sections(kind, None, &text);
            assert_tiles(kind, &text, &found);
            assert!(found.len() < text.len() / 500, "{kind:?} makes crumbs of {line:?}");
        }
    }
}
