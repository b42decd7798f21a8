//! Every language: its smoke program, its file's content, its errors' line numbers.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failing step is a failing test; what is skipped is said"
)]

mod common;

use common::{Bench, assert_output, text};
use quietcontext_exec::{Cancel, ExecError, Exit, Input, Language};

/// Languages whose runtime may be missing even where everything is required
/// (`QUIETCONTEXT_TEST_REQUIRE=all`): not every distribution packages them.
const OPTIONAL: &[&str] = &["typescript", "csharp"];

/// The languages that can run here. A missing one is reported by name; where everything is
/// required it fails the test, unless it is on the list above.
fn installed(bench: &Bench) -> Vec<Language> {
    let required =
        std::env::var_os("QUIETCONTEXT_TEST_REQUIRE").is_some_and(|value| value == "all");
    Language::all()
        .filter(|language| match bench.executor.runtime(*language) {
            Ok(_) => true,
            Err(error) => {
                assert!(matches!(error, ExecError::MissingRuntime { .. }));
                println!("SKIPPED {}: {error}", language.name());
                assert!(!required || OPTIONAL.contains(&language.name()), "{error}");
                false
            }
        })
        .collect()
}

fn is_installed(bench: &Bench, name: &str) -> bool {
    installed(bench).contains(&Language::parse(name).unwrap())
}

#[test]
fn every_smoke_program_prints_what_its_row_says() {
    let bench = Bench::new();
    for language in installed(&bench) {
        let smoke = &language.row().smoke;
        let run = bench.run(language.name(), smoke.program);
        let (out, err) = (text(&run.stdout), text(&run.stderr));
        assert_eq!(out, smoke.output, "{}: {:?} {err}", language.name(), run.exit);
        assert_eq!((run.exit, err.as_str()), (Exit::Code(0), ""), "{}", language.name());
    }
    bench.assert_clean();
}

/// Prints the content's size and, where it was read by nobody, what standard input still holds.
const CONTENT_PROGRAMS: &[(&str, &str)] = &[
    ("shell", "LC_ALL=C; printf '%s %s\\n' ${#FILE_CONTENT} \"$(wc -c)\""),
    ("python", "import sys\nprint(len(FILE_CONTENT.encode()), len(sys.stdin.buffer.read()))"),
    (
        "javascript",
        "const n = require('fs').readFileSync(0).length;\n\
         console.log(Buffer.byteLength(FILE_CONTENT), n);",
    ),
    (
        "typescript",
        "import { readFileSync } from 'node:fs';\ndeclare const FILE_CONTENT: string;\n\
         const n: number = readFileSync(0).length;\n\
         console.log(Buffer.byteLength(FILE_CONTENT), n);",
    ),
    ("ruby", "puts \"#{FILE_CONTENT.bytesize} #{$stdin.read.bytesize}\""),
    ("go", "rest, _ := io.ReadAll(os.Stdin)\nfmt.Println(len(FILE_CONTENT), len(rest))"),
    (
        "rust",
        "use std::io::Read;\nlet mut rest = Vec::new();\nstd::io::stdin().read_to_end(&mut rest)?;\n\
         println!(\"{} {}\", FILE_CONTENT.len(), rest.len());",
    ),
    ("php", "echo strlen($FILE_CONTENT), ' ', strlen(stream_get_contents(STDIN)), \"\\n\";"),
    (
        "perl",
        "use strict; use warnings; use Encode;\nlocal $/;\nbinmode STDIN;\nmy $rest = <STDIN>;\n\
         print length(Encode::encode('UTF-8', $FILE_CONTENT)), ' ', length($rest), \"\\n\";",
    ),
    (
        "r",
        "rest <- readBin(file('stdin', 'rb'), 'raw', 1e6)\n\
         cat(nchar(FILE_CONTENT, 'bytes'), length(rest))\ncat('\\n')",
    ),
    (
        "elixir",
        ":io.setopts(:standard_io, encoding: :latin1)\nrest = IO.binread(:stdio, :eof)\n\
         IO.puts(\"#{byte_size(file_content)} #{byte_size(rest)}\")",
    ),
    (
        "csharp",
        "var n = 0; using (var s = Console.OpenStandardInput()) { while (s.ReadByte() >= 0) n++; }\n\
         Console.WriteLine(Encoding.UTF8.GetByteCount(FILE_CONTENT) + \" \" + n);",
    ),
];

