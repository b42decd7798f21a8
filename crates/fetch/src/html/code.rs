//! Code blocks: the exact text of a `<pre>`, and its language from the dozen ways to say it.

use super::{
    elements::{Flow, Tag},
    select,
    tree::{Id, Step, Tree},
};

/// A code block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) code: String,
    pub(super) language: String,
}

/// How many elements around a `<pre>` may name its language.
const MAX_WRAPPERS: usize = 3;

/// Names that stand alone as a class: `<code class="python">`.
const LANGUAGES: &[&str] = &[
    "bash",
    "c",
    "c#",
    "c++",
    "clojure",
    "cmake",
    "console",
    "cpp",
    "csharp",
    "css",
    "dart",
    "diff",
    "docker",
    "dockerfile",
    "elixir",
    "erlang",
    "fish",
    "go",
    "golang",
    "gradle",
    "graphql",
    "groovy",
    "haskell",
    "hcl",
    "html",
    "http",
    "ini",
    "java",
    "javascript",
    "js",
    "json",
    "json5",
    "jsx",
    "julia",
    "kotlin",
    "latex",
    "lua",
    "make",
    "makefile",
    "markdown",
    "matlab",
    "nginx",
    "nix",
    "objectivec",
    "ocaml",
    "perl",
    "php",
    "powershell",
    "protobuf",
    "ps1",
    "py",
    "pycon",
    "python",
    "python3",
    "r",
    "rb",
    "rs",
    "rst",
    "ruby",
    "rust",
    "scala",
    "sh",
    "shell",
    "sql",
    "svelte",
    "swift",
    "terraform",
    "toml",
    "ts",
    "tsx",
    "typescript",
    "vim",
    "vue",
    "xml",
    "yaml",
    "yml",
    "zig",
    "zsh",
];

/// Names that say that there is none.
const NO_LANGUAGE: &[&str] = &[
    "auto",
    "default",
    "none",
    "nohighlight",
    "no-highlight",
    "plain",
    "plaintext",
    "text",
    "txt",
];

/// The text and language of a `<pre>`.
pub(super) fn block(tree: &Tree, pre: Id) -> Block {
    Block { code: text(tree, pre), language: language(tree, pre).unwrap_or_default() }
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
                    code.push_str(text);
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

/// The nearest statement wins: the `<code>` inside, the `<pre>`, then what is around it.
fn language(tree: &Tree, pre: Id) -> Option<String> {
    let first = tree.node(pre).first;
    let inside = [first, tree.node(first).next]
        .into_iter()
        .find(|id| *id != 0 && matches!(tree.tag(*id), Some(Tag::Code | Tag::Samp)));
    let mut around = Some(pre);
    let wrappers = std::iter::from_fn(|| {
        let id = around?;
        let parent = tree.node(id).parent;
        // A wrapper of more than this block says nothing about it, unless it says it strongly.
        around = (parent != 0).then_some(parent);
        Some(id)
    });
    for id in inside.into_iter().chain(wrappers.take(1 + MAX_WRAPPERS)) {
        let near = id == pre || Some(id) == inside;
        for attribute in
            ["data-lang", "data-language", "data-code-lang", "data-enlighter-language", "syntax"]
        {
            if let Some(said) = tree.attribute(id, attribute).filter(|said| !said.is_empty()) {
                return clean(said);
            }
        }
        if let Some(said) = tree.attribute(id, "class").and_then(|list| by_class(list, near)) {
            return clean(said);
        }
    }
    // `<pre lang="rust">`, as some Markdown renderers write it.
    tree.attribute(pre, "lang").filter(|said| LANGUAGES.contains(said)).and_then(clean)
}

/// The language a class list names. Bare names count on the block itself only.
fn by_class(list: &str, near: bool) -> Option<&str> {
    const PREFIXES: &[&str] =
        &["language-", "lang-", "highlight-source-", "highlight-", "brush:", "src-", "sourceCode-"];
    let mut words = list.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        if word == "brush:" {
            return words.next();
        }
        let said = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix));
        match said {
            // Nothing, or the name of a widget and not of a language: `highlight-container`.
            Some("" | "container" | "wrapper" | "block" | "box" | "line" | "lines" | "switch")
            | None => {}
            Some(said) => return Some(said),
        }
    }
    let mut words = list.split_ascii_whitespace();
    words.find(|word| near && LANGUAGES.contains(&word.to_ascii_lowercase().as_str()))
}

/// A name that can stand after a fence; `None` when it says "no language".
fn clean(said: &str) -> Option<String> {
    let name: String = said
        .split([',', ' ', '{', ';'])
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.'))
        .take(24)
        .collect::<String>()
        .to_ascii_lowercase();
    (!name.is_empty() && !NO_LANGUAGE.contains(&name.as_str())).then_some(name)
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
            ("<pre>\u{a0}x</pre>", "\u{a0}x"),
            ("<pre>struct S&lt;T&gt;<div class=where>where\n    T: X,</div>{ }</pre>", "struct S<T>\nwhere\n    T: X,\n{ }"),
        ];
        for (html, expected) in table {
            assert_eq!(first_block(html).code, expected, "{html}");
        }
    }
}
