//! Sessions over a socket pair with tools of the test's own making.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use quietcontext_tools::{Confinement, Tool};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{Ending, Watch, converse, stream::streams};
use crate::{Root, Server, puppet::Puppet};

/// A client that writes and reads lines.
struct Client {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
    puppet: Arc<Puppet>,
    session: JoinHandle<Ending>,
}

impl Client {
    fn start(root: Root) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let puppet = Arc::new(Puppet::default());
        let tools = Tool::ALL.map(|tool| tool.spec(Confinement::Off));
        let server = Server::new(Arc::clone(&puppet), tools, root);
        let session = tokio::spawn(async move {
            let (input, output) =
                streams(theirs.try_clone().unwrap().into(), theirs.into()).unwrap();
            converse(server, input, output, &mut Watch::start().unwrap()).await
        });
        let lines = BufReader::new(ours.try_clone().unwrap());
        Self { stream: ours, lines, puppet, session }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stream, "{message}").unwrap();
    }

    fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn call(&mut self, id: impl Into<Value>, what: &str) {
        self.request(id, "tools/call", json!({ "name": "execute", "arguments": { "do": what } }));
    }

    /// The next line of the server.
    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// The next line, which has to answer `id`; its result.
    fn answer(&mut self, id: impl Into<Value>) -> Value {
        let line = self.line();
        assert_eq!(line["jsonrpc"], "2.0", "{line}");
        assert_eq!(line["id"], id.into(), "{line}");
        line.get("result").or_else(|| line.get("error")).cloned().unwrap()
    }

    fn text(&mut self, id: impl Into<Value>) -> String {
        let answer = self.answer(id);
        answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn initialize(&mut self, capabilities: Value) {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "0" },
        });
        self.request("init", "initialize", params);
        assert_eq!(self.answer("init")["protocolVersion"], "2025-06-18");
    }

    async fn end(self) -> (Ending, Arc<Puppet>) {
        drop((self.stream, self.lines));
        (self.session.await.unwrap(), self.puppet)
    }
}

fn fixed() -> Root {
    Root::fixed("/w".into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_is_the_answer_of_its_own_call_only() {
    let mut client = Client::start(fixed());
    client.call(1, "wait");
    client.call(2, "panic");
    let answer = client.answer(2);
    assert_eq!(answer["isError"], true);
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("error: ") && !text.contains("on purpose"), "{text}");
    client.call(3, "hello");
    assert_eq!(client.text(3), "hello");
    let (ending, puppet) = client.end().await;
    assert_eq!(ending, Ending::EndOfInput);
    assert!(puppet.stopped.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn is_error_is_there_only_when_it_is_one() {
    let mut client = Client::start(fixed());
    client.call(1, "fine");
    assert_eq!(client.answer(1), json!({ "content": [{ "type": "text", "text": "fine" }] }));
    client.call(2, "fail");
    let failed = json!({ "content": [{ "type": "text", "text": "error: no" }], "isError": true });
    assert_eq!(client.answer(2), failed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_call_gets_no_answer_and_stray_ones_change_nothing() {
    let mut client = Client::start(fixed());
    client.call(41, "wait");
    let cancel = |params: Value| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    client.send(&cancel(json!({ "requestId": 9999 })));
    client.send(&cancel(json!({})));
    client.send(&cancel(json!({ "requestId": 41, "reason": "user" })));
    client.send(&cancel(json!({ "requestId": 41 })));
    client.request(42, "ping", json!({}));
    assert_eq!(client.answer(42), json!({}));
    client.call(43, "hello");
    assert_eq!(client.text(43), "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_id_used_twice_is_answered_twice() {
    let mut client = Client::start(fixed());
    client.call("same", "wait");
    client.call("same", "second");
    assert_eq!(client.text("same"), "second");
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "same" }
    }));
    client.request(1, "ping", json!({}));
    assert_eq!(client.answer(1), json!({}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_comes_before_the_answer_and_only_grows() {
    let mut client = Client::start(fixed());
    client.request(
        1,
        "tools/call",
        json!({
            "name": "execute", "arguments": { "do": "progress" }, "_meta": { "progressToken": "p" }
        }),
    );
    for step in [1.0, 2.0, 3.0] {
        let line = client.line();
        assert_eq!(line["method"], "notifications/progress", "{line}");
        let wanted =
            json!({ "progressToken": "p", "progress": step, "total": 3.0, "message": "step" });
        assert_eq!(line["params"], wanted);
    }
    assert_eq!(client.text(1), "done");
    client.call(2, "progress");
    assert_eq!(client.text(2), "done", "nobody asked for progress");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_under_way_survive_the_end_of_input() {
    let mut client = Client::start(fixed());
    for id in 0..20 {
        client.call(id, "hello");
    }
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut ids: Vec<_> = (0..20).map(|_| client.line()["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_input_stops_calls_that_go_on() {
    let mut client = Client::start(fixed());
    client.call(1, "wait");
    client.request(2, "ping", json!({}));
    client.answer(2);
    let started = Instant::now();
    let (ending, puppet) = client.end().await;
    assert_eq!(ending, Ending::EndOfInput);
    assert!(puppet.stopped.load(Ordering::SeqCst));
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_root_of_the_client_is_used_where_nobody_works() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap().display().to_string();
    let mut client = Client::start(Root::of_client_or("/".into()));
    client.initialize(json!({ "roots": {} }));
    client.call(1, "root");
    let asked = client.line();
    assert_eq!(asked["method"], "roots/list");
    let roots = json!([{ "uri": format!("file://{real}") }, { "uri": "file:///etc" }]);
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": roots } }));
    assert_eq!(client.text(1), real);
    client.call(2, "root");
    assert_eq!(client.text(2), real, "asked once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_name_its_roots_delays_one_call_by_a_second() {
    let mut client = Client::start(Root::of_client_or("/".into()));
    client.initialize(json!({ "roots": { "listChanged": true } }));
    client.call(1, "root");
    assert_eq!(client.line()["method"], "roots/list");
    let started = Instant::now();
    assert_eq!(client.text(1), "/");
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    client.call(2, "root");
    assert_eq!(client.text(2), "/");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    client.request(3, "ping", json!({}));
    client.answer(3);
    client.call(4, "root");
    assert_eq!(client.line()["method"], "roots/list", "asked again after a change");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_roots_is_not_asked() {
    let mut client = Client::start(Root::of_client_or("/".into()));
    client.initialize(json!({}));
    client.call(1, "root");
    assert_eq!(client.text(1), "/");
    let mut client = Client::start(fixed());
    client.initialize(json!({ "roots": {} }));
    client.call(1, "root");
    assert_eq!(client.text(1), "/w");
}
