//! Every language: its smoke program, its file's content, its errors' line numbers.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use common::languages::{installed, is_installed};
use common::{Bench, assert_output, text};
use quietcontext_exec::Exit;

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
