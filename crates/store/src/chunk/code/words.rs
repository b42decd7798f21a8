//! The rules of each language: what its definitions and comments begin with.

use super::CodeLanguage as L;
use super::rules::{End, Rules, Shape};

const BASE: Rules = Rules {
    comments: &["//"],
    block_comments: true,
    modifiers: &[],
    definers: &[],
    tails: &[],
    loose: false,
    shapes: &[],
    end: End::Brace,
};

static RUST: Rules = Rules {
    comments: &["//", "#[", "#!["],
    modifiers: &["pub", "async", "unsafe", "extern", "default", "const"],
    definers: &[
        "fn",
        "struct",
        "enum",
        "trait",
        "mod",
        "type",
        "macro_rules",
        "union",
        "static",
        "const",
    ],
    tails: &["impl"],
    ..BASE
};
static PYTHON: Rules = Rules {
    comments: &["#", "@"],
    block_comments: false,
    modifiers: &["async"],
    definers: &["def", "class"],
    end: End::Indent,
    ..BASE
};
static SCRIPT: Rules = Rules {
    comments: &["//", "@"],
    modifiers: &[
        "export",
        "default",
        "async",
        "declare",
        "abstract",
        "public",
        "private",
        "protected",
        "static",
        "readonly",
        "override",
    ],
    definers: &["function", "class", "interface", "enum", "namespace", "type"],
    shapes: &[Shape::Suite, Shape::Assigned, Shape::Method],
    ..BASE
};
static GO: Rules = Rules { definers: &["func", "type", "var", "const"], loose: true, ..BASE };
static JAVA: Rules = Rules {
    comments: &["//", "@", "["],
    modifiers: &[
        "public",
        "private",
        "protected",
        "static",
        "final",
        "abstract",
        "sealed",
        "partial",
        "internal",
        "readonly",
        "virtual",
        "override",
        "async",
        "unsafe",
        "strictfp",
        "default",
        "synchronized",
        "native",
        "new",
        "extern",
    ],
    definers: &["class", "interface", "enum", "record", "struct", "namespace", "delegate"],
    shapes: &[Shape::CFunction, Shape::Method],
    ..BASE
};
static C: Rules = Rules {
    comments: &["//", "template", "[["],
    modifiers: &["static", "extern", "inline", "const", "typedef", "constexpr", "export"],
    definers: &["struct", "class", "enum", "union", "namespace", "concept"],
    tails: &["#define"],
    shapes: &[Shape::CFunction, Shape::Method],
    ..BASE
};
static RUBY: Rules = Rules {
    comments: &["#"],
    block_comments: false,
    modifiers: &["private", "protected", "public", "private_class_method"],
    definers: &["def", "class", "module"],
    loose: true,
    shapes: &[Shape::Suite],
    end: End::Keyword,
    ..BASE
};
static PHP: Rules = Rules {
    comments: &["//", "#"],
    modifiers: &["public", "private", "protected", "static", "abstract", "final", "readonly"],
    definers: &["function", "class", "interface", "trait", "enum", "namespace"],
    ..BASE
};
static SHELL: Rules = Rules {
    comments: &["#"],
    block_comments: false,
    definers: &["function"],
    shapes: &[Shape::ShellFunction],
    ..BASE
};
static SQL: Rules = Rules { comments: &["--"], shapes: &[Shape::Statement], loose: true, ..BASE };
static JVM: Rules = Rules {
    comments: &["//", "@"],
    modifiers: &[
        "public",
        "private",
        "protected",
        "internal",
        "open",
        "abstract",
        "final",
        "override",
        "suspend",
        "inline",
        "data",
        "sealed",
        "companion",
        "static",
        "lazy",
        "implicit",
        "case",
        "fileprivate",
        "mutating",
        "async",
        "external",
        "abstract",
        "base",
        "mixin",
    ],
    definers: &[
        "fun",
        "func",
        "def",
        "class",
        "interface",
        "object",
        "trait",
        "struct",
        "enum",
        "protocol",
        "actor",
        "typealias",
        "given",
        "init",
        "void",
    ],
    tails: &["extension"],
    loose: true,
    shapes: &[Shape::CFunction],
    ..BASE
};
static LUA: Rules = Rules {
    comments: &["--"],
    block_comments: false,
    modifiers: &["local"],
    definers: &["function"],
    shapes: &[Shape::Assigned],
    end: End::Keyword,
    ..BASE
};
static PERL: Rules =
    Rules { comments: &["#"], block_comments: false, definers: &["sub", "package"], ..BASE };
