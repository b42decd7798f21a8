//! Tables of small pieces of HTML and their Markdown, the choice of the content, the limits.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use proptest::prelude::*;
use url::Url;

use super::{Budget, convert, html_to_markdown};

fn markdown(html: &str) -> String {
    let base = Url::parse("https://docs.example/guide/page.html?v=2").unwrap();
    html_to_markdown(html, Some(&base)).text
}

#[test]
fn running_text_is_collapsed_and_not_escaped() {
    let table = [
        ("<p>a\n  b\t c</p>", "a b c"),
        ("<p>snake_case * [x] \\d <b></b> 1. - +</p>", "snake_case * [x] \\d 1. - +"),
        ("<p>soft\u{ad}hyphen zero\u{200b}width a&nbsp;b</p>", "softhyphen zerowidth a b"),
        ("a<br>b<br><br>c", "a\nb\n\nc"),
        (
            "<p># not a heading</p><p>#hashtag</p><p>```</p>",
            "\\# not a heading\n\n#hashtag\n\n\\```",
        ),
        ("<div>a</div><div>b<div>c</div></div>", "a\nb\nc"),
        ("<span>a</span><span>b</span>", "ab"),
        ("<x-a>a</x-a><x-b>b</x-b>", "a b"),
        ("x<sup>2</sup> y<sup>a, b</sup> z<sup><a href=#n>3</a></sup>", "x^2 ya, b z[3]"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
        (
            "<q>quote</q> <del>old</del> <code>a`b</code> <kbd>`</kbd>",
            "\"quote\" ~~old~~ ``a`b`` `` ` ``",
        ),
        ("<b>bold</b> and un<b>bel</b>ievable <i>it</i>s", "**bold** and unbelievable its"),
        ("<b><code>x</code></b><code>y</code>", "**`x`**`y`"),
        (
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>",
            "$x^2$",
        ),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
        ("a<script>x</script><style>y</style><svg><text>z</text></svg><button>w</button>b", "ab"),
        ("<p hidden>a</p><p aria-hidden=true>b</p><p style='display: none'>c</p>d", "d"),
    ];
    for (html, expected) in table {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn links_are_absolute_and_only_where_they_lead_somewhere() {
    let table = [
        ("<a href='/x'>t</a>", "[t](https://docs.example/x)"),
        ("<a href='other.html#part'>t</a>", "[t](https://docs.example/guide/other.html#part)"),
        ("<a href='//b.example'>t</a>", "[t](https://b.example/)"),
        ("<a href='#part'>t</a> <a href='?v=2#part'>u</a> <a href=''>v</a>", "t u v"),
        ("<a href='javascript:x()'>t</a> <a href='data:text/html,x'>u</a>", "t u"),
        ("<a href='mailto:a@b.example'>t</a> <a href='http://u:p@b.example/'>u</a>", "t u"),
        ("<a href='/x'></a><a href='/y'> </a>b", "b"),
        ("<a href='https://b.example/x'>b.example/x</a>", "https://b.example/x"),
        ("<a href='/a(b)'>t</a>", "[t](<https://docs.example/a(b)>)"),
        ("<a href='/x'><img alt='A picture' src=p.png></a>", "[A picture](https://docs.example/x)"),
        ("<a href='/x'><h3>Card</h3><p>Text</p></a>", "### Card\n\nText (https://docs.example/x)"),
        ("<h2><a href='/x'>News</a></h2>", "## News\n<https://docs.example/x>"),
        ("<h2>With <a href='/x'>a link</a></h2>", "## With a link"),
        ("<h2 id=a>Part<a class=headerlink href='#a'>¶</a></h2>", "## Part"),
        ("<h2><a class=header href='#a'>Part</a></h2>", "## Part"),
        ("<code>f(<a href='/x'>T</a>)</code>", "`f(T)`"),
        (
            "<img src='data:image/png;base64,AAAA' alt=''><img src=x alt='A chart'>",
            "[image: A chart]",
        ),
    ];
    for (html, expected) in table {
        assert_eq!(markdown(html), expected, "{html}");
    }
    let long = format!("<a href='/{}'>t</a>", "x".repeat(400));
    assert_eq!(markdown(&long), "t");
    assert_eq!(html_to_markdown("<a href='a/b.md'>t</a>", None).text, "[t](a/b.md)");
    let based = "<base href='https://b.example/deep/'><a href='x'>t</a>";
    assert_eq!(markdown(based), "[t](https://b.example/deep/x)");
}

#[test]
fn lists_tables_and_quotes_nest() {
    let table = [
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ol start=9><li>a<li>b<p>c</p></ol>", "9. a\n10. b\n\n   c"),
        ("<ol reversed><li>a<li>b</ol>", "2. a\n1. b"),
        ("<ul><li></li><li>a</li></ul>b", "- a\n\nb"),
        ("<ul><li><p>a</p></li><li><p>b</p></li></ul>", "- a\n- b"),
        ("<blockquote><p>a</p><p>b</p><ul><li>c</ul></blockquote>d", "> a\n>\n> b\n>\n> - c\n\nd"),
        ("<dl><dt>a<dd>b<dd>c<dt>d<dd>e</dl>", "a\n: b\n: c\nd\n: e"),
        ("<table><tr><th>a<th>b<tr><td>1<td></table>", "| a | b |\n|---|---|\n| 1 | |"),
        (
            "<table><tr><td rowspan=2>a<td>b<tr><td>c<tr><td colspan=2>d</table>",
            "| a | b |\n|---|---|\n| | c |\n| d | |",
        ),
        (
            "<table><tr><td>a|b<td>c<br>d<tr><td><ul><li>e<li>f</ul><td>g</table>",
            "| a\\|b | c d |\n|---|---|\n| e f | g |",
        ),
        ("<table><tr><td>one cell</table>", "one cell"),
        ("<table><tr><td><table><tr><td>a<td>b</table><td>c</table>", "a b\n\nc"),
        ("<table><tr><td>a<td><pre>x\ny</pre><tr><td>b<td>c</table>", "a\n\n```\nx\ny\n```\n\nb c"),
        ("<ul><li>a<pre>x\n  y</pre>b</ul>", "- a\n\n```\nx\n  y\n```\n\n  b"),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
    ];
    for (html, expected) in table {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn the_content_is_chosen_by_its_share_of_the_text() {
    let words = |count: usize| "Some words of text. ".repeat(count);
    let chosen = |html: String| {
        let markdown = html_to_markdown(&html, None);
        (markdown.text.contains("OUTSIDE"), markdown.notes.join(";"))
    };
    let none = String::new;
    let (little, much) = (words(3), words(40));
    // A main part, an article, and one that holds too little to be believed.
    assert_eq!(chosen(format!("<div>OUTSIDE</div><main>{much}</main>")), (false, none()));
    assert_eq!(chosen(format!("<div>OUTSIDE</div><article>{much}</article>")), (false, none()));
    assert_eq!(
        chosen(format!("<div>OUTSIDE {much}</div><main>{little}</main>")),
        (true, "whole page: its marked main part holds only 6 % of the text".to_owned())
    );
    // Several articles are a list of them; a title outside of the article belongs to it.
    let articles = format!("<article>{much}</article>").repeat(3);
    assert_eq!(chosen(format!("<p>OUTSIDE</p>{articles}")), (true, none()));
    assert_eq!(chosen(format!("<h1>OUTSIDE</h1><article>{much}</article>")), (true, none()));
    // Navigation and the like go; unless they are nearly everything, or hold the title.
    for frame in ["nav", "aside", "footer", "header", "form"] {
        let page = format!("<{frame}>OUTSIDE</{frame}><div>{much}</div>");
        assert_eq!(chosen(page), (false, none()), "{frame}");
        let page = format!("<{frame}>OUTSIDE {much}</{frame}><div>{}</div>", words(1));
        let note = "whole page: nearly all of its text is navigation, headers or forms";
        assert_eq!(chosen(page), (true, note.to_owned()), "{frame}");
    }
    let titled = format!("<header><h1>OUTSIDE</h1></header><div>{much}</div>");
    assert_eq!(chosen(titled), (true, none()));
    let inside = format!("<main><header>OUTSIDE</header>{much}<aside>A note</aside></main>");
    assert_eq!(chosen(inside), (true, none()));
}

#[test]
fn titles_are_one_short_line() {
    let title = |html: &str| html_to_markdown(html, None).title;
    assert_eq!(title("<title>\n A &amp; B\n </title>").as_deref(), Some("A & B"));
    assert_eq!(title("<title> </title><h1>Head <i>line</i></h1>").as_deref(), Some("Head line"));
    assert_eq!(title("<svg><title>icon</title></svg><p>x").as_deref(), None);
    assert_eq!(title("<p>x"), None);
    let long = title(&format!("<title>{}</title>", "ä".repeat(999)));
    assert_eq!(long.map(|title| title.chars().count()), Some(200));
    let words = title(&format!("<title>{}</title>", "a ".repeat(999)));
    assert_eq!(words.map(|title| title.chars().count()), Some(199), "blanks count, the last goes");
}

#[test]
fn a_spent_budget_cuts_the_page_and_says_so() {
    let page = "<p>paragraph</p>".repeat(50_000);
    let stopped =
        Budget::new(Instant::now() + Duration::from_secs(99), Arc::new(AtomicBool::new(true)));
    let late = Budget::new(Instant::now(), Arc::default());
    for budget in [stopped, late] {
        let begun = Instant::now();
        let markdown = convert(&page, None, &budget);
        assert!(markdown.notes.iter().any(|note| note.starts_with("page cut")), "{markdown:?}");
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
    // The one thing that is quadratic in the parser is stopped between two pieces of it.
    let mut attributes = String::new();
    for number in 0..400_000 {
        attributes.extend([" a", &number.to_string(), "=1"]);
    }
    let begun = Instant::now();
    let budget = Budget::new(begun + Duration::from_millis(300), Arc::default());
    convert(&format!("<p{attributes}>text"), None, &budget);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

proptest! {
    #[test]
    fn any_tags_in_any_order_become_text_without_a_panic(
        parts in proptest::collection::vec(
            prop_oneof![
                "[a-zA-Z0-9 \n#`|<>&]{0,12}",
                proptest::sample::select(vec![
                    "<p>", "</p>", "<ul>", "<li>", "</ul>", "<ol>", "</ol>", "<table>", "<tr>",
                    "<td>", "</table>", "<a href=x>", "</a>", "<b>", "</b>", "<pre>", "</pre>",
                    "<code>", "</code>", "<h1>", "</h1>", "<blockquote>", "</blockquote>", "<dl>",
                    "<dt class=sig>", "<dd>", "</dl>", "<br>", "<hr>", "<img alt=x>", "<main>",
                    "</main>", "<article>", "<nav>", "</nav>", "<sup>", "</sup>", "<select>",
                    "<template>", "</template>", "<svg>", "<math>", "<form>", "<th rowspan=3>",
                ]).prop_map(str::to_owned),
            ],
            0..60,
        )
    ) {
        let html = parts.concat();
        let markdown = html_to_markdown(&html, None);
        // Nothing is made up and nothing multiplies: letters come from the page, or from the
        // words `image` for each picture.
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
        let pictures = html.matches("<img").count() * 5;
        prop_assert!(letters(&markdown.text) <= letters(&html) + pictures, "{}", markdown.text);
        prop_assert!(!markdown.text.contains("\n\n\n") || html.contains("pre"));
    }
}
