//! Which hosts programs may reach: the commands of the list, and what is discovered.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    thread,
};

use serde_json::Value;

use crate::harness::{World, shell, skip};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn hosts_are_allowed_and_disallowed_and_twice_is_once() {
    let world = World::new();
    for (arguments, wanted) in [
        (
            &["allow", "api.example", "localhost:3000"][..],
            "allowed api.example:443\nallowed localhost:3000\n",
        ),
        (&["allow", "API.example.:443"], "allowed already: api.example:443\n"),
        (&["allow", "*.corp.example"], "allowed *.corp.example:443\n"),
        (&["disallow", "localhost:3000"], "no longer allowed localhost:3000\n"),
        (&["disallow", "localhost:3000"], "not allowed anyway: localhost:3000\n"),
        (&["disallow", "git.corp.example"], "refused git.corp.example:443\n"),
        (&["disallow", "git.corp.example"], "not allowed anyway: git.corp.example:443\n"),
    ] {
        let outcome = world.run(arguments);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str()),
            (wanted, ""),
            "{arguments:?}"
        );
        assert_eq!(outcome.code, Some(0));
    }
    let listed = world.run(&["allowed"]);
    for line in ["api.example:443", "*.corp.example:443", "git.corp.example:443"] {
        let found = listed.stdout.lines().find(|row| row.split(' ').next() == Some(line));
        assert!(found.is_some_and(|row| row.contains(" you ")), "{line}: {listed:?}");
    }
    let asked = world.run(&[
        "allowed",
        "api.example",
        "x.corp.example",
        "localhost:3000",
        "git.corp.example",
    ]);
    let wanted = "api.example:443 allowed\nx.corp.example:443 allowed\nlocalhost:3000 not allowed\n\
        git.corp.example:443 not allowed\n";
    assert_eq!((asked.stdout.as_str(), asked.code), (wanted, Some(1)));
    assert_eq!(world.run(&["allow", "git.corp.example"]).stdout, "allowed git.corp.example:443\n");
    assert_eq!(world.run(&["allowed", "git.corp.example"]).code, Some(0));
}

#[test]
fn what_is_no_host_is_told_and_nothing_is_written() {
    let world = World::new();
    for (host, wanted) in [
        (
            "https://api.example/",
            "quietcontext: \"https://api.example/\" must be HOST, HOST:PORT or *.DOMAIN\n",
        ),
        (
            "*.example",
            "quietcontext: \"*.example\" is too wide: a domain of at least two parts is needed, such as *.example.com\n",
        ),
        (
            "a.example:99999",
            "quietcontext: \"a.example:99999\" must be HOST, HOST:PORT or *.DOMAIN\n",
        ),
        (
            "169.254.169.254:80",
            "quietcontext: 169.254.169.254:80 is a cloud metadata address: nobody can allow it\n",
        ),
        (
            "[::ffff:a9fe:1]",
            "quietcontext: [::ffff:a9fe:1]:443 is a link-local address: nobody can allow it\n",
        ),
    ] {
        let outcome = world.run(&["allow", "good.example", host]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), wanted), "{host}");
    }
    assert!(!world.path("home/.config").exists());
    write(&world.path("home/.config/quietcontext/allowed"), "good.example\nwhat is this\n");
    let outcome = world.run(&["allowed"]);
    assert!(
        outcome.stderr.contains("allowed: line 2: \"what is this\" must be HOST"),
        "{outcome:?}"
    );
    assert_eq!(outcome.code, Some(1));
    assert_eq!(world.run(&["allowed", "good.example"]).code, Some(1), "it allows nothing");
}

