//! Every client's entry into every kind of file.

use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};

use super::{
    carry_out,
    client::{Approval, Client, Daemon, Launch, Remote},
    clients::CLIENTS,
    edit::{self, Change, Format},
    plan, plan_back, status,
};
use crate::config::Surroundings;

fn launch(command: &str) -> Launch {
    Launch { command: command.to_owned(), arguments: vec!["serve".to_owned()], daemon: None }
}

/// A file with another server in it, comments, and what else users have.
fn with_others(client: &Client) -> String {
    let section = client.keys(&json!({}));
    let section = &section[0];
    match client.format {
        Format::Json => format!(
            "{{\n    // mine\n    \"theme\": \"dark\",\n    \"{section}\": {{\n        \"other\": {{ \"command\": \"other\" }} // stays\n    }}\n}}\n"
        ),
        Format::Toml => format!(
            "# mine\nmodel = \"m\"\n\n[{section}.other] # stays\ncommand = \"other\"\n\n[tui]\nx = 1\n"
        ),
        Format::Yaml => {
            format!(
                "# mine\nGOOSE_MODE: auto\n{section}:\n  other: # stays\n    cmd: other\nlast: 1\n"
            )
        }
    }
}

fn changes(client: &Client, text: &str, launch: &Launch) -> Vec<Change> {
    let said = edit::read(client.format, text).unwrap();
    let mut changes = client.entry(&said, launch);
    changes.extend(client.approving(&said));
    // Some have the leave to run tools in the same file.
    let home = Surroundings { home: Some("/home/ada".into()), variables: Vec::new() };
    if let Approval::Beside(place, more) = &client.approval
        && place.file(&home) == client.place.file(&home)
    {
        changes.extend(more());
    }
    changes
}

#[test]
fn each_client_in_each_kind_of_file() {
    for client in CLIENTS {
        let others = with_others(client);
        let old = edit::apply(
            client.format,
            &others,
            &changes(client, &others, &launch("/old/quietcontext")),
        );
        let tabs = match client.format {
            Format::Yaml => others.clone(),
            _ => others.replace("    ", "\t"),
        };
        let mut shown = String::new();
        for (what, text) in [
            ("no file, or an empty one", String::new()),
            ("other servers and comments", others.clone()),
            ("an older entry", old.unwrap()),
            ("lines that end with CR LF", others.replace('\n', "\r\n")),
            ("tabs", tabs),
        ] {
            let changes = changes(client, &text, &launch("/usr/bin/quietcontext"));
            let after = edit::apply(client.format, &text, &changes).unwrap();
            let again = self::changes(client, &after, &launch("/usr/bin/quietcontext"));
            assert_eq!(
                edit::apply(client.format, &after, &again).unwrap(),
                after,
                "{}",
                client.name
            );
            let back = edit::inverse(client.format, &text, &changes).unwrap();
            let back = edit::apply(client.format, &after, &back).unwrap();
            assert!(back == text || (text.is_empty() && back.trim() == "{}"), "{back}");
            let visible = after.replace('\r', "␍").replace('\t', "→");
            shown += &format!("=== {what}\n{visible}");
        }
        if !matches!(client.remote, Remote::None) {
            let daemon = Daemon {
                url: "http://127.0.0.1:8167/mcp".to_owned(),
                token_file: "/home/o'ada/daemon/token".to_owned(),
            };
            let daemon = Launch { daemon: Some(daemon), ..launch("/usr/bin/quietcontext") };
            let there = changes(client, &others, &launch("/usr/bin/quietcontext"));
            let there = edit::apply(client.format, &others, &there).unwrap();
            let changes = client.entry(&edit::read(client.format, &there).unwrap(), &daemon);
            let after = edit::apply(client.format, &there, &changes).unwrap();
            shown += &format!("=== an entry that becomes the daemon's\n{after}");
        }
        insta::assert_snapshot!(client.name, shown);
    }
}

