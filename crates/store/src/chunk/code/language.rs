//! Languages and how their files are called: one row each.

use super::super::table::{Chunker, ContentKind, Kind, KindRow};

/// A language of source code or configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeLanguage {
    /// C.
    C,
    /// CMake lists.
    CMake,
    /// C#.
    CSharp,
    /// Vue, Svelte, Astro: script, template and style in one file.
    Component,
    /// C++, CUDA, Objective-C.
    Cpp,
    /// CSS and its preprocessors.
    Css,
    /// Dart.
    Dart,
    /// Dockerfile.
    Docker,
    /// Elixir.
    Elixir,
    /// Go.
    Go,
    /// GraphQL.
    GraphQl,
    /// Haskell, Elm, OCaml.
    Haskell,
    /// INI and its kin.
    Ini,
    /// Java.
    Java,
    /// JavaScript and JSX.
    JavaScript,
    /// Kotlin.
    Kotlin,
    /// Lua.
    Lua,
    /// Makefile.
    Make,
    /// Known to be code, without rules of its own.
    Other,
    /// Perl.
    Perl,
    /// PHP.
    Php,
    /// PowerShell.
    PowerShell,
    /// Protocol Buffers.
    Protobuf,
    /// Python.
    Python,
    /// R.
    R,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
    /// Scala.
    Scala,
    /// Shells of the Bourne family, fish.
    Shell,
    /// SQL.
    Sql,
    /// Swift.
    Swift,
    /// Terraform and HCL.
    Terraform,
    /// TOML.
    Toml,
    /// TypeScript and TSX.
    TypeScript,
    /// YAML.
    Yaml,
}

const fn row(
    language: CodeLanguage,
    name: &'static str,
    extensions: &'static [&'static str],
    files: &'static [&'static str],
    mimes: &'static [&'static str],
) -> KindRow {
    KindRow {
        kind: ContentKind::Code(language),
        name,
        extensions,
        files,
        mimes,
        class: Kind::Code,
        chunker: Chunker::Code(language),
    }
}

use CodeLanguage as L;

/// One row for each language.
#[rustfmt::skip]
pub(in super::super) static ROWS: &[KindRow] = &[
    row(L::C, "c", &["c", "h"], &[], &["text/x-c", "text/x-csrc", "text/x-chdr"]),
    row(L::CMake, "cmake", &["cmake"], &["cmakelists.txt"], &[]),
    row(L::CSharp, "csharp", &["cs", "csx"], &[], &["text/x-csharp"]),
    row(L::Component, "component", &["vue", "svelte", "astro"], &[], &[]),
    row(L::Cpp, "cpp", &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "ipp", "cu", "cuh", "ino", "m", "mm"], &[], &["text/x-c++", "text/x-c++src"]),
    row(L::Css, "css", &["css", "scss", "less", "sass", "styl"], &[], &["text/css"]),
    row(L::Dart, "dart", &["dart"], &[], &[]),
    row(L::Docker, "docker", &["dockerfile", "containerfile"], &["dockerfile", "containerfile"], &[]),
    row(L::Elixir, "elixir", &["ex", "exs"], &[], &[]),
    row(L::Go, "go", &["go"], &[], &["text/x-go"]),
    row(L::GraphQl, "graphql", &["graphql", "gql", "graphqls"], &[], &["application/graphql"]),
    row(L::Haskell, "haskell", &["hs", "lhs", "elm", "ml", "mli", "purs"], &[], &[]),
    row(L::Ini, "ini", &["ini", "cfg", "conf", "cnf", "properties", "desktop", "service", "socket", "timer", "editorconfig"],
        &[".editorconfig", ".gitconfig", ".npmrc", ".gitmodules", ".env", ".flake8", ".coveragerc"], &[]),
    row(L::Java, "java", &["java"], &[], &["text/x-java", "text/x-java-source"]),
    row(L::JavaScript, "javascript", &["js", "mjs", "cjs", "jsx", "es6"], &[], &["text/javascript", "application/javascript", "application/x-javascript", "application/ecmascript"]),
    row(L::Kotlin, "kotlin", &["kt", "kts"], &[], &[]),
    row(L::Lua, "lua", &["lua"], &[], &["text/x-lua"]),
    row(L::Make, "make", &["mk", "mak"], &["makefile", "gnumakefile", "justfile", ".justfile"], &["text/x-makefile"]),
    row(L::Other, "code", &["zig", "nim", "jl", "v", "sv", "vhd", "vhdl", "clj", "cljs", "cljc", "edn", "erl", "hrl", "lisp", "el", "scm", "rkt", "groovy",
        "gradle", "pas", "d", "cr", "f", "f90", "f95", "fs", "fsx", "vb", "asm", "s", "sol", "tcl", "awk", "vim", "nix", "bzl", "star", "wgsl", "glsl", "hlsl",
        "vert", "frag", "bat", "cmd", "hx", "odin", "wat", "thrift", "capnp", "fbs", "sbt", "cue", "rego", "jsonnet", "libsonnet", "mod", "ebnf", "pest", "y", "l"],
        &["build", "workspace", "jenkinsfile", "vagrantfile", "build.bazel", ".gitignore", ".gitattributes", ".dockerignore", "codeowners", ".vimrc"], &[]),
    row(L::Perl, "perl", &["pl", "pm", "pod"], &[], &["text/x-perl"]),
    row(L::Php, "php", &["php", "phtml"], &[], &["text/x-php", "application/x-httpd-php"]),
    row(L::PowerShell, "powershell", &["ps1", "psm1", "psd1"], &[], &[]),
    row(L::Protobuf, "protobuf", &["proto"], &[], &[]),
    row(L::Python, "python", &["py", "pyi", "pyw", "pyx", "pxd", "sage"], &["sconstruct", "wscript"], &["text/x-python", "application/x-python"]),
    row(L::R, "r", &["r"], &[".rprofile"], &["text/x-r"]),
    row(L::Ruby, "ruby", &["rb", "rake", "gemspec", "ru"], &["gemfile", "rakefile", "podfile", "brewfile", "fastfile"], &["text/x-ruby"]),
    row(L::Rust, "rust", &["rs"], &[], &["text/rust", "text/x-rust"]),
    row(L::Scala, "scala", &["scala", "sc"], &[], &[]),
    row(L::Shell, "shell", &["sh", "bash", "zsh", "fish", "ksh", "bats"],
        &[".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", "pkgbuild", "apkbuild", ".envrc"], &["application/x-sh", "text/x-shellscript", "text/x-sh"]),
    row(L::Sql, "sql", &["sql", "ddl", "dml", "psql"], &[], &["application/sql", "text/x-sql"]),
    row(L::Swift, "swift", &["swift"], &[], &[]),
    row(L::Terraform, "terraform", &["tf", "tfvars", "hcl"], &[], &[]),
    row(L::Toml, "toml", &["toml"], &["cargo.lock", "poetry.lock", "uv.lock", "pdm.lock"], &["application/toml"]),
    row(L::TypeScript, "typescript", &["ts", "tsx", "mts", "cts"], &[], &["text/typescript", "application/typescript", "application/x-typescript"]),
    row(L::Yaml, "yaml", &["yaml", "yml"], &[".clang-format", ".clang-tidy", "pubspec.lock"], &["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"]),
];
