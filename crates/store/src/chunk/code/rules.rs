//! What makes up the rules of a language: words and shapes, no grammar.

/// How lines show that a definition has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A line that begins with `}`.
    Brace,
    /// A line that begins with `end`.
    Keyword,
    /// A line that is not indented deeper.
    Indent,
}

/// A form of definition that no keyword announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `int name(…)` with a type before the name.
    CFunction,
    /// `name(…) {` in a class.
    Method,
    /// `const name = (…) =>`, `a.name = function`.
    Assigned,
    /// `describe("…", …)`, `test("…", …)`.
    Suite,
    /// `name() {` in a shell.
    ShellFunction,
    /// `key:` that holds further lines.
    Key,
    /// `[name]`.
    Table,
    /// `name: prerequisites`.
    Target,
    /// `create table name`.
    Statement,
    /// Any line that ends with `{` and is not indented.
    Braced,
}

/// The rules of a language.
#[derive(Debug)]
pub(super) struct Rules {
    /// What a line above a definition may begin with.
    pub(super) comments: &'static [&'static str],
    /// Whether `/* … */` is a comment.
    pub(super) block_comments: bool,
    /// Words that may stand before a defining word.
    pub(super) modifiers: &'static [&'static str],
    /// Words that define the name after them.
    pub(super) definers: &'static [&'static str],
    /// Defining words whose whole line is the name (`impl A for B`).
    pub(super) tails: &'static [&'static str],
    /// Whether any word may follow the name without brackets (`def name argument`).
    pub(super) loose: bool,
    pub(super) shapes: &'static [Shape],
    pub(super) end: End,
}
