//! Confinement as an agent meets it: each denial with the same call where it is not denied.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Server, World, shell, wait_until};

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
    let text = "cat ~/.ssh/id; git config user.name; find ~ -name '*.db'";
    // A first call makes the store.
    run(&world, &[], "seq 1 5000");
    let answer = run(&world, &[], text);
    assert!(!answer.contains("SECRET") && answer.contains("Ada"), "{answer}");
    assert!(!answer.contains(".db"), "{answer}");
    let answer = run(&world, &["--sandbox", "off"], text);
    assert!(answer.contains("SECRET") && answer.contains(".db\n"), "the control: {answer}");
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
fn a_configuration_in_the_workspace_is_refused() {
    let world = World::new();
    let text = "sandbox.mode = \"off\"\n";
    for (place, refused) in [("work/config.toml", true), ("home/config.toml", false)] {
        fs::write(world.path(place), text).unwrap();
        let mut command = world.command(&["call", "execute", &shell("echo ran").to_string()]);
        command.env("QUIETCONTEXT_CONFIG", world.path(place));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(if refused { 2 } else { 0 }), "{said}");
        assert_eq!(said.contains("lies in the workspace"), refused, "{said}");
        assert_eq!(output.stdout.is_empty(), refused);
    }
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

/// Prints a line per attempt: its name, and the error that met it or `done`.
const SIDEWAYS: &str = r"
import ctypes, os, socket, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0: raise OSError(ctypes.get_errno(), '')
def fork_two_hundred():
    for _ in range(200):
        if os.fork() == 0: os._exit(0)
        os.wait()
    raise OSError(0, '')
def run(text): subprocess.run(text, shell=True, check=True, stderr=subprocess.DEVNULL)
attempts = {
  'kill server': lambda: os.kill(SERVER, 9),
  'trace server': lambda: call(libc.ptrace(16, SERVER, 0, 0)),
  'environment of server': lambda: open('/proc/%d/environ' % SERVER).read(),
  'input of server': lambda: open('/proc/%d/fd/0' % SERVER, 'wb').write(b'x'),
  'store': lambda: open(STORE, 'r+b').write(b'x'),
  'port': lambda: socket.create_connection(('127.0.0.1', PORT), 5),
  'metadata': lambda: socket.create_connection(('169.254.169.254', 80), 5),
  'mount': lambda: call(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None)),
  'chroot': lambda: os.chroot('/'),
  'unshare': lambda: call(libc.unshare(0x10000000)),
  'memory': lambda: bytearray(64 << 30),
  'file': lambda: os.truncate(os.open('big', os.O_CREAT | os.O_RDWR), 5 << 30),
  'crontab': lambda: open('/var/spool/cron/crontabs/root', 'a').write('x'),
  'hook': lambda: open('.git/hooks/pre-commit', 'a').write('x'),
  'new hook': lambda: open('.git/hooks/post-commit', 'w').write('x'),
  'hooks moved': lambda: os.rename('.git', 'moved'),
}
for name, attempt in attempts.items():
    try: attempt(); print(name, 'done')
    except (OSError, MemoryError) as e: print(name, type(e).__name__)
fork = os.fork()
if fork == 0:
    try: fork_two_hundred()
    except OSError: os._exit(0)
os.waitpid(fork, 0)
os.kill(os.getppid(), 9)
print('still here')
";