#[test]
fn rows_are_unique_and_documented() {
    let page = include_str!("../../../../docs/clients.md");
    let mut names: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
    for client in CLIENTS {
        let row = format!("| `{}` | {} |", client.name, client.title);
        assert!(page.contains(&row), "docs/clients.md has no row that begins with {row}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CLIENTS.len());
}

struct User {
    home: tempfile::TempDir,
    surroundings: Surroundings,
}

impl User {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().canonicalize().unwrap();
        let variables = vec![(OsString::from("HOME"), path.clone().into_os_string())];
        Self { home, surroundings: Surroundings { home: Some(path), variables } }
    }

    fn data(&self) -> std::path::PathBuf {
        self.home.path().join("data")
    }

    fn set_up(&self, client: &'static Client, approve: bool) {
        let launch = launch("/usr/bin/quietcontext");
        let edits = plan(client, &launch, approve, &self.surroundings, &self.data()).unwrap();
        for edit in edits.iter().filter(|edit| edit.changes()) {
            carry_out(client.name, edit, &self.data()).unwrap();
        }
    }

    fn take_back(&self, client: &'static Client) {
        for edit in plan_back(client.name, client.format, &self.data()).unwrap() {
            carry_out(client.name, &edit, &self.data()).unwrap();
        }
    }

    fn file(&self, client: &Client) -> std::path::PathBuf {
        client.place.file(&self.surroundings).unwrap()
    }
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn taken_back_is_as_it_was_also_after_a_second_time() {
    for client in CLIENTS {
        for before in
            [None, Some(with_others(client)), Some(with_others(client).replace('\n', "\r\n"))]
        {
            let user = User::new();
            if let Some(text) = &before {
                write(&user.file(client), text);
            }
            user.set_up(client, false);
            let entry = status(client, &user.surroundings).unwrap().entry.unwrap();
            assert!(entry.is_some(), "{}", client.name);
            user.set_up(client, true);
            let settled = status(client, &user.surroundings).unwrap();
            assert_eq!(settled.unasked, !matches!(client.approval, Approval::ByHand(_)));
            user.take_back(client);
            assert_eq!(fs::read_to_string(user.file(client)).ok(), before, "{}", client.name);
            // Folders that were made for the file are gone as well: by them a client is found.
            let home = user.surroundings.home.clone().unwrap();
            let left = client.folders.iter().any(|folder| home.join(folder).exists());
            assert_eq!(left, before.is_some() && client.name != "claude-code", "{}", client.name);
            assert!(plan_back(client.name, client.format, &user.data()).is_err());
        }
    }
}

#[test]
fn taken_back_after_others_wrote_only_the_entry_goes() {
    for client in CLIENTS {
        let user = User::new();
        write(&user.file(client), &with_others(client));
        user.set_up(client, true);
        let file = user.file(client);
        let now = fs::read_to_string(&file).unwrap();
        let theirs = now.replace("other", "another").replace("dark", "light");
        assert_ne!(theirs, now);
        fs::write(&file, &theirs).unwrap();
        user.take_back(client);
        let wanted = with_others(client).replace("other", "another").replace("dark", "light");
        assert_eq!(fs::read_to_string(&file).unwrap(), wanted, "{}", client.name);
    }
}

#[test]
fn a_link_stays_a_link_and_the_mode_stays() {
    let user = User::new();
    let client = &CLIENTS[0];
    let real = user.home.path().join("dotfiles/codex.toml");
    write(&real, "a = 1\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let file = user.file(client);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    user.set_up(client, false);
    assert!(file.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("quietcontext"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
    let left: Vec<_> = fs::read_dir(real.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left beside it");
}

#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let user = User::new();
    let client = &CLIENTS[1];
    write(&user.file(client), "{}");
    let launch = launch("/usr/bin/quietcontext");
    let edits = plan(client, &launch, false, &user.surroundings, &user.data()).unwrap();
    write(&user.file(client), "{\"theirs\": 1}");
    assert!(carry_out(client.name, &edits[0], &user.data()).is_err());
    assert_eq!(fs::read_to_string(user.file(client)).unwrap(), "{\"theirs\": 1}");
    assert!(
        plan_back(client.name, client.format, &user.data()).is_err(),
        "and nothing is there to take back"
    );
}

#[test]
fn what_the_user_added_to_the_entry_stays() {
    let user = User::new();
    let client = &CLIENTS[0];
    let own = "[mcp_servers.quietcontext]\nurl = \"http://x\"\ntool_timeout_sec = 60\nenv = { A = \"b\" }\n";
    write(&user.file(client), own);
    user.set_up(client, false);
    let text = fs::read_to_string(user.file(client)).unwrap();
    let said = edit::read(Format::Toml, &text).unwrap();
    let wanted = json!({
        "tool_timeout_sec": 60, "env": { "A": "b" }, "command": "/usr/bin/quietcontext", "args": ["serve"],
    });
    assert_eq!(said.pointer("/mcp_servers/quietcontext"), Some(&wanted));
    user.take_back(client);
    assert_eq!(fs::read_to_string(user.file(client)).unwrap(), own);
}

#[test]
fn a_variable_of_the_client_moves_its_file_and_a_newer_section_is_followed() {
    let user = User::new();
    let mut surroundings = user.surroundings.clone();
    surroundings.variables.push(("CODEX_HOME".into(), "/elsewhere".into()));
    let file = CLIENTS[0].place.file(&surroundings).unwrap();
    assert_eq!(file, Path::new("/elsewhere/config.toml"));
    let opencode = super::clients::client("opencode").unwrap();
    let newer = json!({ "mcp": { "servers": {} } });
    assert_eq!(opencode.keys(&newer), ["mcp", "servers", "quietcontext"]);
    assert_eq!(opencode.keys(&Value::Null), ["mcp", "quietcontext"]);
}

#[test]
fn a_client_is_known_by_what_people_call_it() {
    let named = |name: &str| super::clients::client(name).map(|client| client.name);
    for (said, meant) in [
        ("codex", "codex"),
        ("Codex", "codex"),
        ("claude", "claude-code"),
        ("Claude Code", "claude-code"),
        ("claudecode", "claude-code"),
        ("Claude Desktop", "claude-desktop"),
        ("gemini", "gemini-cli"),
        ("qwen", "qwen-code"),
        ("VS Code", "vscode"),
        ("open_code", "opencode"),
    ] {
        assert_eq!(named(said), Some(meant), "{said}");
    }
    assert_eq!(named("emacs"), None);
    assert_eq!(named(""), None);
    for client in CLIENTS {
        assert_eq!(named(client.name), Some(client.name));
    }
}
