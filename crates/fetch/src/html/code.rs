//! Code blocks: the exact text of a `<pre>`.

use super::{
    elements::{Flow, Tag},
    language, select,
    tree::{Id, Step, Tree},
};

/// A code block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) code: String,
    pub(super) language: String,
}

/// The text and language of a `<pre>`.
pub(super) fn block(tree: &Tree, pre: Id) -> Block {
    Block { code: text(tree, pre), language: language::language(tree, pre).unwrap_or_default() }
}

/// Exact text: line numbers and buttons left out; `<br>` and blocks that some highlighters wrap
/// lines in become line ends.
fn text(tree: &Tree, pre: Id) -> String {
    let mut code = String::new();
    let mut next = Some(Step::Enter(pre));
    while let Some(step) = next {
        next = tree.after(step, pre);
        match step {
            Step::Enter(id) => {
                if let Some(text) = tree.text(id) {
                    code.extend(text.chars().filter_map(sign));
                } else if id != pre && (select::is_hidden(tree, id) || is_gutter(tree, id)) {
                    next = tree.after(Step::Leave(id), pre);
                } else if tree.tag(id) == Some(Tag::Br) {
                    code.push('\n');
                } else if id != pre {
                    end_line(tree, id, &mut code);
                }
            }
            Step::Leave(id) if id != pre => end_line(tree, id, &mut code),
            Step::Leave(_) => {}
        }
    }
    // Blank lines at the end are layout; those at the start may be, but indentation is not.
    let end = code.trim_end_matches(['\n', '\r', ' ', '\t']).len();
    code.truncate(end);
    let blank_lines = code.len() - code.trim_start_matches(['\n', '\r']).len();
    code.drain(..blank_lines);
    if code.contains('\r') { code.replace("\r\n", "\n").replace('\r', "\n") } else { code }
}

/// Blanks that do not break and places where a line may are of the page, not of the code: with them it
/// neither compiles nor is found.
fn sign(c: char) -> Option<char> {
    match c {
        '\u{a0}' => Some(' '),
        '\u{200b}' | '\u{2060}' | '\u{feff}' => None,
        c => Some(c),
    }
}

/// A block inside of a `<pre>` has lines of its own.
fn end_line(tree: &Tree, id: Id, code: &mut String) {
    let block = tree.tag(id).is_some_and(|tag| (Flow::Line..Flow::Never).contains(&tag.flow()));
    if block && !code.is_empty() && !code.ends_with('\n') {
        code.push('\n');
    }
}

/// Line numbers beside the code, copy buttons, link marks.
pub(super) fn is_gutter(tree: &Tree, id: Id) -> bool {
    tree.attribute(id, "data-line-number").is_some() && tree.node(id).first == 0
        || tree.has_class(id, |class| {
            matches!(
                class,
                "linenos"
                    | "lineno"
                    | "linenodiv"
                    | "line-number"
                    | "line-numbers-rows"
                    | "linenumber"
                    | "linenumbers"
                    | "gutter"
                    | "hljs-ln-numbers"
                    | "blob-num"
                    | "react-syntax-highlighter-line-number"
                    | "copybtn"
                    | "copy-button"
                    | "clipboard-button"
                    | "headerlink"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{Budget, parse::parse};

    fn first_block(html: &str) -> Block {
        let tree = parse(html, &Budget::generous()).tree;
        let pre = tree.descendants(0).find(|id| tree.tag(*id) == Some(Tag::Pre)).unwrap();
        block(&tree, pre)
    }

    #[test]
    fn every_way_to_name_a_language_is_understood() {
        let table = [
            ("<pre><code class='language-rust ignore'>x</code></pre>", "rust"),
            ("<pre><code class='language-rust,should_panic'>x</code></pre>", "rust"),
            ("<pre class='language-c++'><code>x</code></pre>", "c++"),
            ("<pre class='lang-js'>x</pre>", "js"),
            ("<pre class='brush: js'>x</pre>", "js"),
            ("<pre class='brush:python; gutter: false'>x</pre>", "python"),
            (
                "<div class='highlight-python notranslate'><div class='highlight'><pre>x</pre></div></div>",
                "python",
            ),
            ("<div class='highlight highlight-source-shell'><pre>x</pre></div>", "shell"),
            (
                "<div class='language-yaml highlighter-rouge'><div class='highlight'><pre class='highlight'><code>x</code></pre></div></div>",
                "yaml",
            ),
            (
                "<div class='sourceCode'><pre class='sourceCode haskell'><code class='sourceCode haskell'>x</code></pre></div>",
                "haskell",
            ),
            ("<pre><code class='hljs typescript'>x</code></pre>", "typescript"),
            ("<pre class='rust rust-example-rendered'><code>x</code></pre>", "rust"),
            ("<pre class='src src-emacs-lisp'>x</pre>", "emacs-lisp"),
            ("<pre data-language='TOML'><code>x</code></pre>", "toml"),
            ("<figure data-lang='go'><pre>x</pre></figure>", "go"),
            ("<devsite-code><pre syntax='Bash'>x</pre></devsite-code>", "bash"),
            ("<pre lang='ruby'>x</pre>", "ruby"),
            ("<pre lang='en'>x</pre>", ""),
            ("<div class='highlight-default notranslate'><pre>x</pre></div>", ""),
            ("<pre><code class='language-plaintext'>x</code></pre>", ""),
            ("<div class='python'><p>y<pre>x</pre></div>", ""),
            ("<pre class='language-<script>'>x</pre>", "script"),
        ];
        for (html, expected) in table {
            assert_eq!(first_block(html).language, expected, "{html}");
        }
    }

    #[test]
    fn the_text_is_exact_and_free_of_numbers() {
        let table = [
            ("<pre>\n  a\n\n\tb  c\n</pre>", "  a\n\n\tb  c"),
            (
                "<pre><span class=k>fn</span> <a href=x>f</a>() { &lt;T&gt; }</pre>",
                "fn f() { <T> }",
            ),
            ("<pre>a<br>b</pre>", "a\nb"),
            ("<pre><div class=line>a</div><div class=line> b</div></pre>", "a\n b"),
            ("<pre><span class=linenos>1</span>a\n<span class=linenos>2</span>b</pre>", "a\nb"),
            ("<pre><button>Copy</button>a * _b_ [c] \\d</pre>", "a * _b_ [c] \\d"),
            ("<pre>a\r\nb</pre>", "a\nb"),
            ("<pre>\u{a0}x&nbsp;y&#8203;(z)</pre>", " x y(z)"),
            (
                "<pre>struct S&lt;T&gt;<div class=where>where\n    T: X,</div>{ }</pre>",
                "struct S<T>\nwhere\n    T: X,\n{ }",
            ),
        ];
        for (html, expected) in table {
            assert_eq!(first_block(html).code, expected, "{html}");
        }
    }
}
