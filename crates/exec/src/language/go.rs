//! Go programs: a full one, a `main` without its package line, or the body of `main`.

use std::ffi::OsString;

use super::mask::{Syntax, mask};
use super::words::{is_word, words_at};
use crate::error::ExecError;
use crate::plan::{Build, CONTENT_VARIABLE, Plan, Planning};

/// Packages that a program without imports of its own may use by name: path, and something
/// exported, by which an import counts as used where a variable of the same name hides it.
const PACKAGES: &[(&str, &str)] = &[
    ("bufio", "NewReader"),
    ("bytes", "Compare"),
    ("context", "Background"),
    ("crypto/md5", "New"),
    ("crypto/rand", "Read"),
    ("crypto/sha1", "New"),
    ("crypto/sha256", "New"),
    ("encoding/base64", "NewEncoder"),
    ("encoding/binary", "Size"),
    ("encoding/csv", "NewReader"),
    ("encoding/hex", "EncodeToString"),
    ("encoding/json", "Marshal"),
    ("encoding/xml", "Marshal"),
    ("errors", "New"),
    ("fmt", "Print"),
    ("io", "Copy"),
    ("log", "Print"),
    ("math", "Abs"),
    ("math/big", "NewInt"),
    ("net/http", "Get"),
    ("net/url", "Parse"),
    ("os", "Exit"),
    ("os/exec", "Command"),
    ("path/filepath", "Join"),
    ("reflect", "TypeOf"),
    ("regexp", "Compile"),
    ("runtime", "GC"),
    ("sort", "Ints"),
    ("strconv", "Itoa"),
    ("strings", "Split"),
    ("sync", "NewCond"),
    ("sync/atomic", "AddInt64"),
    ("text/tabwriter", "NewWriter"),
    ("text/template", "New"),
    ("time", "Now"),
    ("unicode", "IsLetter"),
    ("unicode/utf8", "RuneLen"),
];

const CONTENT_LOADER: &str = "package main\n\nimport \"os\"\n\n\
    var FILE_CONTENT = func() string {\n\
    \tcontent, err := os.ReadFile(os.Getenv(\"QUIETCONTEXT_FILE_CONTENT\"))\n\
    \tif err != nil {\n\t\tpanic(err)\n\t}\n\
    \tos.Unsetenv(\"QUIETCONTEXT_FILE_CONTENT\")\n\
    \treturn string(content)\n}()\n\nvar file_content = FILE_CONTENT\n";

/// Name of the compiled program.
const OUTPUT: &str = "program";

pub(super) fn plan(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let source = source_of(planning.code);
    let directory = planning.directory("main")?;
    let file = planning.write("main/program.go", source.as_bytes())?;
    let output = planning.stage.join(OUTPUT);
    let mut arguments: Vec<OsString> = ["build", "-trimpath", "-o"].map(Into::into).to_vec();
    arguments.extend([output.clone().into(), file.into()]);
    let mut inputs = vec![source.into_bytes()];
    let mut environment = Vec::new();
    if let Some(content) = planning.content {
        let loader = planning.write("main/file_content.go", CONTENT_LOADER.as_bytes())?;
        arguments.push(loader.into());
        inputs.push(CONTENT_LOADER.as_bytes().to_vec());
        environment.push((CONTENT_VARIABLE.into(), content.into()));
    }
    // In a module its packages can be imported, and they decide the result: no reuse then.
    let module = planning.cwd.ancestors().find(|directory| directory.join("go.mod").is_file());
    Ok(Plan {
        build: Some(Build {
            program: planning.runtime.path.clone(),
            arguments,
            cwd: if module.is_some() { planning.cwd.to_owned() } else { directory },
            output: OUTPUT,
            inputs: module.is_none().then_some(inputs),
        }),
        program: output,
        arguments: Vec::new(),
        environment,
    })
}

/// What stands outside every bracket, cut into pieces: each is a declaration or statements.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    start: usize,
    end: usize,
    top_level: bool,
}

fn source_of(code: &str) -> String {
    let text = mask(code, Syntax::Go);
    let pieces = pieces(&text);
    let first_word = |word: &[u8]| {
        pieces.iter().any(|piece| starts_with_word(text[piece.start..piece.end].trim_ascii(), word))
    };
    if first_word(b"package") {
        return code.to_owned();
    }
    let imports = if first_word(b"import") { String::new() } else { imports(&text) };
    let mut source = format!("package main; {imports}");
    let has_main = pieces
        .iter()
        .any(|piece| piece.top_level && is_main(text[piece.start..piece.end].trim_ascii()));
    let piece_text = |piece: &Piece| {
        let before = &code.as_bytes()[..piece.start];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
        let own = String::from_utf8_lossy(&code.as_bytes()[piece.start..piece.end]).into_owned();
        format!("\n//line program.go:{line}:{column}\n{own}")
    };
    for piece in pieces.iter().filter(|piece| piece.top_level || has_main) {
        source.push_str(&piece_text(piece));
    }
    if !has_main {
        source.push_str("\nfunc main() {");
        for piece in pieces.iter().filter(|piece| !piece.top_level) {
            source.push_str(&piece_text(piece));
        }
        source.push_str("\n}");
    }
    source.push('\n');
    source
}

