//! Questions that a person answers, at a terminal: `script` gives the command one.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::harness::World;

/// Runs the binary at a terminal where somebody types `answer`; what it showed, and whether it was content.
fn at_a_terminal(world: &World, arguments: &[&str], answer: &str) -> (String, bool) {
    let plain = world.command(arguments);
    let mut words = vec![plain.get_program()];
    words.extend(plain.get_args());
    let words: Vec<_> = words.iter().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-c", &words.join(" "), "/dev/null"]).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(world.work()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut person = command.spawn().unwrap();
    person.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
    let shown = person.wait_with_output().unwrap();
    (String::from_utf8(shown.stdout).unwrap(), shown.status.success())
}

#[test]
fn nothing_is_purged_without_a_yes() {
    let world = World::new();
    fs::write(world.work().join("one.md"), "# One\n\nzanzibar\n").unwrap();
    fs::write(world.work().join("two.md"), "# Two\n\nzanzibar\n").unwrap();
    assert_eq!(world.run(&["index", "."]).code, Some(0));
    let kept = || world.run(&["sources", "--json"]).stdout.matches("\"label\"").count();
    for answer in ["n\n", "\n", "yess\n", ""] {
        let (shown, done) = at_a_terminal(&world, &["purge", "--all"], answer);
        assert!(!done && shown.contains("nothing was removed"), "{answer:?}: {shown}");
        assert_eq!(kept(), 2, "{answer:?}");
    }
    // A part of a path names more than one, and what is not there needs no answer.
    let (shown, done) = at_a_terminal(&world, &["purge", "o"], "n\n");
    assert!(!done && shown.contains(r#"Remove 2 sources ("one.md", "two.md") from"#), "{shown}");
    let nothing = world.run(&["purge", "three.md"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), "nothing to remove\n"));
    assert_eq!(kept(), 2);
    let (shown, done) = at_a_terminal(&world, &["purge", "one.md"], "y\n");
    assert!(done && shown.contains("one.md") && shown.contains("removed 1 source"), "{shown}");
    assert_eq!(kept(), 1);
    let (shown, done) = at_a_terminal(&world, &["purge", "--all"], "yes\n");
    assert!(done && shown.contains("removed 1 source"), "{shown}");
    assert_eq!(kept(), 0);
}

#[test]
fn a_client_is_told_to_run_tools_unasked_by_a_yes_alone() {
    let world = World::new();
    let file = world.path("home/.codex/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "a = 1\n").unwrap();
    let setup = ["setup", "codex", "--approve"];
    for answer in ["n\n", "\n", ""] {
        let (shown, done) = at_a_terminal(&world, &setup, answer);
        assert!(!done && shown.contains("Do you want that? [y/N]"), "{answer:?}: {shown}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "a = 1\n", "{answer:?}");
    }
    let (shown, done) = at_a_terminal(&world, &setup, "y\n");
    assert!(done, "{shown}");
    assert!(fs::read_to_string(&file).unwrap().contains("approve"), "{shown}");
}
