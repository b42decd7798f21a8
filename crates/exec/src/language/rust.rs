//! Rust programs: a full one, or the body of `main`.

use std::ffi::OsString;

use super::mask::{Syntax, mask};
use super::words::{is_word, words_at};
use crate::error::ExecError;
use crate::plan::{Build, Plan, Planning};

/// Optimised, since programs are run over big data, with the checks of a debug build, so that an
/// overflow is an error and not a wrong number. Lints are silent: warnings are not the output.
const FLAGS: &[&str] = &[
    "--edition=2021",
    "--crate-type=bin",
    "--crate-name=program",
    "--cap-lints=allow",
    "--color=never",
    "-Copt-level=1",
    "-Coverflow-checks=on",
    "-Cdebug-assertions=on",
    "-Cdebuginfo=0",
];

/// Name of the compiled program.
const OUTPUT: &str = "program";

pub(super) fn plan(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let mut source = source_of(planning.code);
    if planning.content.is_some() && !declares_content(planning.code) {
        // At the end: items may come in any order, and the line numbers before it stay.
        source.push_str("\nconst FILE_CONTENT: &str = include_str!(\"content\");\n");
        source.push_str("#[allow(non_upper_case_globals)] ");
        source.push_str("const file_content: &str = FILE_CONTENT;\n");
    }
    let file = planning.write("program.rs", source.as_bytes())?;
    let output = planning.stage.join(OUTPUT);
    let mut arguments: Vec<OsString> = FLAGS.iter().map(Into::into).collect();
    // Messages name the program's file, not where it is kept.
    let mut remap = OsString::from("--remap-path-prefix=");
    remap.push(planning.stage);
    remap.push("/=");
    arguments.extend([remap, "-o".into(), output.clone().into(), file.into()]);
    let mut inputs: Vec<Vec<u8>> = FLAGS.iter().map(|flag| flag.as_bytes().to_vec()).collect();
    inputs.push(source.into_bytes());
    if let Some(content) = planning.content {
        inputs.push(std::fs::read(planning.on_disk(content)).map_err(|source| {
            ExecError::Staging { step: "read the staged file content", source }
        })?);
    }
    Ok(Plan {
        build: Some(Build {
            program: planning.runtime.path.clone(),
            arguments,
            cwd: planning.stage.to_owned(),
            output: OUTPUT,
            inputs: Some(inputs),
        }),
        program: output,
        arguments: Vec::new(),
        environment: Vec::new(),
    })
}

/// The program itself when it has a `main`, else wrapped on its first line and after its last.
fn source_of(code: &str) -> String {
    let text = mask(code, Syntax::Rust);
    if has_main(&text) {
        return code.to_owned();
    }
    let body = text.trim_ascii_end();
    // `?` needs a `main` that returns a result; `Sized` is the one other use of the sign.
    let tries = body.iter().enumerate().any(|(at, &byte)| {
        byte == b'?' && !body.get(at + 1).is_some_and(|&next| next.is_ascii_alphabetic())
    });
    let ends_in_ok = body.ends_with(b"Ok(())");
    if ends_in_ok {
        format!("fn main() -> Result<(), Box<dyn std::error::Error>> {{ {code}\n}}\n")
    } else if tries {
        format!("fn main() -> Result<(), Box<dyn std::error::Error>> {{ {{ {code}\n}}; Ok(()) }}\n")
    } else {
        format!("fn main() {{ {{ {code}\n}}; }}\n")
    }
}

/// Whether `fn main` stands outside every bracket.
fn has_main(text: &[u8]) -> bool {
    words_at(text, b"main").any(|at| {
        let before = text[..at].trim_ascii_end();
        let depth = before.iter().fold(0i64, |depth, byte| match byte {
            b'{' | b'(' | b'[' => depth + 1,
            b'}' | b')' | b']' => depth - 1,
            _ => depth,
        });
        depth == 0
            && before.ends_with(b"fn")
            && !before.len().checked_sub(3).is_some_and(|at| is_word(before[at]))
    })
}

fn declares_content(code: &str) -> bool {
    let text = mask(code, Syntax::Rust);
    ["FILE_CONTENT", "file_content"].iter().any(|name| {
        words_at(&text, name.as_bytes()).any(|at| {
            let before = text[..at].trim_ascii_end();
            [b"let".as_slice(), b"mut", b"const", b"static"]
                .iter()
                .any(|word| before.ends_with(word))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_program_is_left_alone_and_a_body_keeps_its_lines() {
        for code in
            ["fn main() {}\n", "use a::b;\npub fn main() { x() }", "async fn f() {}\nfn main(){}"]
        {
            assert_eq!(source_of(code), code);
        }
        for code in [
            "println!(\"fn main() {{}}\");",
            "// fn main()\nlet x = 1;",
            "mod a { fn main() {} }",
            "let domain = 1; // main",
            "fn maintain() {}",
        ] {
            let source = source_of(code);
            assert!(source.starts_with("fn main() { { "), "{code}");
            for (line, own) in code.lines().enumerate() {
                assert!(source.lines().nth(line).unwrap().ends_with(own), "{code}");
            }
        }
    }

    #[test]
    fn a_body_that_tries_gets_a_main_that_returns_a_result() {
        assert!(source_of("let a: u8 = \"1\".parse()?;").contains("; Ok(()) }"));
        assert!(source_of("f()?;\nOk(())\n").contains("Error>> { f()?;"));
        assert!(source_of("fn f<T: ?Sized>() {}").starts_with("fn main() {"));
        assert!(source_of("println!(\"?\");").starts_with("fn main() { {"));
    }
}