static R: Rules =
    Rules { comments: &["#"], block_comments: false, shapes: &[Shape::Assigned], ..BASE };
static ELIXIR: Rules = Rules {
    comments: &["#", "@"],
    block_comments: false,
    definers: &["def", "defp", "defmodule", "defmacro", "defmacrop", "defprotocol", "defstruct"],
    tails: &["defimpl"],
    loose: true,
    shapes: &[Shape::Suite],
    end: End::Keyword,
    ..BASE
};
static HASKELL: Rules = Rules {
    comments: &["--", "{-#"],
    block_comments: false,
    definers: &["data", "newtype", "type", "module", "val", "let"],
    tails: &["class", "instance"],
    loose: true,
    end: End::Indent,
    ..BASE
};
static BRACED: Rules = Rules { comments: &["//", "#"], shapes: &[Shape::Braced], ..BASE };
static YAML: Rules = Rules {
    comments: &["#"],
    block_comments: false,
    shapes: &[Shape::Key],
    end: End::Indent,
    ..BASE
};
static INI: Rules =
    Rules { comments: &["#", ";"], block_comments: false, shapes: &[Shape::Table], ..BASE };
static MAKE: Rules = Rules {
    comments: &["#"],
    block_comments: false,
    tails: &["define"],
    shapes: &[Shape::Target],
    end: End::Indent,
    ..BASE
};
static DOCKER: Rules = Rules {
    comments: &["#"],
    block_comments: false,
    tails: &["FROM", "function", "macro"],
    ..BASE
};
/// For languages without rules of their own: what most of them use.
static GENERIC: Rules = Rules {
    comments: &["//", "#", "--", "@", ";;"],
    modifiers: &[
        "pub",
        "public",
        "private",
        "protected",
        "export",
        "static",
        "async",
        "inline",
        "local",
        "abstract",
        "final",
        "const",
        "extern",
    ],
    definers: &[
        "fn",
        "func",
        "function",
        "def",
        "class",
        "struct",
        "enum",
        "trait",
        "interface",
        "module",
        "type",
        "proc",
        "sub",
        "union",
        "macro",
        "procedure",
        "namespace",
        "package",
    ],
    tails: &["impl"],
    shapes: &[Shape::Braced],
    ..BASE
};

/// The rules of a language.
pub(super) fn of(language: L) -> &'static Rules {
    match language {
        L::Rust => &RUST,
        L::Python => &PYTHON,
        L::JavaScript | L::TypeScript | L::Component => &SCRIPT,
        L::Go => &GO,
        L::Java | L::CSharp => &JAVA,
        L::C | L::Cpp => &C,
        L::Ruby => &RUBY,
        L::Php => &PHP,
        L::Shell | L::PowerShell => &SHELL,
        L::Sql => &SQL,
        L::Kotlin | L::Swift | L::Scala | L::Dart => &JVM,
        L::Lua => &LUA,
        L::Perl => &PERL,
        L::R => &R,
        L::Elixir => &ELIXIR,
        L::Haskell => &HASKELL,
        L::Css | L::Terraform | L::Protobuf | L::GraphQl => &BRACED,
        L::Yaml => &YAML,
        L::Toml | L::Ini => &INI,
        L::Make => &MAKE,
        L::Docker | L::CMake => &DOCKER,
        L::Other => &GENERIC,
    }
}
