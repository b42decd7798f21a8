//! Awkward programs and awkward output, through the real binary, confined as by default.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Server, World, assert_gone, binary, files, mark, skip, sleeper};

/// F-011 and its kinds: the answer comes with the end of the main process, however a helper holds on.
#[test]
fn a_helper_that_keeps_the_pipe_does_not_delay_the_answer() {
    let (world, mark) = (World::new(), mark("helper"));
    let sleeper = sleeper(&mark);
    let mut server = world.serve();
    server.initialize();
    for helper in [
        format!("{sleeper} &"),
        format!("(setsid nohup {sleeper} &)"),
        format!("{sleeper} & disown"),
        format!("coproc {sleeper}"),
        format!("exec 5> >({sleeper})"),
        format!("({sleeper} | cat) &"),
    ] {
        let started = Instant::now();
        let text = server.shell(&format!("{helper}\necho started")).text;
        assert!(started.elapsed() < Duration::from_secs(5), "{helper}: {text}");
        assert!(text.starts_with("started\n"), "{helper}: {text}");
        assert!(text.contains("left running]"), "{helper}: {text}");
        assert_gone(&mark, Duration::from_secs(2));
    }
    assert_eq!(server.shell("sleep 0.01 & wait; echo done").text, "done\n", "the control");
}

/// F-024: long and odd programs, and nothing left of them.
#[test]
fn odd_programs_run_and_leave_nothing() {
    let world = World::new();
    let before = files(&std::env::temp_dir());
    let mut server = world.serve();
    server.initialize();
    let words = " argument".repeat(40_000);
    assert_eq!(server.shell(&format!("set --{words}; echo $#")).text.lines().next(), Some("40000"));
    let text = server.shell("/bin/true $(seq -f argument%g 400000)").text;
    assert!(text.contains("Argument list too long") && text.contains("[exit 126]"), "{text}");
    for (code, output) in [
        ("rm -f \"$0\"; echo still", "still\n"),
        ("cd /; rm -rf \"${0%/*}\" 2>/dev/null; echo still", "still\n"),
        ("printf 'no end'", "no end"),
        ("exec 1>&- 2>&-; echo lost; true", "[no output]"),
        ("printf '%s' \"$(cat)\"", "[no output]"),
        ("trap 'echo caught' EXIT; exit 0", "caught\n"),
    ] {
        let text = server.shell(code).text;
        assert!(text.starts_with(output), "{code}: {text}");
    }
    for (language, code, output) in [
        ("python", "\u{feff}print('bom')", "bom\n"),
        ("python", "print('crlf')\r\nprint('end')\r\n", "crlf\nend\n"),
        (
            "python",
            "print('\u{1f468}\u{200d}\u{1f469} \u{d55c}')",
            "\u{1f468}\u{200d}\u{1f469} \u{d55c}\n",
        ),
        ("python", "#!/usr/bin/env node\nprint('declared')", "declared\n"),
    ] {
        let text = server.call("execute", json!({"language": language, "code": code})).text;
        assert!(text.starts_with(output), "{code:?}: {text}");
    }
    server.close();
    assert_eq!(files(&world.work()), Vec::<std::ffi::OsString>::new());
    let after = files(&std::env::temp_dir());
    let ours = |name: &&std::ffi::OsString| name.to_string_lossy().contains("quietcontext");
    assert_eq!(after.iter().filter(ours).count(), before.iter().filter(ours).count());
}

/// F-078 and its kinds: what a terminal would not show goes, what only looks like it stays.
#[test]
fn an_answer_is_what_a_terminal_would_show() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    for (printed, shown) in [
        (r"\033]8;id=1;https://e.x\033\\text\033]8;;\033\\", "text"),
        (r"\033]0;title\007shown", "shown"),
        (r"a\033[A\033[?25lb\033[?25h", "ab"),
        (r"\033(Bascii\033)0", "ascii"),
        (r"\0337kept\0338", "kept"),
        (r"\033P1;2|data\033\\shown", "shown"),
        (r"\033_apc\033\\shown\033^pm\033\\", "shown"),
        (r"\23331mred\2330m", "red"),
        (r"\033[38;2;1;2;3mrgb\033[0m\033[38:5:9mx", "rgbx"),
        (r"a\010A", "A"),
        (r"b\010bo\010ol\010ld\010d", "bold"),
        (r"[31m not an escape, array[0m]", "[31m not an escape, array[0m]"),
        (r"0%%\r10%%\r100%%", "100%"),
        (r"downloading 1\rdownloading 2\r\033[Kdone", "done"),
        (r"cut off\033[", "cut off"),
        (r"\302\2330mutf-8 control", "utf-8 control"),
    ] {
        let text = server.shell(&format!("printf '{printed}\\n'")).text;
        assert_eq!(text, format!("{shown}\n"), "{printed}");
    }
    let bar = "for i in $(seq 1 20000); do printf '\\r[%-20s] %d' '####' $i; done; echo ' done'";
    let text = server.shell(bar).text;
    assert!(text.contains("20000 done") && !text.contains("19999"), "{text}");
}

