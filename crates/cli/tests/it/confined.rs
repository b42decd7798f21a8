//! Confinement as an agent meets it: each denial with the same call where it is not denied.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Server, World, shell};

/// The answer of one shell program under the given flags.
fn run(world: &World, flags: &[&str], code: &str) -> String {
    let arguments = shell(code).to_string();
    let call = ["call", "execute", &arguments];
    world.run(&[flags, &call[..]].concat()).stdout
}

#[test]
fn only_the_workspace_is_written_and_the_answer_says_what_the_user_can_do() {
    let world = World::new();
    let outside = world.path("outside");
    fs::create_dir(&outside).unwrap();
    // `/tmp` is the box's own: what is written there is neither refused nor kept.
    let text = format!("echo in > inside; echo out > {}/file; touch /usr/made", outside.display());
    let answer = run(&world, &[], &text);
    assert!(answer.contains("Read-only file system"), "{answer}");
    assert!(answer.contains("[possibly blocked by sandbox: writable are"), "{answer}");
    assert!(!answer.contains("[unconfined]"), "{answer}");
    assert_eq!(fs::read_to_string(world.work().join("inside")).unwrap(), "in\n");
    assert!(!outside.join("file").exists());
    let answer = run(&world, &["--sandbox", "off"], &text.replace("touch /usr/made", "true"));
    assert!(answer.starts_with("[unconfined]\n"), "{answer}");
    assert!(outside.join("file").exists(), "the control");
}

#[test]
fn the_home_and_the_stores_are_hidden() {
    let world = World::new();
    fs::create_dir(world.path("home/.ssh")).unwrap();
    fs::write(world.path("home/.ssh/id"), "SECRET").unwrap();
    fs::write(world.path("home/.gitconfig"), "[user]\n\tname = Ada\n").unwrap();
    let text = "cat ~/.ssh/id; git config user.name; find / -name '*.db' -path '*quietcontext*' 2>/dev/null";
    // A first call makes the store.
    run(&world, &[], "seq 1 5000");
    let answer = run(&world, &[], text);
    assert!(!answer.contains("SECRET") && answer.contains("Ada"), "{answer}");
    assert!(!answer.contains("quietcontext"), "{answer}");
    let answer = run(&world, &["--sandbox", "off"], "cat ~/.ssh/id");
    assert!(answer.contains("SECRET"), "the control: {answer}");
}

#[test]
fn a_store_in_the_workspace_is_hidden_as_well() {
    let world = World::new();
    let data = world.work().join("data");
    let flags = ["--data-dir", data.to_str().unwrap()];
    run(&world, &flags, "seq 1 5000");
    assert!(fs::read_dir(&data).unwrap().count() > 0, "the store is there");
    assert_eq!(run(&world, &flags, "ls -A data | grep -v scratch | wc -l"), "0\n");
}

#[test]
fn read_only_is_what_the_tool_list_says() {
    let world = World::new();
    let hints = |flags: &[&str]| {
        let mut server = Server::start(world.command(flags));
        server.initialize();
        let list = server.ask("tools/list", json!({}));
        let tools = list["tools"].as_array().unwrap().clone();
        let of = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            let hints = &tool["annotations"];
            [&hints["readOnlyHint"], &hints["openWorldHint"]].map(|hint| hint == &Value::Bool(true))
        };
        ["batch", "exec-file", "execute"].map(of)
    };
    assert_eq!(hints(&["--sandbox", "read-only"]), [[true, false]; 3]);
    assert_eq!(hints(&[]), [[false, true]; 3]);
    let text = "echo x > made; echo y > /tmp/y && cat /tmp/y";
    let answer = run(&world, &["--sandbox", "read-only"], text);
    assert!(answer.contains("Read-only file system") && answer.starts_with("y\n"), "{answer}");
    assert!(!world.work().join("made").exists());
    run(&world, &[], text);
    assert!(world.work().join("made").exists(), "the control");
}

#[test]
fn what_the_user_adds_can_be_read_written_and_passed() {
    let world = World::new();
    for name in ["home/notes", "home/out", "home/.config", "home/.config/quietcontext"] {
        fs::create_dir(world.path(name)).unwrap();
    }
    fs::write(world.path("home/notes/a"), "note\n").unwrap();
    let text =
        "cat ~/notes/a; echo $TOKEN_OF_MINE; echo x > ~/out/made; echo x > .vscode/tasks.json";
    let command = |world: &World| {
        let mut command = world.command(&["call", "execute", &shell(text).to_string()]);
        command.env("TOKEN_OF_MINE", "passed");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let answer = command(&world);
    assert!(!answer.contains("note\n") && !answer.contains("passed"), "{answer}");
    let made = [world.path("home/out/made"), world.work().join(".vscode/tasks.json")];
    assert!(made.iter().all(|file| !file.exists()), "{answer}");
    let settings = "[sandbox]\nreadable = [\"~/notes\"]\nwritable = [\"~/out\"]\n\
        variables = [\"TOKEN_OF_MINE\"]\nunprotected = [\".vscode\"]\n";
    fs::write(world.path("home/.config/quietcontext/config.toml"), settings).unwrap();
    fs::create_dir(world.work().join(".vscode")).unwrap();
    assert_eq!(command(&world), "note\npassed\n");
    assert!(made.iter().all(|file| file.exists()));
}

#[test]
fn a_variable_does_not_loosen_the_sandbox() {
    let world = World::new();
    let mut command = world.command(&["call", "execute", &shell("touch /usr/made").to_string()]);
    command.env("QUIETCONTEXT_SANDBOX_MODE", "off");
    let output = command.output().unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains("Read-only file system"), "{answer}");
    let warned = String::from_utf8(output.stderr).unwrap();
    assert!(warned.contains("QUIETCONTEXT_SANDBOX_MODE is not read"), "{warned}");
}

#[test]
fn ports_of_a_background_job_are_reachable_and_those_of_the_host_are_not() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    let code = "import http.server as h\nh.HTTPServer(('127.0.0.1', 8765), h.SimpleHTTPRequestHandler).serve_forever()";
    let job = json!({ "language": "python", "code": code, "background": true, "timeout": 300 });
    let started = server.call("execute", job).text;
    assert!(started.contains("running"), "{started}");
    let client = "for i in $(seq 200); do curl -sf -o /dev/null http://127.0.0.1:8765/ && \
        echo reached && break; sleep 0.05; done";
    let answer = server.call("execute", shell(client)).text;
    assert!(answer.starts_with("reached\n"), "{answer}");
    let host = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = host.local_addr().unwrap().port();
    let reach = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    let answer = server.call("execute", shell(&reach)).text;
    assert!(!answer.contains("reached") && answer.contains("refused"), "{answer}");
    let answer = run(&world, &["--sandbox", "off"], &reach);
    assert!(answer.contains("reached"), "the control: {answer}");
}
