//! Code: what a definition is in each language, and how chunks of code are called.

use super::super::{ContentKind, Context, sections_with};
use super::{cut, titles};

fn kind(name: &str) -> ContentKind {
    ContentKind::parse(name).expect("a kind of that name")
}

#[test]
fn definitions_of_every_language_reach_the_title() {
    let table = [
        (
            "rust",
            "/// Doc.\npub(crate) async fn one<T>(a: T) {\n}\nimpl<T> Display for Foo<T> {\n    fn fmt(&self) {}\n}\nmacro_rules! mac {\n}\npub struct Unit;\n",
            "fn one, impl<T> Display for Foo<T>, fn fmt, macro_rules mac, struct Unit",
        ),
        (
            "python",
            "@wraps\nasync def one(a):\n    pass\n\nclass Two(Base):\n    def three(self):\n        \"\"\"class of things\"\"\"\n",
            "def one, class Two, def three",
        ),
        (
            "javascript",
            "export default async function one() {\n}\nconst two = async (a) => {\n}\nclass Three extends Base {\n  async four(a) {\n  }\n}\nexports.five = function (a) {\n}\ntest('does six', t => {\n})\nif (x) {\n}\n",
            "function one, function two, class Three, four, function exports.five, test does six",
        ),
        (
            "typescript",
            "export interface One<T> {\n}\nexport type Two = string;\nabstract class Three {\n  private four(a: string): void {\n  }\n}\nexport const five = 1;\n",
            "interface One, type Two, class Three, four, const five",
        ),
        (
            "go",
            "// Doc.\nfunc One(a int) error {\n}\n\nfunc (c *Command[T]) Two() {\n}\n\ntype Three struct {\n}\n",
            "func One, func Command.Two, type Three",
        ),
        (
            "java",
            "@Service\npublic final class One extends Base {\n    private static int two(int a) {\n        return three(a);\n    }\n    public One(int a) {\n    }\n}\n",
            "class One, two, One",
        ),
        (
            "c",
            "#define LIMIT 10\nstatic int one(int a, char *b)\n{\n    two(a,\n        b);\n    if (a) {\n    }\n}\nstruct three {\n};\n",
            "#define LIMIT, one, struct three",
        ),
        (
            "cpp",
            "namespace a {\ntemplate <typename T>\nclass One : public Base {\n};\nvoid One::two(int a) {\n}\nTEST(Suite, Name) {\n}\n}\n",
            "namespace a, class One, One::two, TEST(Suite, Name)",
        ),
        (
            "csharp",
            "namespace A.B;\n[Serializable]\npublic record One(int A);\npublic class Two {\n    public async Task<int> Three(int a) {\n    }\n}\n",
            "namespace A.B, record One, class Two, Three",
        ),
        (
            "ruby",
            "module One\n  class Two < Base\n    def self.three?(a)\n    end\n  end\nend\n",
            "module One, class Two, def self.three?",
        ),
        (
            "php",
            "<?php\nnamespace A\\B;\nfinal class One {\n    public static function two($a) {\n    }\n}\n",
            "namespace A\\B, class One, function two",
        ),
        ("shell", "#!/bin/sh\n# Doc.\none() {\n}\nfunction two-b {\n}\n", "one, function two-b"),
        (
            "sql",
            "CREATE TABLE IF NOT EXISTS one (\n  id int\n);\ninsert into two (a) values (1);\n",
            "CREATE TABLE IF NOT EXISTS one, insert into two",
        ),
        (
            "kotlin",
            "data class One(val a: Int)\nsuspend fun two(a: Int): Int {\n}\n",
            "class One, fun two",
        ),
        (
            "swift",
            "public struct One: View {\n    func two(_ a: Int) -> Int {\n    }\n}\n",
            "struct One, func two",
        ),
        (
            "elixir",
            "defmodule One.Two do\n  def three(a) do\n  end\nend\n",
            "defmodule One.Two, def three",
        ),
        (
            "yaml",
            "on:\n  push:\n    branches: [main]\njobs:\n  build:\n    steps:\n      - name: Check out\n",
            "on, push, jobs, build, steps, name Check out",
        ),
        ("toml", "[package]\nname = \"x\"\n\n[dependencies]\na = 1\n", "package, dependencies"),
        ("make", "all: build\n\nbuild:\n\tcc x.c\nX := 1\n", "all, build"),
        (
            "docker",
            "FROM rust:1 AS build\nRUN x\nFROM scratch\n",
            "FROM rust:1 AS build, FROM scratch",
        ),
        ("css", ".a > b {\n  color: red;\n}\n", ".a > b"),
        ("protobuf", "message One {\n}\n", "message One"),
        ("lua", "local function one(a)\nend\n", "function one"),
        ("perl", "sub one {\n}\n", "sub one"),
        ("r", "one <- function(a) {\n}\n", "function one"),
        ("code", "pub fn one() void {\n}\n", "fn one"),
    ];
    for (name, text, expected) in table {
        assert_eq!(titles(kind(name), text), [expected], "{name}");
    }
}

#[test]
fn a_chunk_starts_at_a_doc_comment_and_names_what_it_lies_in() {
    let body = "        let x = compute(1);\n".repeat(30);
    let mut text = String::from("impl Walk {\n");
    for name in ["one", "two", "three"] {
        text +=
            &["    /// Does it.\n    #[inline]\n    fn ", name, "(&self) {\n", &body, "    }\n\n"]
                .concat();
    }
    text.push_str("}\n");
    let chunks = cut(kind("rust"), &text);
    let found: Vec<&str> = chunks.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(found, ["impl Walk, fn one", "impl Walk > fn two", "impl Walk > fn three"]);
    assert!(chunks.iter().skip(1).all(|(_, body)| body.starts_with("    /// Does ")));
}

#[test]
fn a_long_function_names_all_its_chunks() {
    let body = "    let x = compute(1);\n".repeat(200);
    let text = format!("fn long() {{\n{body}}}\n\nfn next() {{\n{body}}}\n");
    let found = titles(kind("rust"), &text);
    let long = found.iter().take_while(|title| *title == "fn long").count();
    assert!(long >= 2, "{found:?}");
    assert_eq!(found.last().map(String::as_str), Some("fn next"));
}

#[test]
fn a_definition_goes_on_in_the_next_window() {
    let mut context = Context::default();
    sections_with(
        kind("python"),
        None,
        "class One:\n    def two(self):\n        x = 1\n",
        &mut context,
    );
    let found = sections_with(kind("python"), None, "        y = 2\n", &mut context);
    assert_eq!(found.first().map(|section| section.title.as_str()), Some("class One > def two"));
}
