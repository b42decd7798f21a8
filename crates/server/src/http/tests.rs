//! Requests over real sockets to tools of the tests' own making.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use quietcontext_tools::{Confinement, Tool};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

use super::{TIMES, Times, Token, until};
use crate::{Root, Server, frame::MESSAGE_LIMIT, puppet::Puppet};

const TOKEN: &str = "0123456789abcdef";

/// How long anything may take that has no tighter limit.
const PATIENCE: Duration = Duration::from_secs(20);

struct Daemon {
    address: SocketAddr,
    puppet: Arc<Puppet>,
    end: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<&'static str>>,
}

/// An answer over HTTP.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    fn text(&self) -> String {
        let answer = self.json();
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).into()
    }
}

impl Daemon {
    fn start(times: Times) -> Self {
        let puppet = Arc::new(Puppet::default());
        let tools = Tool::ALL.map(|tool| tool.spec(Confinement::Off));
        let root = Root::named(Box::new(|path| match path.to_str() {
            Some("/refused") => Err("error: not this one".to_owned()),
            _ => Ok(path.to_owned()),
        }));
        let server = Server::new(Arc::clone(&puppet), tools, root);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let served = tokio::spawn(async move {
            let token = Token::new(TOKEN.to_owned());
            until(server, listener, token, times, async {
                let _asked = ended.await;
                "test"
            })
            .await
        });
        Self { address, puppet, end, served }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The bytes of a request with these headers on top of what every client sends.
    fn request(&self, headers: &str, body: &[u8]) -> Vec<u8> {
        let mut request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\n\
             accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n{headers}\r\n",
            self.address,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        request
    }

    fn exchange(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        read(stream)
    }

    fn post(&self, headers: &str, message: &Value) -> Answer {
        self.exchange(&self.request(headers, message.to_string().as_bytes()))
    }

    fn call(&self, root: &str, what: &str) -> Answer {
        self.post(&format!("x-quietcontext-root: {root}\r\n"), &call(what, json!({})))
    }

    async fn end(self) -> Arc<Puppet> {
        self.end.send(()).unwrap();
        assert_eq!(self.served.await.unwrap().unwrap(), "test");
        self.puppet
    }
}

fn call(what: &str, meta: Value) -> Value {
    let params = json!({ "name": "execute", "arguments": { "do": what }, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params })
}

/// Reads an answer to its end.
fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}