#[test]
fn a_program_cannot_break_out_sideways() {
    let world = World::outside_of_tmp();
    fs::create_dir_all(world.work().join(".git/hooks")).unwrap();
    fs::write(world.work().join(".git/hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut server = world.serve();
    server.initialize();
    server.shell("seq 1 5000");
    let data = world.path("home/.local/share/quietcontext");
    let store = fs::read_dir(&data).unwrap().flatten().map(|entry| entry.path());
    let store = store.into_iter().find(|path| path.extension().is_some_and(|e| e == "db")).unwrap();
    let before = fs::metadata(&store).unwrap().len();
    let code = format!(
        "SERVER, PORT, STORE = {}, {}, {:?}\n{SIDEWAYS}",
        server.child.id(),
        listener.local_addr().unwrap().port(),
        store,
    );
    let answer = server.call("execute", json!({ "language": "python", "code": code })).text;
    let (mut attempts, mut done) = (0, Vec::new());
    for line in answer.lines().take_while(|line| *line != "still here") {
        attempts += 1;
        done.extend(line.strip_suffix(" done").map(str::to_owned));
    }
    assert_eq!((attempts, done), (16, Vec::new()), "{answer}");
    assert!(answer.contains("\nstill here\n"), "{answer}");
    server.ping(std::time::Duration::from_secs(20));
    assert!(listener.accept().is_err(), "somebody came");
    assert!(fs::metadata(&store).unwrap().len() >= before);
    assert!(!world.work().join(".git/hooks/post-commit").exists());
    // The control: without a box most of it is possible.
    let mild = code
        .replace("'kill server': lambda: os.kill(SERVER, 9),", "")
        .replace("os.kill(os.getppid(), 9)", "");
    let mut server = Server::start(world.command(&["--sandbox", "off"]));
    server.initialize();
    let only: String = ["port", "hook", "new hook", "hooks moved"].join(",");
    let mild = mild.replace(
        "for name, attempt in attempts.items():\n",
        &format!("for name, attempt in attempts.items():\n    if name not in '{only}'.split(','): continue\n"),
    );
    let answer = server.call("execute", json!({ "language": "python", "code": mild })).text;
    for name in ["port", "hook", "new hook", "hooks moved"] {
        assert!(answer.contains(&format!("{name} done")), "the control: {name}: {answer}");
    }
}

/// Direct children of a process; those that ended and were not collected as well.
fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let lists = tasks.flatten().map(|task| fs::read_to_string(task.path().join("children")));
    let lists = lists.map(Result::unwrap_or_default).collect::<String>();
    lists.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Containers and services: the home is the whole disk, or there is none.
#[test]
fn programs_of_a_user_without_a_home_have_one() {
    let world = World::new();
    for home in [Some("/"), None] {
        let mut command = world.command(&[]);
        match home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        let mut server = Server::start(command);
        server.initialize();
        let answer = server.shell("echo x > ~/file && cat ~/file").text;
        assert_eq!(answer, "x\n", "{home:?}");
    }
}

#[test]
fn a_launcher_and_a_supervisor_stand_by_and_may_die() {
    let world = World::new();
    let mut server = world.serve();
    server.initialize();
    let process = server.child.id();
    assert!(children(process).is_empty(), "nothing waits before the first run");
    let waiting = || {
        assert!(wait_until(PATIENCE, || children(process).len() == 2).is_some(), "two stand by");
        children(process)
    };
    for round in 0..4 {
        // After a dead launcher the first takes what still waits, the second starts another launcher.
        for _ in 0..2 {
            assert_eq!(server.shell("echo ok").text, "ok\n", "{round}");
        }
        let which = waiting()[round % 2];
        // Init has the supervisor's socket too, and dies with it.
        let below = [vec![which], children(which)].concat();
        let which = i32::try_from(which).unwrap();
        let which = rustix::process::Pid::from_raw(which).unwrap();
        rustix::process::kill_process(which, rustix::process::Signal::KILL).unwrap();
        for number in below {
            let stat = format!("/proc/{number}/stat");
            let dead = || !fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
            assert!(wait_until(PATIENCE, dead).is_some(), "it is dead");
        }
    }
    // What a row of programs leaves are two processes, and no thread that waits in vain.
    let answers: Vec<_> = (0..8).map(|n| server.shell(&format!("echo {n}")).text).collect();
    assert!(answers.iter().enumerate().all(|(n, text)| *text == format!("{n}\n")), "{answers:?}");
    let waiting = waiting();
    drop(server);
    for one in waiting {
        let gone = || !fs::exists(format!("/proc/{one}")).unwrap();
        assert!(wait_until(PATIENCE, gone).is_some(), "it ends with the server");
    }
}