#[test]
fn the_users_own_tools_are_discovered_and_the_workspace_is_not_believed() {
    let world = World::new();
    write(&world.path("home/.npmrc"), "registry=https://npm.corp.example/api/\n");
    write(
        &world.path("home/.cargo/config.toml"),
        "[registries.c]\nindex = \"sparse+https://cargo.corp.example/i/\"\n",
    );
    write(
        &world.path("home/.config/pip/pip.conf"),
        "[global]\nindex-url = http://pip.corp.example:8081/simple\n",
    );
    write(&world.path("work/.npmrc"), "registry=https://evil.example/\n");
    write(&world.path("work/pip.conf"), "[global]\nindex-url = https://evil.example/\n");
    write(
        &world.path("work/.git/config"),
        "[remote \"origin\"]\n\turl = git@git.example:o/r.git\n",
    );
    let listed = world.run(&["allowed", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let row = |host: &str| {
        let rows = listed.as_array().unwrap();
        let row = rows
            .iter()
            .find(|row| row["host"] == host)
            .unwrap_or_else(|| panic!("{host} in {listed}"));
        format!("{} {} {}", row["from"], row["where"], row["reach"]).replace('"', "")
    };
    assert_eq!(row("npm.corp.example:443"), "npm ~/.npmrc private");
    assert_eq!(row("cargo.corp.example:443"), "cargo ~/.cargo/config.toml private");
    assert_eq!(row("pip.corp.example:8081"), "pip ~/.config/pip/pip.conf private");
    assert_eq!(row("git.example:443"), "git remote origin public");
    assert!(!listed.to_string().contains("evil"), "{listed}");
    // What a tool uses can be refused all the same.
    assert_eq!(
        world.run(&["disallow", "npm.corp.example"]).stdout,
        "refused npm.corp.example:443\n"
    );
    assert_eq!(
        world.run(&["allowed", "npm.corp.example"]).stdout,
        "npm.corp.example:443 not allowed\n"
    );
    assert_eq!(world.run(&["allow", "npm.corp.example"]).stdout, "allowed npm.corp.example:443\n");
}

/// A tool in the user's path that does what `script` says.
fn tool(world: &World, name: &str, interpreter: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;

    let path = world.path("bin").join(name);
    write(&path, &format!("#!{interpreter}\n{script}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs `allowed` with only these tools.
fn allowed(world: &World, arguments: &[&str]) -> String {
    let mut command = world.command(&[&["allowed"], arguments].concat());
    let own = world.work().join("bin");
    let path = format!("{}:{}:/usr/bin:/bin", own.display(), world.path("bin").display());
    let output = command.env("PATH", path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Needs a kernel in which a box can be made; fails without one where everything is required.
pub(crate) fn no_box(world: &World) -> bool {
    let data = world.path("home/.local/share/quietcontext/scratch");
    fs::create_dir_all(&data).unwrap();
    let assessed = quietcontext_exec::sandbox::assess(&crate::harness::binary(), &data);
    let missing = !assessed.is_ok_and(|found| {
        found.standing.rung == Some(quietcontext_exec::sandbox::Rung::Namespaces)
    });
    if missing {
        skip("there is no box");
    }
    missing
}

#[test]
fn a_tool_is_asked_where_it_reaches_nothing_and_once() {
    let world = World::outside_of_tmp();
    if no_box(&world) {
        return;
    }
    if world.work().starts_with("/tmp") {
        return skip("the build folder lies beneath /tmp, which a box has one of its own of");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    write(&world.work().join("secret"), "in the workspace");
    write(&world.path("home/.ssh/id"), "in the home");
    // Tries this machine past the proxy, and what it must not see, before its own host.
    let script = format!(
        r#"
import os, socket
def escaped():
    try: socket.create_connection(("127.0.0.1", {port}), 1)
    except OSError: return os.path.exists("{home}/.ssh") or os.getcwd() == "{work}" or os.listdir(".")
    return True
port = int(os.environ["https_proxy"].rsplit(":", 1)[1])
proxy = socket.create_connection(("127.0.0.1", port))
name = "escaped.example:443" if escaped() else "default.example:443"
proxy.sendall(f"CONNECT {{name}} HTTP/1.1\r\nHost: {{name}}\r\n\r\n".encode())
proxy.recv(9)
"#,
        work = world.work().display(),
        home = world.path("home").display(),
    );
    let go = "[ \"$1\" = env ] && printf 'https://goproxy.example,direct\\nsumdb.example\\n'\n";
    tool(&world, "npm", "/usr/bin/env python3", &script);
    tool(&world, "go", "/bin/sh", go);
    tool(&world, "pip", "/bin/sh", "exit 1\n");
    // One that lies in the workspace would say what the workspace wants.
    let own = world.work().join("bin/npm");
    write(
        &own,
        &format!("#!/usr/bin/env python3\n{}", script.replace("default.example", "evil.example")),
    );
    fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let listed = allowed(&world, &[]);
    assert!(!listed.contains("evil"), "{listed}");
    for wanted in ["default.example:443", "goproxy.example:443", "sumdb.example:443"] {
        let row = listed.lines().find(|row| row.starts_with(wanted));
        assert!(row.is_some_and(|row| row.ends_with(" asked")), "{wanted}: {listed}");
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "it reached the machine");
    let kept = world.path("home/.local/share/quietcontext/network.json");
    let read = || fs::read_to_string(&kept).unwrap();
    let answers: Value = serde_json::from_str(&read()).unwrap();
    assert_eq!(answers["answers"]["npm"]["hosts"], serde_json::json!(["default.example:443"]));
    assert_eq!(answers["answers"]["pip"]["hosts"], serde_json::json!([]));
    // The second time nothing is run, until what it depends on changes.
    write(&kept, &read().replace("default.example", "kept.example"));
    let asked = allowed(&world, &["kept.example", "default.example"]);
    assert_eq!(asked, "kept.example:443 allowed\ndefault.example:443 not allowed\n");
    tool(
        &world,
        "npm",
        "/usr/bin/env python3",
        &script.replace("default.example", "changed.example"),
    );
    let asked = allowed(&world, &["kept.example", "changed.example"]);
    assert_eq!(asked, "kept.example:443 not allowed\nchanged.example:443 allowed\n");
}

#[test]
fn an_index_that_is_used_names_the_hosts_of_its_files() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let (kind, body) = match head.split(' ').nth(1) {
                Some("/cargo/config.json") => {
                    ("application/json", r#"{"dl":"https://crates.example/{crate}"}"#)
                }
                Some("/simple/pip/") => (
                    "text/html",
                    r#"<html><body><a href="https://files.example/pip-1.whl">pip</a></body></html>"#,
                ),
                _ => ("text/plain", "no"),
            };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    let world = World::new();
    let index = format!("[registries.c]\nindex = \"sparse+http://127.0.0.1:{port}/cargo/\"\n");
    write(&world.path("home/.cargo/config.toml"), &index);
    write(
        &world.path("home/.config/pip/pip.conf"),
        &format!("[global]\nindex-url = http://127.0.0.1:{port}/simple\n"),
    );
    // Nobody has used an index yet, so none is asked.
    assert_eq!(allowed(&world, &["crates.example"]), "crates.example:443 not allowed\n");
    let index = format!("127.0.0.1:{port}");
    let answer = allowed(&world, &[&index, "crates.example", "files.example", "other.example"]);
    let wanted = format!(
        "{index} allowed\ncrates.example:443 allowed\nfiles.example:443 allowed\nother.example:443 not allowed\n"
    );
    assert_eq!(answer, wanted);
}

#[test]
fn the_mode_is_a_setting_of_the_user() {
    let world = World::new();
    write(&world.path("home/.config/quietcontext/config.toml"), "network.mode = \"off\"\n");
    let outcome = world.run(&["allow", "api.example"]);
    assert!(outcome.stderr.contains("network.mode is off"), "{outcome:?}");
    assert_eq!(world.run(&["allowed", "api.example"]).code, Some(1));
    write(&world.path("home/.config/quietcontext/config.toml"), "network.mode = \"on\"\n");
    assert_eq!(world.run(&["allowed", "any.example:22"]).code, Some(0));
    assert_eq!(world.run(&["disallow", "any.example:22"]).stdout, "refused any.example:22\n");
    assert_eq!(world.run(&["allowed", "any.example:22"]).code, Some(1));
    write(&world.path("home/.config/quietcontext/config.toml"), "network.mode = \"maybe\"\n");
    assert_eq!(world.run(&["allowed"]).code, Some(2));
}

#[test]
fn a_variable_does_not_open_the_network() {
    let world = World::new();
    let mut on = world.command(&["allowed", "any.example:22"]);
    let output = on.env("QUIETCONTEXT_NETWORK_MODE", "on").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("QUIETCONTEXT_NETWORK_MODE is not read"), "{told}");
}

/// Serves one line for ever; not at the address that programs keep to themselves.
fn host_service() -> u16 {
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _head = stream.read(&mut [0; 4096]);
            let answer =
                b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";
            stream.write_all(answer).ok();
        }
    });
    port
}

#[test]
fn a_program_reaches_what_is_allowed_and_a_refusal_says_what_the_user_can_do() {
    let world = World::outside_of_tmp();
    if no_box(&world) {
        return;
    }
    let name = format!("127.0.0.2:{}", host_service());
    let mut server = world.serve();
    let plain = format!("curl -sS -m 60 http://{name}/");
    let tunnel = format!("curl -sS -p -m 60 http://{name}/");
    let blocked = format!(
        "[blocked by sandbox: network: {name} is not on the allowlist; \
         to allow more the user runs: quietcontext allow {name}]"
    );
    let answer = server.shell(&plain).text;
    assert!(answer.contains(&format!("network: {name} is not on the allowlist\n")), "{answer}");
    assert!(answer.contains(&blocked), "{answer}");
    let answer = server.shell(&tunnel).text;
    assert!(answer.contains("response 403") && answer.contains(&blocked), "{answer}");
    // The running server follows.
    assert_eq!(world.run(&["allow", &name]).code, Some(0));
    assert_eq!(server.shell(&plain).text, "hello\n");
    assert_eq!(server.shell(&tunnel).text, "hello\n");
    assert_eq!(world.run(&["disallow", &name]).code, Some(0));
    assert!(server.shell(&plain).text.contains(&blocked));
    // Past the proxy there is nothing, and metadata is not for anybody.
    let direct = server.shell(&format!("curl -sS --noproxy '*' -m 60 http://{name}/")).text;
    assert!(direct.contains("[exit 7]") && !direct.contains("hello"), "{direct}");
    for _ in 0..2 {
        let answer = server.shell("curl -sS -m 60 http://169.254.169.254/").text;
        assert!(answer.contains("169.254.169.254:80 is a cloud metadata address"), "{answer}");
        assert!(!answer.contains("quietcontext allow 169"), "{answer}");
        write(&world.path("home/.config/quietcontext/allowed"), "169.254.169.254:80\n");
    }
}

#[test]
fn with_the_network_off_or_read_only_there_is_no_proxy() {
    let world = World::outside_of_tmp();
    if no_box(&world) {
        return;
    }
    let name = format!("127.0.0.2:{}", host_service());
    world.run(&["allow", &name]);
    let program = format!("env | grep -ic _proxy; curl -sS -m 60 http://{name}/");
    let config = world.path("home/.config/quietcontext/config.toml");
    for text in ["network.mode = \"off\"\n", "sandbox = \"read-only\"\nnetwork.mode = \"on\"\n"] {
        write(&config, text);
        let answer = world.serve().shell(&program).text;
        assert!(answer.starts_with("0\n") && !answer.contains("hello"), "{text}: {answer}");
    }
    write(&config, "");
    let answer = world.serve().shell(&program).text;
    assert!(answer.starts_with("8\n") && answer.contains("hello"), "the control: {answer}");
}

#[test]
fn the_users_configuration_is_out_of_reach_in_a_workspace_that_holds_it() {
    let world = World::outside_of_tmp();
    if no_box(&world) {
        return;
    }
    let folder = world.path("home/.config");
    write(&folder.join("quietcontext/allowed"), "mine.example\n");
    write(&folder.join("other"), "shown\n");
    let program = shell("cat other quietcontext/*; echo evil.example >> quietcontext/allowed; ls");
    let folder = folder.to_str().unwrap();
    let answer = world.run(&["--root", folder, "call", "execute", &program.to_string()]).stdout;
    assert!(answer.contains("shown") && !answer.contains("mine"), "{answer}");
    let list = fs::read_to_string(world.path("home/.config/quietcontext/allowed")).unwrap();
    assert_eq!(list, "mine.example\n");
}