fn reaches(counter: &AtomicUsize, wanted: usize) {
    let until = Instant::now() + PATIENCE;
    while counter.load(Ordering::SeqCst) < wanted {
        assert!(Instant::now() < until, "{counter:?} of {wanted}");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_works_in_the_root_that_it_names() {
    let daemon = Daemon::start(TIMES);
    assert_eq!(daemon.call("/a", "root").text(), "/a");
    assert_eq!(daemon.call("/b", "root").text(), "/b");
    let begun = daemon.puppet.begun.load(Ordering::SeqCst);
    for (headers, wanted) in [
        ("", "X-QuietContext-Root"),
        ("x-quietcontext-root: a\r\n", "X-QuietContext-Root"),
        ("x-quietcontext-root: /a\r\nx-quietcontext-root: /b\r\n", "X-QuietContext-Root"),
        ("x-quietcontext-root: /refused\r\n", "not this one"),
    ] {
        let answer = daemon.post(headers, &call("root", json!({})));
        assert_eq!(answer.json()["result"]["isError"], true, "{answer:?}");
        let text = answer.text();
        assert!(text.starts_with("error: ") && text.contains(wanted), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert_eq!(daemon.puppet.begun.load(Ordering::SeqCst), begun, "no call was made");
    daemon.end().await;
}

/// Each refusal beside the same request that is answered.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_let_in_is_told_in_one_line_and_calls_nothing() {
    let daemon = Daemon::start(TIMES);
    let message = call("x", json!({})).to_string();
    let whole = daemon.request("x-quietcontext-root: /a\r\n", message.as_bytes());
    let whole = String::from_utf8(whole).unwrap();
    let host = format!("host: {}", daemon.address);
    let bearer = format!("authorization: Bearer {TOKEN}");
    for (from, to, status) in [
        (host.as_str(), "host: evil.example", 403),
        ("connection: close", "connection: close\r\norigin: http://localhost", 403),
        (&bearer, "x-nothing: 1", 401),
        (TOKEN, "0123456789abcdee", 401),
        ("POST /mcp", "POST /", 404),
        ("POST /mcp", "GET /mcp", 405),
        ("POST /mcp", "DELETE /mcp", 405),
        ("POST /mcp", "POST /status", 405),
        ("content-type: application/json", "content-type: text/plain", 415),
        ("accept: application/json, text/event-stream", "accept: text/html", 406),
        ("connection: close", "connection: close\r\nmcp-protocol-version: 1999-01-01", 400),
    ] {
        assert!(whole.contains(from), "{from}");
        let answer = daemon.exchange(whole.replace(from, to).as_bytes());
        assert_eq!(answer.status, status, "{to}: {answer:?}");
        assert_eq!(answer.body.trim_end().lines().count(), 1, "{to}: {answer:?}");
        if matches!(status, 401 | 403) {
            assert!(!answer.body.contains(env!("CARGO_PKG_VERSION")), "{answer:?}");
        }
    }
    // Without a token every place looks the same.
    for path in ["/mcp", "/status", "/", "/none"] {
        let answer = daemon.exchange(
            format!("GET {path} HTTP/1.1\r\n{host}\r\nconnection: close\r\n\r\n").as_bytes(),
        );
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
    }
    assert_eq!(daemon.puppet.begun.load(Ordering::SeqCst), 0);
    assert_eq!(daemon.exchange(whole.as_bytes()).text(), "x");
    assert_eq!(daemon.puppet.begun.load(Ordering::SeqCst), 1);
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_say_what_it_accepts_is_answered() {
    let daemon = Daemon::start(TIMES);
    let whole =
        daemon.request("x-quietcontext-root: /a\r\n", call("x", json!({})).to_string().as_bytes());
    let whole = String::from_utf8(whole).unwrap();
    for accept in ["accept: */*\r\n", ""] {
        let request = whole.replace("accept: application/json, text/event-stream\r\n", accept);
        assert_eq!(daemon.exchange(request.as_bytes()).text(), "x", "{accept}");
    }
    daemon.end().await;
}

/// The same guard as on stdio, the same messages.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_messages_are_repaired_or_refused_by_their_id() {
    let daemon = Daemon::start(TIMES);
    for (body, id, code) in [
        (&b"{"[..], Value::Null, -32700),
        (b"[]", Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":9,"method":5}"#, json!(9), -32600),
        (br#"{"jsonrpc":"2.0","id":"q","method":"ping","params":[]}"#, json!("q"), -32602),
    ] {
        let answer = daemon.exchange(&daemon.request("", body));
        assert_eq!(answer.status, 400, "{answer:?}");
        let error = answer.json();
        assert_eq!((&error["id"], &error["error"]["code"]), (&id, &json!(code)), "{answer:?}");
    }
    let mut body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"do":"a"#.to_vec();
    body.extend_from_slice(b"\xff\\ud800z\"}}}");
    let answer = daemon.exchange(&daemon.request("x-quietcontext-root: /a\r\n", &body));
    assert_eq!(answer.text(), "a\u{fffd}\u{fffd}z");
    for silent in [&b"\n"[..], br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#] {
        let answer = daemon.exchange(&daemon.request("", silent));
        assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    }
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_may_be_as_long_as_a_line_on_stdio() {
    let daemon = Daemon::start(TIMES);
    let padded = |bytes: usize| {
        let mut body =
            br#"{"jsonrpc":"2.0","id":"long","method":"ping","params":{"_meta":{"x":""#.to_vec();
        let end = b"\"}}}";
        body.resize(bytes - end.len(), b'x');
        body.extend_from_slice(end);
        body
    };
    let answer = daemon.exchange(&daemon.request("", &padded(MESSAGE_LIMIT)));
    assert_eq!(answer.json()["result"], json!({}));
    let answer = daemon.exchange(&daemon.request("", &padded(MESSAGE_LIMIT + 1)));
    assert_eq!(answer.status, 413);
    let error = json!({ "code": -32600, "message": "message over 16 MiB" });
    assert_eq!(answer.json(), json!({ "jsonrpc": "2.0", "id": "long", "error": error }));
    // Nobody is made to take in what is announced to be endless.
    let head = String::from_utf8(daemon.request("", b"")).unwrap();
    let endless = head.replace("content-length: 0", "content-length: 99999999999");
    assert_eq!(daemon.exchange(endless.as_bytes()).status, 413);
    let head = head.replace("\r\n\r\n", &format!("\r\nx-long: {}\r\n\r\n", "x".repeat(64 << 10)));
    assert_eq!(daemon.exchange(head.as_bytes()).status, 431);
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_and_messages_that_take_too_long_end_their_connection() {
    let short = Duration::from_millis(100);
    let daemon = Daemon::start(Times { head: short, message: short, ..TIMES });
    let mut silent = daemon.connect();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0, "closed");
    let mut slow = daemon.connect();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nhost: lo").unwrap();
    let mut said = String::new();
    slow.read_to_string(&mut said).unwrap();
    assert!(said.is_empty() || said.contains(" 408 "), "{said}");
    let whole = daemon.request("", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let mut half = daemon.connect();
    half.write_all(&whole[..whole.len() - 5]).unwrap();
    let answer = read(half);
    assert_eq!(answer.status, 408, "{answer:?}");
    assert_eq!(daemon.exchange(&whole).status, 200, "the control");
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_cancels_its_call_and_no_other() {
    let daemon = Daemon::start(TIMES);
    let begin = |meta: Value, headers: &str| {
        let message = call("wait", meta).to_string();
        let mut stream = daemon.connect();
        let headers = format!("x-quietcontext-root: /a\r\n{headers}");
        let request = daemon.request(&headers, message.as_bytes());
        stream.write_all(&request).unwrap();
        stream
    };
    let newest = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers =
        "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: execute\r\n";
    let streams =
        [begin(json!({}), ""), begin(json!({ "progressToken": 1 }), ""), begin(newest, headers)];
    let stays = begin(json!({}), "");
    reaches(&daemon.puppet.begun, 4);
    for (gone, stream) in streams.into_iter().enumerate() {
        stream.shutdown(Shutdown::Both).unwrap();
        drop(stream);
        reaches(&daemon.puppet.cancelled, gone + 1);
    }
    assert_eq!(daemon.call("/a", "still here").text(), "still here");
    assert_eq!(daemon.puppet.cancelled.load(Ordering::SeqCst), 3);
    drop(stays);
    reaches(&daemon.puppet.cancelled, 4);
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_streams_before_the_answer() {
    let daemon = Daemon::start(TIMES);
    let message = call("progress", json!({ "progressToken": "p" }));
    let answer = daemon.post("x-quietcontext-root: /a\r\n", &message);
    assert!(answer.head.contains("text/event-stream"), "{answer:?}");
    let lines = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
    let events: Vec<Value> =
        lines.filter_map(|line| serde_json::from_str(line.trim()).ok()).collect();
    let done: Vec<_> = events.iter().filter_map(|it| it["params"]["progress"].as_f64()).collect();
    assert_eq!(done, [1.0, 2.0, 3.0], "{answer:?}");
    assert_eq!(events.last().unwrap()["result"]["content"][0]["text"], "done");
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_over_http_is_the_answer_of_its_own_call_only() {
    let daemon = Daemon::start(TIMES);
    let answer = daemon.call("/a", "panic");
    assert_eq!(answer.json()["result"]["isError"], true);
    assert!(answer.text().contains("failed inside the server"), "{answer:?}");
    assert_eq!(daemon.call("/a", "on").text(), "on");
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_lets_answers_finish_and_stops_what_does_not() {
    let times =
        Times { finish: Duration::from_millis(200), settle: Duration::from_millis(100), ..TIMES };
    let daemon = Daemon::start(times);
    let mut stream = daemon.connect();
    let message = call("wait", json!({})).to_string();
    stream.write_all(&daemon.request("x-quietcontext-root: /a\r\n", message.as_bytes())).unwrap();
    reaches(&daemon.puppet.begun, 1);
    let address = daemon.address;
    let started = Instant::now();
    let puppet = daemon.end().await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(puppet.stopped.load(Ordering::SeqCst));
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_uses_is_closed_and_then_nothing_waits() {
    let daemon = Daemon::start(Times { idle: Duration::from_millis(20), ..TIMES });
    assert_eq!(daemon.puppet.rested.load(Ordering::SeqCst), 0);
    daemon.call("/a", "x");
    // Once while something is open, once when nothing is, and once more for a call in between.
    reaches(&daemon.puppet.rested, 3);
    daemon.call("/a", "x");
    reaches(&daemon.puppet.rested, 5);
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_burst_needed_is_given_back_once_it_is_over() {
    let daemon = Daemon::start(TIMES);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for _ in 0..127 {
        daemon.post("", &ping);
    }
    assert_eq!(daemon.puppet.rested.load(Ordering::SeqCst), 0, "not for a few");
    daemon.post("", &ping);
    reaches(&daemon.puppet.rested, 1);
    daemon.end().await;
}
