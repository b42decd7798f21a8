//! `FILE_CONTENT` in every language, and every JavaScript runtime.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use common::languages::{CONTENT_PROGRAMS, installed, is_installed};
use common::{Bench, assert_output, text};
use quietcontext_exec::{Cancel, ExecError, Exit, Input, Language};

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
        relative_modules_are_those_of_the_working_directory(&bench, language, name);
        let run = bench.run(language.name(), "\n\nthrow new Error('boom');");
        let err = text(&run.stderr);
        assert!(run.exit != Exit::Code(0) && err.contains(":3:"), "{name}: {err}");
    }
}

/// `./x` and `../x` mean what they would mean if the program stood in its working directory, for all
/// ways to load a module, also with a content; and `./x` in a module means what it says there.
fn relative_modules_are_those_of_the_working_directory(
    bench: &Bench,
    language: Language,
    name: &str,
) {
    let files = [
        ("up.mjs", "export default 'up';\n"),
        ("sub/own.mjs", "import deep from './lib/deep.mjs';\nexport default 'sub ' + deep;\n"),
        ("sub/own.cjs", "module.exports = 'common';\n"),
        ("sub/bare.js", "module.exports = 'bare';\n"),
        ("sub/lib/deep.mjs", "export default 'deep';\n"),
        ("sub/lib/index.js", "module.exports = 'index';\n"),
    ];
    for (path, text) in files {
        let path = bench.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let run = |code: &str, content: Option<&[u8]>| {
        let mut request = bench.request(language.name(), code);
        request.cwd = bench.root.join("sub");
        if let Some(content) = content {
            let path = bench.root.join("content");
            std::fs::write(&path, content).unwrap();
            let file = std::fs::File::open(&path).unwrap();
            request.input = Input::File { file, path };
        }
        bench.executor.run(&request, &Cancel::new()).unwrap()
    };
    for (code, expected) in [
        ("import own from './own.mjs'; console.log(own);", "sub deep\n"),
        ("import up from '../up.mjs'; console.log(up);", "up\n"),
        ("console.log((await import('./own.mjs')).default);", "sub deep\n"),
        ("const name = 'own'; console.log((await import(`./${name}.mjs`)).default);", "sub deep\n"),
        ("console.log(require('./own.cjs'));", "common\n"),
        (
            "import own from './own.mjs'; console.log(own, require('./own.cjs'));",
            "sub deep common\n",
        ),
    ] {
        let got = run(code, None);
        assert_eq!(text(&got.stdout), expected, "{name}: {code}: {}", text(&got.stderr));
        let got = run(&format!("{code} console.log(FILE_CONTENT);"), Some(b"content"));
        let expected = format!("{expected}content\n");
        assert_eq!(text(&got.stdout), expected, "{name}: {code}: {}", text(&got.stderr));
    }
    if name != "deno" {
        // Deno wants endings, as in the project itself.
        let code = "console.log(require('./bare'), require('./lib'));";
        let got = run(code, None);
        assert_eq!(text(&got.stdout), "bare index\n", "{name}: {}", text(&got.stderr));
    }
    let got = run("import x from './not-there.mjs'; console.log(x);", None);
    assert!(got.exit != Exit::Code(0), "{name}");
    assert!(text(&got.stderr).contains("not-there.mjs"), "{name}: {}", text(&got.stderr));
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