#[test]
fn the_content_of_the_file_is_there_in_every_language_and_standard_input_is_unread() {
    let bench = Bench::new();
    let content = "line one\r\n\u{e4} \u{4e2d}\u{6587} 'quoted' \"double\" $x `y`\n\n\n";
    for language in installed(&bench) {
        let (_, code) = CONTENT_PROGRAMS.iter().find(|(name, _)| *name == language.name()).unwrap();
        let run = bench.try_run_file(language.name(), code, content.as_bytes()).unwrap();
        let expected = format!("{0} {0}\n", content.len());
        let (out, err) = (text(&run.stdout), text(&run.stderr));
        assert_eq!((out, run.exit), (expected, Exit::Code(0)), "{}: {err}", language.name());
    }
}

#[test]
fn the_content_is_decoded() {
    let bench = Bench::new();
    let utf16: Vec<u8> =
        [0xFEFF, 0x41, 0x4E2D].iter().flat_map(|unit: &u16| unit.to_le_bytes()).collect();
    for (content, expected) in [
        (b"a\xffb".as_slice(), "a\u{fffd}b"),
        (b"a\0b\r\n", "a\0b\r\n"),
        (utf16.as_slice(), "A\u{4e2d}"),
        (b"", ""),
    ] {
        let code = "import sys\nsys.stdout.buffer.write(FILE_CONTENT.encode())";
        assert_output(&bench.try_run_file("python", code, content).unwrap(), expected);
    }
}

#[test]
fn the_loaders_leave_no_trace() {
    let bench = Bench::new();
    let code = "import os, sys\nfile_content\nprint(__name__, sys.argv[1:], sys.path[0] in __file__, \
                [n for n in os.environ if 'QUIETCONTEXT' in n or 'PYTHON' in n])";
    let run = bench.try_run_file("python", code, b"x").unwrap();
    assert_output(&run, "__main__ [] True []\n");
    let code =
        "echo ${0##*/} $LINENO ${BASH_ENV-none} ${QUIETCONTEXT_FILE_CONTENT-none} $FILE_CONTENT";
    assert_output(&bench.try_run_file("shell", code, b"x").unwrap(), "program.sh 1 none none x\n");
    let code =
        "console.log(Object.keys(process.env).filter(n => n.includes('QUIET')), FILE_CONTENT)";
    assert_output(&bench.try_run_file("javascript", code, b"x").unwrap(), "[] x\n");
}

#[test]
fn nul_in_shell_and_too_large_a_file_are_refused_with_the_way_out() {
    let bench = Bench::new();
    let error = bench.try_run_file("shell", "echo $FILE_CONTENT", b"a\0b").unwrap_err();
    assert!(matches!(error, ExecError::FileContentNul));
    assert!(error.to_string().contains("FILE_PATH"));
    // Without the name the file is no trouble.
    assert_output(&bench.try_run_file("shell", "wc -c", b"a\0b").unwrap(), "3\n");
    let path = bench.root.join("big");
    let file = std::fs::File::create_new(&path).unwrap();
    file.set_len(64 * 1024 * 1024 + 1).unwrap();
    let mut request = bench.request("python", "print(len(FILE_CONTENT))");
    request.input = Input::File { file: std::fs::File::open(&path).unwrap(), path: path.clone() };
    let error = bench.executor.run(&request, &Cancel::new()).unwrap_err();
    assert!(error.to_string().contains("FILE_PATH"), "{error}");
    file.set_len(64 * 1024 * 1024).unwrap();
    assert_output(&bench.executor.run(&request, &Cancel::new()).unwrap(), "67108864\n");
}

