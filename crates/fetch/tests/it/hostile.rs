//! Pages made to hurt a parser: bounded in time, on an ordinary stack.

use std::time::{Duration, Instant};

use quietcontext_fetch::{Markdown, html_to_markdown};

/// Converts, and fails when it takes longer than the promise plus a slow machine's share.
fn convert(html: &str) -> Markdown {
    let begun = Instant::now();
    let markdown = html_to_markdown(html, None);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    markdown
}

fn is_cut(markdown: &Markdown) -> bool {
    markdown.notes.iter().any(|note| note.starts_with("page cut"))
}

#[test]
fn two_million_nested_elements_are_one_flat_page() {
    let deep = |levels| {
        let (open, close) = ("<div>".repeat(levels), "</div>".repeat(levels));
        convert(&format!("<p>before</p>{open}inside{close}<p>after</p>"))
    };
    // One paragraph's tag goes with the levels, no text does.
    assert_eq!(deep(50_000).text, "before\n\ninside\nafter");
    let markdown = deep(2_000_000);
    // An unoptimised build on a busy machine may run out of its ten seconds.
    assert!(markdown.text == "before\n\ninside\nafter" || is_cut(&markdown));
    let lists = format!("{}deepest", "<ul><li>x".repeat(20_000));
    let markdown = convert(&lists);
    assert!(markdown.text.contains("deepest"));
    let indentation = |line: &str| line.len() - line.trim_start().len();
    assert!(markdown.text.lines().all(|line| indentation(line) <= 40));
}

#[test]
fn unclosed_formatting_does_not_multiply() {
    let fonts: String = (0..1000).map(|number| format!("<font size={number}><b>")).collect();
    let page = format!("{fonts}{}", "<p>x".repeat(10_000));
    convert(&page);
    convert(&"<a><b><i>".repeat(20_000));
    convert(&"<table><tr><td>".repeat(20_000));
    convert(&"<b>x</b>".repeat(50_000));
}

#[test]
fn long_attributes_and_many_of_them_are_bounded() {
    let long = format!("<p title=\"{}\" class=a>text that stays</p>", "x".repeat(1 << 20));
    assert_eq!(convert(&long).text, "text that stays");
    let many: String = (0..20_000).map(|number| format!("a{number}=1 ")).collect();
    convert(&format!("<p>before</p><p {many}>text</p>"));
}

#[test]
fn a_ten_megabyte_page_is_converted() {
    let paragraph = "<p>A <b>paragraph</b> with <a href='/x'>a link</a> and some words.</p>\n";
    let page = paragraph.repeat((10 << 20) / paragraph.len());
    let markdown = convert(&page);
    assert!(markdown.text.starts_with("A **paragraph** with [a link](/x) and some words."));
    assert!(is_cut(&markdown) || markdown.text.matches("paragraph").count() > 140_000);
}

#[test]
fn broken_markup_is_text_and_never_a_panic() {
    for html in [
        "<",
        "<!",
        "<!--",
        "<p",
        "</",
        "<![CDATA[",
        "&",
        "&#x",
        "<a href=",
        "<table><p>x<td>y",
        "<svg><p>x</p></svg>y",
        "<math><mi>x</mi></math>",
        "<template><p>x</p></template>y",
        "<select><option>a<p>b</select>c",
        "<li>a<li>b</ul>c",
        "<dd>x<dt>y",
        "<pre>\n\n</pre>",
        "<td>a<td>b",
        "<h1><h2>x</h1>",
        "<a><a>x</a></a>",
        "<br><br><br>",
        "<plaintext><p>x",
        "<body><frameset><frame></frameset>x",
        "<form><form>x</form>y</form>",
        "<noscript><p>x",
        "<ol start=-9223372036854775808 reversed><li>x",
        "<td colspan=65535 rowspan=65535>x",
        "<table><tr><td colspan=1000>x<td>y<tr><td rowspan=65534>z<td>w</table>",
    ] {
        convert(html);
    }
}
