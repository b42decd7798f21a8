//! The commands for people: what they print, and how they exit.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{World, assert_gone, binary, mark, shell, skip, sleeper, wait_for_process};

#[test]
fn call_is_an_agents_call() {
    let world = World::new();
    let arguments = r#"{"language":"shell","code":"echo out; echo err >&2; exit 3"}"#;
    let outcome = world.run(&["call", "execute", arguments]);
    let mut server = world.serve();
    let answer = server.call("execute", serde_json::from_str(arguments).unwrap());
    assert_eq!(outcome.stdout.trim_end(), answer.text.trim_end());
    assert_eq!(outcome.code, Some(0), "a program's own failure is no error of the call");
    assert_eq!(outcome.stderr, "");
    let outcome = world.run(&["call", "execute", arguments, "--json"]);
    let value: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(value["text"], answer.text);
    assert_eq!(value["is_error"], false);
}

#[test]
fn exit_codes() {
    let world = World::new();
    for (arguments, code) in [
        (&["call", "execute", "{}"][..], 1),
        (&["call", "execute", "{"], 2),
        (&["call", "execute", "[]"], 2),
        (&["call", "nonsense", "{}"], 2),
        (&["cat", "r:1"], 1),
        (&["cat", "no:such"], 1),
        (&["index", "missing"], 2),
        (&["search"], 2),
        (&["search", "x", "--limit", "0"], 2),
        (&["purge"], 2),
        (&["purge", "--all"], 2),
        (&["no-such-command"], 2),
        (&["--log", "loud", "sources"], 2),
        (&["--help"], 0),
        (&["--version"], 0),
        (&["sources"], 0),
        (&["config"], 0),
        (&["config", "--example"], 0),
        (&["config", "--example", "--json"], 2),
        (&["config", "init", "--dry-run"], 0),
        (&["config", "init", "there"], 2),
        (&["jobs"], 0),
        (&["jobs", "stop"], 2),
        (&["jobs", "stop", "execute:1"], 1),
        (&["stats"], 0),
        (&["stats", "--days", "0"], 2),
        (&["completions", "bash"], 0),
        (&["completions", "tcsh"], 2),
        (&["man"], 0),
        (&["man", "search"], 0),
        (&["man", "nonsense"], 2),
    ] {
        let outcome = world.run(arguments);
        assert_eq!(outcome.code, Some(code), "{arguments:?}: {outcome:?}");
        if code != 0 {
            assert!(!outcome.stderr.is_empty() || code == 1, "{arguments:?}");
        }
    }
}