#[test]
fn line_numbers_are_those_of_the_submitted_code() {
    let bench = Bench::new();
    for (language, code, expected) in [
        ("shell", "\n\nno-such-command-9", "line 3: no-such-command-9"),
        ("python", "\nx = 1\nraise ValueError('boom')", "line 3, in <module>"),
        ("javascript", "\n\nnull.x", "program.cjs:3"),
        ("javascript", "import 'fs';\n\nnull.x", "program.mjs:3"),
        ("javascript", "const a = require('fs');\nawait 1;\n\nnull.x", "program.mjs:4"),
        ("ruby", "\n\nraise 'boom'", "program.rb:3"),
        ("perl", "\n\ndie 'boom'", "program.pl line 3"),
        ("php", "\n\nthrow new Exception('boom');", "program.php:3"),
        ("elixir", "\n\nraise \"boom\"", "program.exs:3"),
        ("go", "x := 1\n_ = x\nfmt.Println(undefined1)", "program.go:3:13: undefined: undefined1"),
        ("go", "package main\n\nfunc main() {\n\tpanic(1)\n}", "program.go:4"),
        ("rust", "let a = 1;\n\nundefined_1(a);", "program.rs:3:1"),
        ("rust", "\nfn main() {\n    panic!(\"boom\");\n}", "program.rs:3:5"),
        ("csharp", "var a = 1;\n\nundefined1(a);", "(3,"),
    ] {
        if !is_installed(&bench, language) {
            continue;
        }
        let run = bench.run(language, code);
        let all = format!("{}{}", text(&run.stdout), text(&run.stderr));
        assert_ne!(run.exit, Exit::Code(0), "{language}");
        assert!(all.contains(expected), "{language}: {expected} is not in {all}");
    }
}

#[test]
fn with_a_content_the_line_numbers_stay() {
    let bench = Bench::new();
    for (language, code, expected) in [
        ("shell", "x=$FILE_CONTENT\n\nno-such-command-9", "line 3: no-such-command-9"),
        ("python", "x = FILE_CONTENT\n\nraise ValueError('boom')", "line 3, in <module>"),
        ("javascript", "FILE_CONTENT;\n\nnull.x", "program.cjs:3"),
        ("ruby", "FILE_CONTENT\n\nraise 'boom'", "program.rb:3"),
        ("perl", "my $x = $FILE_CONTENT;\n\ndie 'boom'", "program.pl line 3"),
        ("php", "<?php $FILE_CONTENT;\n\nthrow new Exception('boom');", "program.php:3"),
        ("elixir", "_ = file_content\n\nraise \"boom\"", "program.exs:3"),
        ("rust", "let _ = FILE_CONTENT;\n\npanic!(\"boom\");", "program.rs:3:1"),
        ("go", "_ = FILE_CONTENT\n\npanic(1)", "program.go:3"),
    ] {
        if !is_installed(&bench, language) {
            continue;
        }
        let run = bench.try_run_file(language, code, b"content").unwrap();
        let all = format!("{}{}", text(&run.stdout), text(&run.stderr));
        assert_ne!(run.exit, Exit::Code(0), "{language}");
        assert!(all.contains(expected), "{language}: {expected} is not in {all}");
    }
}

