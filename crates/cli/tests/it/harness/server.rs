//! One running server, and a client that writes and reads lines.

use std::{
    collections::VecDeque,
    fs,
    io::{BufRead as _, BufReader, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{PATIENCE, processes::wait_until};

/// A running server and the client's end of its streams.
pub(crate) struct Server {
    pub(crate) child: Child,
    input: Option<Box<dyn Write>>,
    lines: Receiver<Value>,
    /// Lines that were read while another was waited for.
    kept: VecDeque<Value>,
    next: u64,
}

/// The text of a tool's answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl Server {
    /// Starts `command` on pipes.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = child.stdout.take().unwrap();
        Self::over(child, input, output)
    }

    /// Starts `command` on three Unix sockets, as one client does.
    pub(crate) fn start_on_sockets(mut command: Command) -> Self {
        let pair = || {
            let (ours, theirs) = UnixStream::pair().unwrap();
            (ours, Stdio::from(OwnedFd::from(theirs)))
        };
        let ((input, stdin), (output, stdout), (_errors, stderr)) = (pair(), pair(), pair());
        let child = command.stdin(stdin).stdout(stdout).stderr(stderr).spawn().unwrap();
        Self::over(child, input, output)
    }

    /// A client over any streams of a process.
    pub(crate) fn over(
        child: Child,
        input: impl Write + 'static,
        output: impl Read + Send + 'static,
    ) -> Self {
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                // Nothing but JSON-RPC may ever be on this stream.
                let value: Value = serde_json::from_str(&line).unwrap_or_else(|_| json!(line));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, input: Some(Box::new(input)), lines, kept: VecDeque::new(), next: 1_000 }
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("input is open");
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Writes one message as a line.
    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// A request under a fresh id and its result or error.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.request(id, method, params);
        self.answer(id)
    }

    pub(crate) fn initialize(&mut self) -> Value {
        self.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "0" },
            }),
        )
    }

    /// Asks for a call and does not wait.
    pub(crate) fn begin(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }));
    }

    /// The answer of a call that was begun.
    pub(crate) fn reply(&mut self, id: impl Into<Value>) -> Answer {
        let result = self.answer(id);
        let content = result["content"].as_array().unwrap_or_else(|| panic!("{result}"));
        assert_eq!(content.len(), 1, "{result}");
        assert_eq!(content[0]["type"], "text", "{result}");
        Answer {
            text: content[0]["text"].as_str().unwrap().to_owned(),
            is_error: result["isError"] == true,
        }
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        self.next += 1;
        let id = self.next;
        self.begin(id, tool, arguments);
        self.reply(id)
    }

    /// Runs a shell program.
    pub(crate) fn shell(&mut self, code: &str) -> Answer {
        self.call("execute", shell(code))
    }

    /// The next line for which `wanted` says yes, however many others come before it.
    pub(crate) fn line(
        &mut self,
        patience: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at);
        }
        let deadline = Instant::now() + patience;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    assert_eq!(line["jsonrpc"], "2.0", "not JSON-RPC: {line}");
                    if wanted(&line) {
                        return Some(line);
                    }
                    self.kept.push_back(line);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// The whole message that answers `id`.
    pub(crate) fn message(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.line(PATIENCE, |line| line["id"] == id && line.get("method").is_none())
            .unwrap_or_else(|| panic!("no answer to {id}; kept: {:?}", self.kept))
    }

    /// The result, or else the error, that answers `id`.
    pub(crate) fn answer(&mut self, id: impl Into<Value>) -> Value {
        let message = self.message(id);
        message.get("result").or_else(|| message.get("error")).cloned().unwrap()
    }

    /// A ping, which has to be answered in time.
    pub(crate) fn ping(&mut self, within: Duration) {
        self.next += 1;
        let id = self.next;
        let started = Instant::now();
        self.request(id, "ping", json!({}));
        assert_eq!(self.answer(id), json!({}));
        assert!(started.elapsed() < within, "ping took {:?}", started.elapsed());
    }

    /// What arrived and was not waited for.
    pub(crate) fn unasked(&mut self) -> Vec<Value> {
        self.kept.extend(self.lines.try_iter());
        self.kept.drain(..).collect()
    }

    /// Ends our side of the input.
    pub(crate) fn close(&mut self) {
        self.input = None;
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

    /// A field of `/proc/PID/status`, its unit left out.
    pub(crate) fn status(&self, field: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap().split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Arguments of `execute` for a shell program.
pub(crate) fn shell(code: &str) -> Value {
    json!({ "language": "shell", "code": code })
}