/// Imports of the packages that the text names, each marked as used.
fn imports(text: &[u8]) -> String {
    let mut imports = String::new();
    let mut uses = String::new();
    for (path, exported) in PACKAGES {
        let name = path.rsplit('/').next().unwrap_or(path);
        let used = words_at(text, name.as_bytes()).any(|at| {
            text.get(at + name.len()) == Some(&b'.')
                && text[..at].trim_ascii_end().last() != Some(&b'.')
        });
        if used {
            imports.extend(["import \"", path, "\"; "]);
            uses.extend(["var _ = ", name, ".", exported, "; "]);
        }
    }
    imports + &uses
}

/// Cuts at the line ends outside every bracket. Functions, types with their methods, and imports
/// cannot stand inside `main`; everything else can.
fn pieces(text: &[u8]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut depth = 0i64;
    let mut in_raw = false;
    let mut start = 0;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            b'`' => in_raw = !in_raw,
            b'\n' if depth <= 0 && !in_raw => {
                push(&mut pieces, text, start, at + 1);
                start = at + 1;
            }
            _ => {}
        }
    }
    push(&mut pieces, text, start, text.len());
    pieces
}

fn push(pieces: &mut Vec<Piece>, text: &[u8], start: usize, end: usize) {
    let own = text[start..end].trim_ascii();
    let top_level = starts_with_word(own, b"import")
        || starts_with_word(own, b"type")
        || starts_with_word(own, b"package")
        || is_function(own);
    match pieces.last_mut() {
        // Statements that follow each other stay together, and blank lines with what is before.
        Some(last) if (!last.top_level && !top_level) || own.is_empty() => last.end = end,
        _ => pieces.push(Piece { start, end, top_level }),
    }
}

/// `func name(` or `func (receiver) name(`, but not a call of a literal: `func() { … }()`.
fn is_function(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"func") else { return false };
    let rest = rest.trim_ascii_start();
    match rest.first() {
        Some(b'(') => {
            let close = rest.iter().position(|&byte| byte == b')').unwrap_or(0);
            rest[close + 1..].trim_ascii_start().first().is_some_and(|&byte| is_word(byte))
        }
        Some(&byte) => is_word(byte),
        None => false,
    }
}

fn is_main(text: &[u8]) -> bool {
    text.strip_prefix(b"func")
        .is_some_and(|rest| starts_with_word(rest.trim_ascii_start(), b"main"))
}

fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    text.starts_with(word) && !text.get(word.len()).is_some_and(|&next| is_word(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_program_is_left_alone() {
        let code = "// comment\npackage main\n\nfunc main() {}\n";
        assert_eq!(source_of(code), code);
    }

    #[test]
    fn a_body_is_wrapped_and_its_lines_are_named() {
        let source = source_of("x := 1\nfmt.Println(x)\n");
        assert!(source.starts_with("package main; import \"fmt\"; var _ = fmt.Print; "));
        assert!(source.contains("func main() {\n//line program.go:1:1\nx := 1\nfmt.Println(x)\n"));
    }

    #[test]
    fn declarations_between_statements_are_taken_out() {
        let code = "x := f(1)\nfunc f(n int) int {\n\treturn n\n}\nprintln(x)\n";
        let source = source_of(code);
        let function = source.find("//line program.go:2:1\nfunc f(n int)").unwrap();
        let main = source.find("func main()").unwrap();
        assert!(function < main);
        assert!(source.contains("//line program.go:1:1\nx := f(1)\n"));
        assert!(source.contains("//line program.go:5:1\nprintln(x)\n"));
    }

    #[test]
    fn a_main_without_package_gets_one() {
        let source = source_of("import \"fmt\"\nfunc main() { fmt.Println(1) }\n");
        assert_eq!(source.matches("func main()").count(), 1);
        assert_eq!(source.matches("import").count(), 1);
    }

    #[test]
    fn names_in_strings_import_nothing_and_packages_are_sorted() {
        assert_eq!(imports(&mask("println(\"os.Exit\") // fmt.Print", Syntax::Go)), "");
        assert!(PACKAGES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn function_literals_are_statements() {
        assert!(is_function(b"func f() {}") && is_function(b"func (a *A) m() {}"));
        assert!(!is_function(b"func() { x() }()") && !is_function(b"func (a int) {}(1)"));
    }
}
