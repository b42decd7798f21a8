//! Where rules come from, and what becomes of a file that cannot be used.

use super::*;

#[test]
fn rules_come_from_every_file_and_only_those_that_deny() {
    for file in [
        USER,
        "home/.claude/settings.local.json",
        PROJECT,
        "w/.claude/settings.local.json",
        "managed/managed-settings.json",
        "managed/managed-settings.d/10-company.json",
    ] {
        let place = Place::new();
        assert_eq!(place.shell("curl x"), "", "nothing is denied yet");
        place.deny(file, &["Bash(curl:*)"]);
        assert!(place.shell("curl x").contains("is denied by the rule Bash(curl:*) in "), "{file}");
    }
    let place = Place::new();
    place.write(
        PROJECT,
        r#"{"permissions": {"allow": ["Bash(curl:*)"], "ask": ["Bash(wget:*)"]}, "other": 1}"#,
    );
    place.deny(USER, &["Bash(curl:*)", "Edit(x)", "mcp__x", "Bash (ls)"]);
    assert!(place.shell("curl x").contains("is denied"), "a repository cannot allow");
    assert_eq!(place.shell("wget x"), "", "what the client asks about is the client's business");
}

#[test]
fn a_rule_file_that_cannot_be_used_is_a_refusal() {
    let broken: &[(&str, &str)] = &[
        ("{", "no valid JSON, line 1"),
        ("{\n // comment\n}", "no valid JSON, line 2"),
        ("[]", "it is no JSON object"),
        (r#"{"permissions": []}"#, "permissions is no object"),
        (r#"{"permissions": {"deny": "Bash"}}"#, "permissions.deny is no list of texts"),
        (r#"{"permissions": {"deny": [1]}}"#, "permissions.deny is no list of texts"),
        (
            r#"{"permissions": {"deny": ["Bash(rm"]}}"#,
            "its rule \"Bash(rm\" has no closing parenthesis",
        ),
        (r#"{"permissions": {"deny": ["Read(a/../b)"]}}"#, "has .. in its middle"),
        (
            r#"{"permissions": {"deny": ["Read(a[z-a])"]}}"#,
            "its rule \"Read(a[z-a])\" is no pattern",
        ),
    ];
    for (text, why) in broken {
        for file in [USER, PROJECT, "managed/managed-settings.json"] {
            let place = Place::new();
            place.write(file, text);
            let line = place.policy().rules().unwrap_err().to_string();
            assert!(line.contains(why) && line.contains("settings.json"), "{text}: {line}");
            assert!(!line.contains(place.at("home").to_str().unwrap()), "{line}");
        }
    }
    for text in ["", " \n", "{}", "\u{feff}{}", r#"{"permissions": {}}"#] {
        let place = Place::new();
        place.write(USER, text);
        assert!(place.policy().rules().is_ok(), "{text:?}");
    }
    // A file that is too large is not read in part.
    let place = Place::new();
    place.write(USER, &format!("{{}}{}", " ".repeat(4 << 20)));
    let line = place.policy().rules().unwrap_err().to_string();
    assert!(line.contains("it is larger than 4 MiB"), "{line}");
    // What is no regular file: a directory, a pipe, a link in a circle.
    let place = Place::new();
    std::fs::create_dir_all(place.at(PROJECT)).unwrap();
    assert!(place.policy().rules().is_err());
    let place = Place::new();
    std::fs::create_dir_all(place.at("w/.claude")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, place.at(PROJECT), mode).unwrap();
    assert!(place.policy().rules().is_err());
    let place = Place::new();
    std::fs::create_dir_all(place.at("w/.claude")).unwrap();
    symlink("settings.json", place.at(PROJECT)).unwrap();
    assert!(place.policy().rules().is_err());
}

#[test]
fn rules_are_read_again_when_a_file_changes_and_not_before() {
    let place = Place::new();
    let policy = place.policy();
    let first = policy.rules().unwrap();
    assert!(Arc::ptr_eq(&first, &policy.rules().unwrap()), "nothing changed");
    place.deny(PROJECT, &["Bash(curl:*)"]);
    let second = policy.rules().unwrap();
    assert!(second.check_shell("curl x", Dialect::Bash, &place.at("w")).is_err());
    assert!(Arc::ptr_eq(&second, &policy.rules().unwrap()));
    place.write(PROJECT, "{");
    assert!(policy.rules().is_err());
    std::fs::remove_file(place.at(PROJECT)).unwrap();
    assert!(policy.rules().unwrap().check_shell("curl x", Dialect::Bash, Path::new("/")).is_ok());
}
