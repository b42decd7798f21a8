//! One running daemon, and a client that sends it requests.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{PATIENCE, World, processes::wait_until, server::Answer};

/// A daemon in the foreground.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

/// What came back for a request.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl World {
    /// A daemon on a port of its own, with the workspace registered.
    pub(crate) fn daemon(&self) -> Daemon {
        let outcome = self.run(&["roots", "add", self.work().to_str().unwrap()]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        Daemon::start(self.command(&["daemon"]), &self.path("home/.local/share/quietcontext"))
    }
}

impl Daemon {
    /// Starts `command` and waits until it answers.
    pub(crate) fn start(mut command: Command, data_dir: &Path) -> Self {
        command.env("QUIETCONTEXT_DAEMON_PORT", "0");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let state = data_dir.join("daemon/state.json");
        let mut port = None;
        let found = wait_until(PATIENCE, || {
            let text = std::fs::read_to_string(&state).unwrap_or_default();
            let state: Value = serde_json::from_str(&text).unwrap_or_default();
            port = state["port"].as_u64().filter(|_| state["pid"] == child.id());
            port.is_some()
        });
        found.expect("the daemon says its port");
        let token = std::fs::read_to_string(data_dir.join("daemon/token")).unwrap();
        let port = port.unwrap().try_into().unwrap();
        Self { child, port, token: token.trim().to_owned() }
    }

    /// The bytes of a POST.
    pub(crate) fn request(&self, headers: &[(&str, &str)], body: &str) -> String {
        let mut text = format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\n\
             accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n",
            self.port,
            self.token,
            body.len()
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text + "\r\n" + body
    }

    /// Sends bytes and keeps the connection.
    pub(crate) fn begin(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Sends one message.
    pub(crate) fn post(&self, headers: &[(&str, &str)], message: &Value) -> Response {
        finish(self.begin(&self.request(headers, &message.to_string())))
    }

    /// Calls a tool in a root.
    pub(crate) fn call(&self, root: &Path, tool: &str, arguments: Value) -> Answer {
        let root = root.to_str().unwrap();
        let response = self.post(&[("x-quietcontext-root", root)], &call(tool, arguments));
        let answer: Value = serde_json::from_str(&response.body)
            .unwrap_or_else(|error| panic!("{response:?}: {error}"));
        let text = answer["result"]["content"][0]["text"].as_str();
        Answer {
            text: text.unwrap_or_else(|| panic!("{response:?}")).to_owned(),
            is_error: answer["result"]["isError"] == true,
        }
    }

    /// Runs a shell program in a root.
    pub(crate) fn shell(&self, root: &Path, code: &str) -> Answer {
        self.call(root, "execute", super::shell(code))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The exit status, which has to come in time.
    pub(crate) fn exit(&mut self, within: Duration) -> ExitStatus {
        let started = Instant::now();
        wait_until(within, || self.child.try_wait().unwrap().is_some())
            .unwrap_or_else(|| panic!("still there after {:?}", started.elapsed()));
        self.child.wait().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The message that calls a tool.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// Reads what comes back to its end.
pub(crate) fn finish(mut stream: TcpStream) -> Response {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response { status, body: body.to_owned() }
}
