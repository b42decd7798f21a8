//! What a program finds around it: input, terminal, environment, project tools.
#![expect(clippy::unwrap_used, reason = "a failing step is a failing test")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use common::{Bench, PATIENCE, assert_output, bytes, text};
use quietcontext_exec::{Cancel, Input};

#[test]
fn standard_input_is_empty_and_there_is_no_terminal() {
    let bench = Bench::new();
    assert_output(&bench.shell("cat; readlink /proc/self/fd/0"), "/dev/null\n");
    let started = Instant::now();
    let run = bench.shell("grep -n needle $(true); echo $?; : < /dev/tty || echo no terminal");
    assert_eq!(text(&run.stdout), "1\nno terminal\n");
    let run = bench.shell("python3 -c 'import getpass; getpass.getpass()' 2>&1; echo end");
    assert!(text(&run.stdout).contains("EOFError"), "{}", text(&run.stdout));
    assert!(text(&run.stdout).ends_with("end\n"));
    assert!(started.elapsed() < PATIENCE);
}

#[test]
fn git_neither_prompts_nor_pages() {
    let bench = Bench::new();
    let run = bench.shell(
        "mkdir repository; cd repository; git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m one\n\
         git log -1 --format=%s\n\
         GIT_CONFIG_NOSYSTEM=1 git ls-remote https://127.0.0.1:9/x.git\n\
         echo reached-end",
    );
    assert_eq!(text(&run.stdout), "one\nreached-end\n", "{}", text(&run.stderr));
}

#[test]
fn hooks_of_the_servers_environment_change_nothing() {
    let outside = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = outside.path().join(name);
        fs::write(&path, text).unwrap();
        path.into_os_string()
    };
    let evil = file("evil.sh", "echo INJECTED\n");
    let python = file("sitecustomize.py", "print('INJECTED')\n");
    let node = file("e.js", "console.log('INJECTED')\n");
    let bench = Bench::with(|config| {
        let mut require = std::ffi::OsString::from("--require ");
        require.push(&node);
        for (name, value) in [
            ("BASH_ENV", evil.clone()),
            ("ENV", evil.clone()),
            ("PROMPT_COMMAND", "echo INJECTED".into()),
            ("PYTHONSTARTUP", python),
            ("PYTHONPATH", outside.path().into()),
            ("NODE_OPTIONS", require),
            ("LD_PRELOAD", outside.path().join("none.so").into()),
            ("SECRET_TOKEN", "INJECTED".into()),
        ] {
            config.environment.push((name.into(), value));
        }
    });
    for (language, code) in [
        ("shell", "echo ok; env | grep INJ"),
        ("python", "print('ok')"),
        ("javascript", "console.log('ok')"),
    ] {
        let run = bench.run(language, code);
        assert_eq!(text(&run.stdout), "ok\n", "{language}");
        assert_eq!(text(&run.stderr), "", "{language}");
    }
}

#[test]
fn a_projects_virtual_environment_is_used() {
    let bench = Bench::new();
    let made = bench.shell("python3 -m venv --without-pip .venv && echo made");
    assert_output(&made, "made\n");
    let library = bench.shell("echo .venv/lib/python3*/site-packages");
    let library = bench.root.join(text(&library.stdout).trim());
    fs::write(library.join("qcmod.py"), "name = 'only there'\n").unwrap();
    let run = bench.run("python", "import qcmod, os\nprint(qcmod.name, os.environ['VIRTUAL_ENV'])");
    assert_output(&run, &format!("only there {}\n", bench.root.join(".venv").display()));
    assert_output(&bench.shell("python -c 'import qcmod; print(1)'"), "1\n");
}

#[test]
fn project_commands_are_on_the_path() {
    let bench = Bench::new();
    let binaries = bench.root.join("node_modules/.bin");
    fs::create_dir_all(&binaries).unwrap();
    fs::write(binaries.join("mytool"), "#!/bin/sh\necho tool\n").unwrap();
    fs::set_permissions(binaries.join("mytool"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_output(&bench.shell("mytool"), "tool\n");
}

#[test]
fn the_input_file_is_standard_input_byte_for_byte() {
    let bench = Bench::new();
    let content = b"a\0b\r\n\xff\xfe\n\n";
    let run =
        bench.try_run_file("shell", "cat; cmp - \"$FILE_PATH\" < /dev/stdin", content).unwrap();
    assert_eq!(bytes(&run.stdout), content);
    let run = bench.try_run_file("shell", "cmp - \"$FILE_PATH\" && echo same", content).unwrap();
    assert_output(&run, "same\n");
}

#[test]
fn the_input_is_read_from_its_start_whatever_the_given_offset() {
    use std::io::{Read as _, Seek as _};
    let bench = Bench::new();
    let path = bench.root.join("f");
    fs::write(&path, "abc").unwrap();
    let mut file = fs::File::open(&path).unwrap();
    file.read_exact(&mut [0; 2]).unwrap();
    let mut request = bench.request("shell", "cat");
    request.input = Input::File { file: file.try_clone().unwrap(), path };
    assert_output(&bench.executor.run(&request, &Cancel::new()).unwrap(), "abc");
    assert_eq!(file.stream_position().unwrap(), 2);
}

#[test]
fn a_replaced_file_is_still_the_one_that_was_opened() {
    let bench = Bench::new();
    let path = bench.root.join("f");
    fs::write(&path, "checked").unwrap();
    let file = fs::File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "other").unwrap();
    let mut request = bench.request("shell", "cat; echo; printf %s \"$FILE_CONTENT\"");
    request.input = Input::File { file, path };
    let run = bench.executor.run(&request, &Cancel::new()).unwrap();
    assert_output(&run, "checked\nchecked");
}