#[test]
fn what_is_indexed_is_found_printed_listed_and_purged() {
    let world = World::new();
    let text = "# Tokens\n\nA token is renewed every hour by the zanzibar job.\n";
    fs::create_dir(world.work().join("docs")).unwrap();
    fs::write(world.work().join("docs/guide.md"), text).unwrap();
    let indexed = world.run(&["index", "docs"]);
    assert_eq!(indexed.code, Some(0), "{indexed:?}");
    let found = world.run(&["search", "zanzibar", "job"]);
    assert!(found.stdout.contains("docs/guide.md"), "{found:?}");
    assert!(found.stdout.contains("renewed every hour"), "{found:?}");
    let printed = world.run(&["cat", "docs/guide.md"]);
    assert_eq!(printed.stdout, text);
    assert_eq!(world.run(&["cat", "docs/guide.md", "--raw"]).stdout, text);
    let listed = world.run(&["sources", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["label"], "docs/guide.md");
    assert_eq!(listed[0]["bytes"], text.len());
    let reference = listed[0]["reference"].as_str().unwrap();
    assert_eq!(world.run(&["cat", reference]).stdout, text);
    assert!(world.run(&["sources"]).stdout.contains(reference));
    let purged = world.run(&["purge", "docs/guide.md", "--yes"]);
    assert_eq!(purged.stdout, "removed 1 source\n", "{purged:?}");
    assert_eq!(world.run(&["sources", "--json"]).stdout, "[]\n");
    assert_eq!(world.run(&["cat", reference]).code, Some(1));
}

#[test]
fn cat_gives_the_bytes_as_they_came() {
    let world = World::new();
    let code = r"for i in $(seq 0 19999); do printf '%d \377\033[31mred\r\n' $i; done";
    let arguments = shell(code).to_string();
    let outcome = world.run(&["call", "execute", &arguments]);
    assert!(outcome.stdout.contains("execute:"), "{outcome:?}");
    let label =
        outcome.stdout.split_whitespace().find(|word| word.starts_with("execute:")).unwrap();
    let output = world.command(&["cat", label, "--raw"]).output().unwrap();
    let wanted: Vec<u8> = (0..20_000)
        .flat_map(|i| [format!("{i} ").as_bytes(), b"\xff\x1b[31mred\r\n"].concat())
        .collect();
    assert!(output.stdout == wanted, "{} bytes instead of {}", output.stdout.len(), wanted.len());
    let output = world.command(&["cat", label]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 20_000);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn standard_input_is_indexed_and_arguments_are_read_from_it() {
    let world = World::new();
    let feed = |arguments: &[&str], text: &str| {
        let mut command = world.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap().status.code()
    };
    assert_eq!(
        feed(&["index", "-", "--source", "notes"], "the xylophone is in the attic\n"),
        Some(0)
    );
    let found = world.run(&["search", "xylophone"]);
    assert!(found.stdout.contains("notes"), "{found:?}");
    assert_eq!(feed(&["call", "search", "-"], r#"{"queries":["attic"]}"#), Some(0));
}

#[test]
fn a_pipe_that_closes_early_is_no_failure() {
    let world = World::new();
    world.run(&["call", "execute", r#"{"language":"shell","code":"seq 1 200000"}"#]);
    let mut command = world.command(&["cat", "execute:1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn doctor_names_what_is_there_and_what_is_not() {
    let world = World::new();
    let outcome = world.run(&["doctor", "--json"]);
    let checks: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let state = |name: &str| {
        let checks = checks.as_array().unwrap();
        checks.iter().find(|check| check["check"] == name).unwrap()["state"].clone()
    };
    assert_eq!(state("python"), "ok");
    assert_eq!(state("store"), "ok", "{outcome:?}");
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn doctor_tells_each_layer_of_the_sandbox_and_prints_a_profile_for_this_binary() {
    let world = World::new();
    let outcome = world.run(&["doctor"]);
    for layer in ["sandbox", "user namespaces", "mount view", "landlock", "seccomp", "task limit"] {
        let line = outcome.stdout.lines().find(|line| line.contains(layer));
        assert!(
            line.is_some_and(|line| line.starts_with("ok") || line.starts_with("missing")),
            "{layer}: {outcome:?}"
        );
    }
    let outcome = world.run(&["doctor", "--sandbox", "off"]);
    let line = outcome.stdout.lines().find(|line| line.contains(" sandbox "));
    assert!(line.is_some_and(|line| line.starts_with("missing")), "{outcome:?}");
    assert!(outcome.stdout.contains("programs run unconfined"), "{outcome:?}");
    let profile = world.run(&["doctor", "--apparmor"]).stdout;
    let head = format!(
        "profile quietcontext \"{}\" flags=(unconfined) {{\n  userns,",
        binary().canonicalize().unwrap().display()
    );
    assert!(profile.contains(&head), "{profile}");
}

#[test]
fn an_interrupted_call_stops_what_it_started() {
    let (world, mark) = (World::new(), mark("interrupt"));
    let mut command = world.command(&["call", "execute", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let arguments = shell(&sleeper(&mark)).to_string();
    child.stdin.take().unwrap().write_all(arguments.as_bytes()).unwrap();
    wait_for_process(&mark);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_gone(&mark, Duration::from_secs(2));
}

#[test]
fn bare_in_a_terminal_it_says_what_it_is() {
    let code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))";
    let mut command = Command::new("python3");
    command.args(["-c", code]).arg(binary()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("MCP server") && text.contains("quietcontext --help"), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn words_that_look_like_flags_can_be_searched_for() {
    let world = World::new();
    world.run(&["call", "index", r#"{"content":"use --error-on-warnings here","source":"a"}"#]);
    let found = world.run(&["search", "--brief", "--", "--error-on-warnings"]);
    assert!(found.stdout.contains("[r:"), "{found:?}");
}

#[test]
fn completions_load_in_their_shells_and_know_the_commands() {
    let world = World::new();
    let file = world.path("completions");
    for (shell, name, probe) in [
        (
            "bash",
            "bash",
            "source \"$1\" && COMP_WORDS=(quietcontext so) COMP_CWORD=1 && \
             _quietcontext quietcontext so quietcontext && echo \"${COMPREPLY[@]}\"",
        ),
        // Its functions are loaded by name; what they offer is shown in an editor only.
        (
            "zsh",
            "zsh",
            "autoload -Uz compinit && compinit -D -u && source \"$1\" && whence -w _quietcontext && \
             functions _quietcontext_commands | grep -o sources | head -n 1",
        ),
        ("fish", "fish", "source $argv[1]; and complete -C 'quietcontext so'"),
    ] {
        let script = world.run(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{script:?}");
        fs::write(&file, &script.stdout).unwrap();
        let mut command = Command::new(name);
        match name {
            "bash" => command.args(["--norc", "--noprofile", "-c", probe, "bash"]),
            "zsh" => command.args(["-f", "-c", probe, "zsh"]),
            _ => command.args(["--no-config", "-c", probe]),
        };
        command.arg(&file).env("HOME", world.path("home"));
        let Ok(output) = command.stdin(Stdio::null()).output() else {
            skip(&format!("{name} is not installed"));
            continue;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("sources"), "{name}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
    }
}

#[test]
fn help_of_a_command_may_be_asked_for_in_front() {
    let world = World::new();
    for (asked, same) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "setup"], &["setup", "--help"]),
        (&["help", "daemon", "start"], &["daemon", "start", "--help"]),
    ] {
        let (asked, same) = (world.run(asked), world.run(same));
        assert_eq!((asked.code, &asked.stdout), (Some(0), &same.stdout));
    }
    assert_eq!(world.run(&["help", "nonsense"]).code, Some(2));
}

#[test]
fn completions_offer_clients_and_modes() {
    let world = World::new();
    let file = world.path("completions");
    fs::write(&file, world.run(&["completions", "bash"]).stdout).unwrap();
    for (line, before, offered) in [
        ("quietcontext setup claude-c", "setup", "claude-code\n"),
        ("quietcontext --sandbox read", "--sandbox", "read-only\n"),
    ] {
        let probe = "source \"$1\" && COMP_WORDS=($2) && COMP_CWORD=2 && \
                     _quietcontext quietcontext \"${COMP_WORDS[2]}\" \"$3\" && echo \"${COMPREPLY[@]}\"";
        let mut command = Command::new("bash");
        command
            .args(["--norc", "--noprofile", "-c", probe, "bash"])
            .arg(&file)
            .args([line, before]);
        let Ok(output) = command.stdin(Stdio::null()).output() else {
            return skip("bash is not installed");
        };
        assert_eq!(String::from_utf8_lossy(&output.stdout), offered, "{line}: {output:?}");
    }
}

#[test]
fn each_command_has_a_manual() {
    let world = World::new();
    let folder = world.path("man");
    let outcome = world.run(&["man", "--dir", folder.to_str().unwrap()]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
    let help = world.run(&["--help"]).stdout;
    let commands = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<_> =
        commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"search") && names.contains(&"jobs"), "{names:?}");
    for name in names {
        let page = fs::read_to_string(folder.join(format!("quietcontext-{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH quietcontext-{name} 1")), "{name}: {page}");
        assert_eq!(page, world.run(&["man", name]).stdout);
    }
    let page = fs::read_to_string(folder.join("quietcontext.1")).unwrap();
    assert!(page.contains("quietcontext\\-search(1)"), "{page}");
}

#[test]
fn each_setting_says_where_it_comes_from() {
    let world = World::new();
    world.configure("log = \"info\"\n[store]\nmax_age_days = 7\n");
    let mut command = world.command(&["config", "--json", "--sandbox", "read-only"]);
    let output = command.env("QUIETCONTEXT_LOG", "debug").output().unwrap();
    let settings: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (key, value, from) in [
        ("log", "debug", "QUIETCONTEXT_LOG"),
        ("store.max_age_days", "7", "~/.config/quietcontext/config.toml"),
        ("sandbox.mode", "read-only", "--sandbox"),
        ("network.mode", "allowlist", "default"),
    ] {
        assert_eq!(settings[key]["value"], value, "{key}");
        assert_eq!(settings[key]["from"], from, "{key}");
    }
    world.configure("sandbox.mdoe = \"off\"\n");
    let outcome = world.run(&["config"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("did you mean sandbox.mode?"), "{outcome:?}");
}

/// Runs a command in a terminal of its own; what it showed.
fn in_a_terminal(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let code = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))";
    let mut command = Command::new("python3");
    command.args(["-c", code]).arg(binary()).args(arguments).current_dir(world.work());
    command.env_clear().env("HOME", world.path("home")).env("LANG", "C.UTF-8");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("TERM", "xterm-256color").envs(variables.iter().copied());
    // Whoever is asked something answers no.
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"n\n").unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")
}

#[test]
fn in_a_terminal_there_are_places_colours_and_hints_and_in_a_pipe_none() {
    let world = World::new();
    let text = "# Tokens\n\nA token is renewed by the zanzibar job.\n";
    fs::write(world.work().join("guide.md"), text).unwrap();
    assert_eq!(world.run(&["index", "guide.md"]).stderr, "");
    let seen = in_a_terminal(&world, &["search", "zanzibar"], &[]);
    assert!(seen.contains("\u{1b}[36mguide.md:1-3\u{1b}[0m"), "{seen:?}");
    assert!(seen.contains("\u{1b}[1;33mzanzibar\u{1b}[0m"), "{seen:?}");
    assert!(seen.contains("quietcontext cat r:"), "{seen:?}");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let seen = in_a_terminal(&world, &["search", "zanzibar"], &[variable]);
        assert!(seen.contains("guide.md:1-3") && !seen.contains('\u{1b}'), "{seen:?}");
    }
    let piped = world.run(&["search", "zanzibar"]);
    assert!(piped.stdout.starts_with("query: zanzibar\n[r:"), "{piped:?}");
    assert_eq!(piped.stderr, "");
    let mut forced = world.command(&["sources"]);
    let forced = forced.env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(String::from_utf8_lossy(&forced.stdout).contains("\u{1b}[36mr:"), "{forced:?}");
    let listed = world.run(&["sources"]);
    assert!(!listed.stdout.contains('\u{1b}') && listed.stdout.contains("guide.md"), "{listed:?}");
}

#[test]
fn bytes_that_a_terminal_would_obey_do_not_reach_it() {
    let world = World::new();
    let code = r"for i in $(seq 0 3000); do printf '\033]0;title\007 %d\n' $i; done";
    world.run(&["call", "execute", &shell(code).to_string()]);
    let raw = in_a_terminal(&world, &["cat", "execute:1", "--raw"], &[]);
    assert!(raw.contains("send them to a file or a pipe") && !raw.contains('\u{7}'), "{raw:?}");
    let text = in_a_terminal(&world, &["cat", "execute:1"], &[]);
    assert!(text.lines().count() > 3_000 && !text.contains(['\u{1b}', '\u{7}']));
}

#[test]
fn progress_is_drawn_in_a_terminal_and_taken_away() {
    let world = World::new();
    let arguments = r#"{"commands":["sleep 0.6","sleep 0.2"]}"#;
    let seen = in_a_terminal(&world, &["call", "batch", arguments], &[]);
    assert!(seen.contains("1/2 1") && seen.contains("\r\u{1b}[K1: exit 0"), "{seen:?}");
    assert_eq!(world.run(&["call", "batch", arguments]).stderr, "");
}

#[test]
fn an_empty_root_says_what_to_do_and_purging_counts_first() {
    let world = World::new();
    let seen = in_a_terminal(&world, &["sources"], &[]);
    assert!(seen.contains("nothing is stored for") && seen.contains("index docs"), "{seen:?}");
    assert_eq!(world.run(&["sources"]).stderr, "");
    world.run(&["call", "index", r#"{"content":"text","source":"a"}"#]);
    let asked = in_a_terminal(&world, &["purge", "--all"], &[]);
    assert!(asked.contains("Remove 1 source (4 B) and the journal"), "{asked:?}");
    assert!(world.run(&["sources"]).stdout.contains("r:"));
    assert_eq!(world.run(&["purge", "a", "--yes", "--json"]).stdout, "{\"removed\":1}\n");
}

#[test]
fn a_configuration_to_begin_with_is_written_once() {
    let world = World::new();
    let file = world.path("home/.config/quietcontext/config.toml");
    let dry = world.run(&["config", "init", "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(dry.stdout.contains("config.toml") && !file.exists(), "{dry:?}");
    let first = world.run(&["config", "init"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), world.run(&["config", "--example"]).stdout);
    // It sets nothing, and what a user made of it stays.
    assert_eq!(world.run(&["config"]).code, Some(0));
    world.configure("log = \"info\"\n");
    for arguments in [&["config", "init"][..], &["config", "init", "--dry-run"]] {
        let again = world.run(arguments);
        assert_eq!(again.code, Some(1), "{again:?}");
        assert!(again.stderr.contains("stays as it is"), "{again:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "log = \"info\"\n");
    let mut elsewhere = world.command(&["config", "init"]);
    elsewhere.env("QUIETCONTEXT_CONFIG", world.path("other.toml"));
    assert_eq!(elsewhere.output().unwrap().status.code(), Some(2));
}
