//! The language of a code block, from the dozen ways to say it.

use super::{
    elements::Tag,
    tree::{Id, Tree},
};

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

/// The nearest statement wins: the `<code>` inside, the `<pre>`, then what is around it.
pub(super) fn language(tree: &Tree, pre: Id) -> Option<String> {
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