#[test]
fn javascript_finds_the_projects_modules() {
    let bench = Bench::new();
    let package = bench.root.join("node_modules/qcpkg");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("index.js"), "module.exports = 'package';\n").unwrap();
    std::fs::write(bench.root.join("own.cjs"), "module.exports = 'own';\n").unwrap();
    std::fs::write(bench.root.join("own.mjs"), "export default 'own';\n").unwrap();
    for (code, expected) in [
        ("console.log(require('qcpkg'))", "package\n"),
        ("import p from 'qcpkg'; console.log(p)", "package\n"),
        ("console.log(require('./own.cjs'))", "own\n"),
        ("import o from './own.mjs'; console.log(o)", "own\n"),
        ("await 1; console.log(require('./own.cjs'), require('qcpkg'))", "own package\n"),
        ("console.log((await import('./own.mjs')).default)", "own\n"),
        ("import('./own.mjs').then((m) => console.log(m.default))", "own\n"),
        ("const p = require('path');\nif (require.main === module) console.log(p.sep)", "/\n"),
        (
            "const p = require('path');\nawait 1;\nif (require.main === module) console.log(p.sep)",
            "/\n",
        ),
    ] {
        let run = bench.run("javascript", code);
        assert_eq!(text(&run.stdout), expected, "{code}: {}", text(&run.stderr));
    }
}

#[test]
fn python_finds_the_projects_modules_and_keeps_its_own() {
    let bench = Bench::new();
    std::fs::write(bench.root.join("qcown.py"), "name = 'own'\n").unwrap();
    assert_output(&bench.run("python", "import qcown\nprint(qcown.name)"), "own\n");
    let children = "import subprocess, sys\n\
                    subprocess.run([sys.executable, '-c', 'import sys; print(len(sys.path) > 1)'])";
    assert_output(&bench.run("python", children), "True\n");
}

#[test]
fn a_compiled_program_is_compiled_once() {
    let bench = Bench::new();
    for (language, code) in [
        ("rust", "println!(\"hi\");"),
        ("go", "fmt.Println(\"hi\")"),
        ("csharp", "Console.WriteLine(\"hi\");"),
    ] {
        if !is_installed(&bench, language) {
            continue;
        }
        assert_output(&bench.run(language, code), "hi\n");
        let built = || std::fs::read_dir(bench.scratch().join("built")).unwrap().count();
        let before = built();
        let first = bench.run(language, code);
        assert_output(&first, "hi\n");
        assert_eq!(built(), before);
        let other = bench.run(language, &code.replace("hi", "ho"));
        assert_output(&other, "ho\n");
        assert_eq!(built(), before + 1);
    }
    bench.assert_clean();
}

#[test]
fn a_program_that_does_not_compile_says_so_and_is_not_kept() {
    let bench = Bench::new();
    let run = bench.run("rust", "let x: i32 = \"a\";");
    assert_eq!(run.exit, Exit::Code(1));
    let err = text(&run.stderr);
    assert!(err.contains("program.rs:1:") && !err.contains("scratch"), "{err}");
    assert_eq!(std::fs::read_dir(bench.scratch().join("built")).map_or(0, Iterator::count), 0);
}

#[test]
fn go_takes_bodies_declarations_and_full_programs() {
    let bench = Bench::new();
    if !is_installed(&bench, "go") {
        return;
    }
    for code in [
        "fmt.Println(7)",
        "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(7) }",
        "func main() {\n\tfmt.Println(seven())\n}\n\nfunc seven() int { return 7 }",
        "import \"fmt\"\n\ntype T struct{ n int }\n\nfunc (t T) seven() int { return t.n }\n\n\
         t := T{7}\nfmt.Println(t.seven())",
        "strings := []string{\"7\"}\nfmt.Println(strings[0])",
        "const raw = `\nfunc x() {\n`\n_ = raw\nfmt.Println(7)",
    ] {
        let run = bench.run("go", code);
        assert_eq!(text(&run.stdout), "7\n", "{code}: {}", text(&run.stderr));
    }
}

