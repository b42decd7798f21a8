//! Handwritten pages in the manner of common generators: snapshots, and what survives.
//!
//! Each page marks its own content by `<!--content-->` and `<!--/content-->`. What should survive
//! is read from there by the few lines below, which know nothing of the converter.

use std::collections::HashMap;

use quietcontext_fetch::{Url, html_to_markdown};

const PAGES: &[(&str, &str)] = &[
    ("rustdoc", include_str!("../pages/rustdoc.html")),
    ("sphinx", include_str!("../pages/sphinx.html")),
    ("mkdocs", include_str!("../pages/mkdocs.html")),
    ("docusaurus", include_str!("../pages/docusaurus.html")),
    ("readme", include_str!("../pages/readme.html")),
    ("news", include_str!("../pages/news.html")),
    ("forum", include_str!("../pages/forum.html")),
    ("javadoc", include_str!("../pages/javadoc.html")),
];

fn convert(name: &str, html: &str) -> quietcontext_fetch::Markdown {
    let base = Url::parse(&format!("https://docs.example/{name}/page.html")).unwrap();
    html_to_markdown(html, Some(&base))
}

#[test]
fn pages_read_as_they_should() {
    for (name, html) in PAGES {
        let markdown = convert(name, html);
        let notes = markdown.notes.join("; ");
        let title = markdown.title.unwrap_or_default();
        insta::assert_snapshot!(
            *name,
            format!("title: {title}\nnotes: {notes}\n\n{}", markdown.text)
        );
    }
}

/// The parts between two texts.
pub(crate) fn between<'a>(
    text: &'a str,
    start: &'a str,
    end: &'a str,
) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).filter_map(move |part| part.split(end).next())
}

pub(crate) fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let tag = after.split('>').next().unwrap_or_default();
        let block =
            ["br", "p", "/p", "li", "/li", "td", "th", "tr", "div", "/div", "h", "/h", "d", "/d"]
                .iter()
                .any(|name| tag.starts_with(name));
        if block {
            text.push(' ');
        }
        rest = after.split_once('>').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    unescape(&text)
}

pub(crate) fn unescape(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#64;", "@"),
        ("&#8203;", ""),
        ("&nbsp;", " "),
        ("&para;", "¶"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Content without what nobody reads.
fn content(html: &str) -> String {
    without_frames(&between(html, "<!--content-->", "<!--/content-->").collect::<String>())
}

/// A part of a page without scripts, styles, pictures, buttons, navigation.
pub(crate) fn without_frames(html: &str) -> String {
    let mut content = html.to_owned();
    for tag in ["script", "style", "svg", "button", "nav"] {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        while let Some(start) = content.find(&open) {
            let end = content[start..].find(&close).expect("closed") + start + close.len();
            content.replace_range(start..end, "");
        }
    }
    content
}

pub(crate) fn words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *words.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    words
}

#[test]
fn nearly_all_words_and_all_code_blocks_survive() {
    let (mut all, mut lost, mut blocks, mut broken) = (0, 0, 0, Vec::new());
    for (name, html) in PAGES {
        let text = convert(name, html).text;
        let content = content(html);
        let found = words(&text);
        let mut page_lost = Vec::new();
        for (word, count) in words(&without_tags(&content)) {
            all += count;
            let missing = count.saturating_sub(found.get(&word).copied().unwrap_or(0));
            if missing > 0 {
                page_lost.push(format!("{word}×{missing}"));
            }
            lost += missing;
        }
        assert!(page_lost.len() < 12, "{name} lost {page_lost:?}");
        for block in between(&content, "<pre", "</pre>") {
            let code = unescape(&tagless(block.split_once('>').unwrap().1));
            let code = code.trim_start_matches('\n').trim_end();
            blocks += 1;
            // Line for line, between fences, nothing added.
            if !text.contains(&format!("\n{code}\n```")) {
                broken.push(format!("{name}: {code}"));
            }
        }
    }
    assert!(blocks >= 20 && all > 1500, "{blocks} blocks, {all} words");
    assert!(broken.is_empty(), "{} of {blocks} blocks: {broken:#?}", broken.len());
    assert!(lost * 100 <= all * 3, "{lost} of {all} words lost");
}

/// A code block's text: tags out, line numbers with them.
pub(crate) fn tagless(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        rest = if after.starts_with("span class=\"linenos\"") {
            after.split_once("</span>").map_or("", |(_, rest)| rest)
        } else {
            if after.starts_with("br") {
                text.push('\n');
            }
            after.split_once('>').map_or("", |(_, rest)| rest)
        };
    }
    text + rest
}

#[test]
fn frames_of_the_page_do_not_survive() {
    for (name, html) in PAGES {
        let text = convert(name, html).text;
        for noise in ["NOISE", "<div", "<span", "data:image", "javascript:", "&amp;", "\u{200b}"] {
            assert!(!text.contains(noise), "{name} contains {noise}:\n{text}");
        }
    }
}
