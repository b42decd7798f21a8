//! Saved pages of documentation generators, byte for byte as packages ship them (`saved/README.md`):
//! snapshots, and what of their main part survives.

use crate::pages::{between, tagless, unescape, without_frames, without_tags, words};
use quietcontext_fetch::html_to_markdown;

/// Name, page, and what its main part lies between.
const PAGES: &[(&str, &str, &str, &str)] = &[
    ("rustdoc", include_str!("../saved/rustdoc.html"), "<section id=\"main-content\"", "</main>"),
    ("mdbook", include_str!("../saved/mdbook.html"), "<main>", "</main>"),
    (
        "sphinx",
        include_str!("../saved/sphinx.html"),
        "role=\"main\">",
        "<div class=\"sphinxsidebar\"",
    ),
    ("mkdocs", include_str!("../saved/mkdocs.html"), "role=\"main\">", "<footer"),
    ("javadoc", include_str!("../saved/javadoc.html"), "<main role=\"main\">", "</main>"),
    ("manpage", include_str!("../saved/manpage.html"), "<body>", "</body>"),
];

#[test]
fn saved_pages_read_as_they_should() {
    for (name, html, ..) in PAGES {
        let markdown = html_to_markdown(html, None);
        let title = markdown.title.unwrap_or_default();
        let notes = markdown.notes.join("; ");
        let text = format!("title: {title}\nnotes: {notes}\n\n{}", markdown.text);
        insta::assert_snapshot!(format!("saved_{name}"), text);
    }
}

/// At least 97 % of the words and 99 % of the code blocks of every page, not on average.
#[test]
fn words_and_code_of_saved_pages_survive() {
    let mut blocks = 0;
    for (name, html, start, end) in PAGES {
        let text = html_to_markdown(html, None).text;
        let main: String = between(html, start, end).take(1).collect();
        let main = without_frames(&main);
        let found = words(&text);
        let (mut all, mut lost) = (0, Vec::new());
        for (word, count) in words(&without_tags(&main)) {
            all += count;
            let missing = count.saturating_sub(found.get(&word).copied().unwrap_or(0));
            lost.extend(std::iter::repeat_n(word, missing));
        }
        assert!(all > 400, "{name}: {all} words");
        assert!(
            lost.len() * 100 <= all * 3,
            "{name}: {} of {all} words lost: {lost:?}",
            lost.len()
        );
        let mut broken = Vec::new();
        let mut own = 0;
        for block in between(&main, "<pre", "</pre>") {
            let code = unescape(&tagless(block.split_once('>').unwrap().1));
            let lines = code.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
            own += 1;
            // Line for line, in order.
            let mut rest = text.as_str();
            for line in lines {
                let Some((_, after)) = rest.split_once(line) else {
                    broken.push(line.to_owned());
                    break;
                };
                rest = after;
            }
        }
        blocks += own;
        assert!(broken.is_empty(), "{name}: {} of {own} blocks: {broken:#?}", broken.len());
    }
    assert!(blocks >= 50, "{blocks} blocks");
}