#[test]
fn rust_takes_bodies_and_full_programs() {
    let bench = Bench::new();
    for code in [
        "println!(\"{}\", 3 + 4)",
        "fn seven() -> i32 { 7 }\nprintln!(\"{}\", seven());\n// the end",
        "use std::fmt::Write;\nlet mut s = String::new();\nwrite!(s, \"7\")?;\nprintln!(\"{s}\");\nOk(())",
        "#![allow(dead_code)]\nstruct A;\nimpl A { fn n() -> i32 { 7 } }\nfn main() { println!(\"{}\", A::n()) }",
    ] {
        let run = bench.run("rust", code);
        assert_eq!(text(&run.stdout), "7\n", "{code}: {}", text(&run.stderr));
    }
    let run = bench.run("rust", "let n: u8 = std::hint::black_box(255);\nprintln!(\"{}\", n + 1);");
    assert_eq!(run.exit, Exit::Code(101), "an overflow is an error");
}

#[test]
fn php_takes_programs_with_and_without_a_tag() {
    let bench = Bench::new();
    if !is_installed(&bench, "php") {
        return;
    }
    for code in ["echo 7;", "<?php echo 7;", "<?= 7 ?>", "#!/usr/bin/env php\n<?php echo 7;"] {
        assert_output(&bench.run("php", code), "7");
    }
}

/// The executable of this name on the path, in a directory that holds nothing else.
fn alone(name: &str) -> Option<tempfile::TempDir> {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|entry| entry.join(name)).find(|p| p.is_file())?;
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(found, directory.path().join(name)).unwrap();
    Some(directory)
}

#[test]
fn each_candidate_of_the_javascript_family_runs_the_smoke_program_and_loads_the_content() {
    for (language, name) in [
        ("javascript", "node"),
        ("javascript", "bun"),
        ("javascript", "deno"),
        ("typescript", "bun"),
        ("typescript", "deno"),
        ("typescript", "tsx"),
    ] {
        let Some(directory) = alone(name) else {
            println!("SKIPPED {name}: not on the path");
            continue;
        };
        let path = if name == "tsx" {
            // It is a script for Node.js, which is no candidate below 22.6.
            let all = [directory.path().into(), "/usr/local/bin".into(), "/usr/bin".into()];
            std::env::join_paths::<_, std::path::PathBuf>(all).unwrap()
        } else {
            directory.path().into()
        };
        let bench = Bench::with(|config| config.path = path);
        std::fs::write(bench.root.join("own.mjs"), "export default 'own';\n").unwrap();
        let language = Language::parse(language).unwrap();
        let found = bench.executor.runtime(language).unwrap().name;
        if found != name {
            println!("SKIPPED {name}: {found} comes first");
            continue;
        }
        let smoke = &language.row().smoke;
        let run = bench.run(language.name(), smoke.program);
        assert_eq!(text(&run.stdout), smoke.output, "{name}: {}", text(&run.stderr));
        let (_, code) = CONTENT_PROGRAMS.iter().find(|(row, _)| *row == language.name()).unwrap();
        let run = bench.try_run_file(language.name(), code, "\u{e4}\n".as_bytes()).unwrap();
        assert_eq!(text(&run.stdout), "3 3\n", "{name}: {}", text(&run.stderr));
        let run = bench.run(language.name(), "\n\nthrow new Error('boom');");
        let err = text(&run.stderr);
        assert!(run.exit != Exit::Code(0) && err.contains(":3:"), "{name}: {err}");
    }
}

#[test]
fn typescript_on_an_old_node_alone_is_a_missing_runtime() {
    let directory = tempfile::tempdir().unwrap();
    let node = directory.path().join("node");
    std::fs::write(&node, "#!/bin/sh\necho v20.20.2\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&node, mode).unwrap();
    let bench = Bench::with(|config| config.path = directory.path().into());
    let error = bench.try_run("typescript", "let a: number = 1").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("Node.js 22.6 or newer") && error.contains("javascript"), "{error}");
    std::fs::write(
        &node,
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo v22.7.0; exit; fi\n\
                           for a; do echo \"${a##*/}\"; done\n",
    )
    .unwrap();
    let bench = Bench::with(|config| config.path = directory.path().into());
    assert_output(
        &bench.run("typescript", "let a: number = 1"),
        "--experimental-transform-types\n--disable-warning=ExperimentalWarning\nprogram.cts\n",
    );
}