/// One endless line, and very many short ones: bounded answers, every byte kept.
#[test]
fn lines_of_any_length_and_number_are_kept() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    for (program, bytes, lines) in [
        ("head -c 8000000 /dev/zero | tr '\\0' x; printf NEEDLE", 8_000_006, "1 line"),
        ("yes '' | head -n 1000000; printf NEEDLE", 1_000_006, "1,000,001 lines"),
        ("yes | tr -d '\\n' | head -c 3000000 | tr y '\\r'; printf NEEDLE", 3_000_006, "1 line"),
    ] {
        let text = server.shell(program).text;
        assert!(text.len() <= 1_500 && text.contains(lines), "{program}: {text}");
        assert!(text.contains("NEEDLE"), "the end is shown: {text}");
        let label = text.split(" as ").nth(1).unwrap().split(' ').next().unwrap();
        let raw = world.run(&["cat", label, "--raw"]).stdout;
        assert_eq!((raw.len(), raw.ends_with("NEEDLE")), (bytes, true), "{program}");
    }
}

/// A disk that fills up: what was captured is answered, what is lost is said, and the server goes on.
#[test]
fn a_full_disk_costs_what_did_not_fit_and_is_said() {
    let world = World::new();
    let data = world.path("data");
    fs::create_dir(&data).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c"]);
    command.arg("mount -t tmpfs -o size=4m none \"$1\" && shift && exec \"$@\"");
    command.args(["sh", data.to_str().unwrap(), binary().to_str().unwrap(), "--data-dir"]);
    command.args([data.to_str().unwrap(), "--sandbox", "off"]);
    command.current_dir(world.work()).env("HOME", world.path("home"));
    let mut able = Command::new("unshare");
    able.args(["--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]);
    if !able.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return skip("no mount can be made here, not even of one's own");
    }
    let mut server = Server::start(command);
    server.initialize();
    let kept = server.shell("seq 1 5000").text;
    assert!(kept.contains("as execute:1 "), "{kept}");
    let text = server.shell("echo first; seq 1 2000000; echo why >&2; exit 3").text;
    assert!(text.contains("[not stored: the disk is full"), "{text}");
    assert!(text.contains("\nfirst\n1\n2\n"), "what was captured is shown: {text}");
    assert!(text.contains("[output lost: stdout not kept from byte "), "{text}");
    assert!(text.ends_with("[exit 3]"), "{text}");
    assert!(server.shell("echo small").text.contains("small\n"));
    let found = server.call("search", json!({"queries": ["4321"], "preview": true})).text;
    assert!(found.contains("(execute:1:"), "what was stored before is intact: {found}");
    let job = json!({"language": "shell", "code": "seq 1 2000000", "background": true, "timeout_ms": 20_000});
    let text = server.call("execute", job).text;
    assert!(text.contains("[output lost: ") && text.contains("exit 0"), "{text}");
    assert!(server.shell("echo small again").text.contains("small again\n"));
}

/// A diff, mostly UTF-8, of a file that is not: what the most of it is is read, by a run and by `index`.
#[test]
fn a_few_lines_of_another_encoding_do_not_decide_for_all() {
    let world = World::new();
    let sound = "+ größer — 完成 ✗\n";
    let bytes = [&sound.repeat(2_000).into_bytes(), &b"-Gr\xf6\xdfe alt\n"[..], sound.as_bytes()];
    fs::write(world.work().join("mixed.diff"), bytes.concat()).unwrap();
    let mut server = world.serve();
    server.initialize();
    let text = server.shell("cat mixed.diff").text;
    assert!(text.contains("some bytes shown as U+FFFD"), "{text}");
    assert!(text.contains("\n+ größer — 完成 ✗ (×2,000)\n"), "{text}");
    server.call("index", json!({"path": "mixed.diff"}));
    let found =
        server.call("search", json!({"queries": ["alt"], "source": "mixed.diff", "preview": true}));
    assert!(found.text.contains("-Gr\u{fffd}\u{fffd}e alt\n"), "{}", found.text);
}
