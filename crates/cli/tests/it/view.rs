//! The page for looking, asked as a browser does and as one does who has no business there.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::harness::{PATIENCE, World, files, wait_until};

/// A running `view`.
struct View {
    child: Child,
    port: u16,
    /// `/TOKEN/`.
    base: String,
}

impl View {
    fn start(world: &World) -> Self {
        let mut command = world.command(&["view"]);
        // There is a desktop, but nobody looks: no browser is started.
        command.env("DISPLAY", ":0").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest =
            line.trim_end().strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{line}"));
        let (port, path) = rest.split_once('/').unwrap();
        Self { child, port: port.parse().unwrap(), base: format!("/{path}") }
    }

    /// The status, the head and the body of an answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    /// A page that is there.
    fn page(&self, path: &str) -> String {
        let (status, _, body) = self.ask("GET", &format!("{}{path}", self.base), "127.0.0.1");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// A chunk's number in an answer.
fn reference(text: &str) -> &str {
    let rest = text.split("r:").nth(1).unwrap();
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap()
}

#[test]
fn sources_documents_searches_and_calls_are_shown() {
    let world = World::new();
    let lines: Vec<String> =
        (1..=4_000).map(|i| format!("line {i} is about the zanzibar job no {i}")).collect();
    fs::write(world.work().join("big.log"), lines.join("\n")).unwrap();
    let mut server = world.serve();
    let indexed = server.call("index", json!({ "path": "big.log" })).text;
    let first: u64 = reference(&indexed).parse().unwrap();
    let last: u64 = indexed.rsplit('-').next().unwrap().trim().parse().unwrap();
    server.shell("exit 3");
    let view = View::start(&world);

    let overview = view.page("");
    assert!(overview.contains("big.log") && overview.contains("exit 3"), "{overview}");
    let sources = view.page("sources?part=BIG");
    assert!(sources.contains(&format!("document?r={first}\">big.log")), "{sources}");
    assert!(view.page("sources?part=none").contains("Nothing is stored here"));

    // Every line is on one of the pages, with its number, and each page leads to the next.
    let (mut at, mut seen) = (first, String::new());
    while at <= last {
        let page = view.page(&format!("document?r={at}"));
        seen.push_str(&page);
        let next = page.split("rel=\"next\" href=\"document?r=").nth(1);
        let Some(next) = next.map(|rest| rest.split('"').next().unwrap().parse().unwrap()) else {
            break;
        };
        assert!(next > at);
        at = next;
    }
    for wanted in ["line 1 is", "line 2000 is", "line 4000 is", "\n2000\n", "\n4000\n"] {
        assert!(seen.contains(wanted), "{wanted}");
    }
    assert_eq!(seen.matches("<section class=\"chunk\"").count() as u64, last - first + 1);

    let agents =
        server.call("search", json!({ "queries": ["zanzibar 2000"], "preview": true })).text;
    let calls = view.page("calls");
    let search = view.page("search?q=zanzibar+2000");
    let shown = search.split("<pre class=\"answer\" tabindex=\"0\">").nth(1).unwrap();
    let shown = shown.split("</pre>").next().unwrap();
    assert_eq!(shown, agents, "what an agent sees is shown byte for byte");
    assert!(search.contains("<mark>zanzibar</mark>"), "the passages are beside it");
    assert_eq!(view.page("calls"), calls, "looking is no call");
    assert!(calls.contains("zanzibar 2000"), "{calls}");
    assert!(view.page("calls?tool=execute").contains("exit 3"));
    assert!(!view.page("calls?tool=execute").contains("zanzibar"));
}

#[test]
fn who_has_no_business_there_learns_nothing() {
    let world = World::new();
    world.run(&["call", "index", r#"{"content":"private text","source":"secret"}"#]);
    let view = View::start(&world);
    let base = view.base.clone();
    let mut wrong = base.clone();
    wrong.replace_range(1..2, if base.starts_with("/0") { "1" } else { "0" });
    for (method, path, host, status) in [
        ("GET", "/", "127.0.0.1", 404),
        ("GET", wrong.as_str(), "127.0.0.1", 404),
        ("GET", "/sources", "127.0.0.1", 404),
        ("GET", &base, "evil.example", 403),
        ("GET", &base, "127.0.0.1.evil.example", 403),
        ("GET", "http://evil.example/", "127.0.0.1", 403),
        ("POST", &base, "127.0.0.1", 405),
        ("DELETE", &base, "127.0.0.1", 405),
        ("GET", &format!("{base}nothing"), "127.0.0.1", 404),
        ("GET", &format!("{base}../{base}"), "127.0.0.1", 404),
        ("GET", &format!("{base}document?r=x"), "localhost", 404),
        ("GET", &format!("{base}document?r=99999999999999999999"), "localhost", 404),
        ("GET", &format!("{base}calls?page=18446744073709551615"), "localhost", 200),
        ("GET", &base, "localhost:9", 200),
        ("HEAD", &base, "127.0.0.1", 200),
    ] {
        let (got, head, body) = view.ask(method, path, host);
        assert_eq!(got, status, "{method} {path} {host}: {body}");
        assert!(head.contains("default-src 'none'") && head.contains("no-store"), "{head}");
        if status != 200 || method == "HEAD" {
            assert!(!body.contains("secret"), "{body}");
        }
        if method == "HEAD" {
            assert_eq!(body, "");
        }
    }
}

#[test]
fn stored_text_is_never_markup() {
    let world = World::new();
    let mut server = world.serve();
    let hostile =
        "<script>alert('zanzibar')</script>\n<img src=x onerror=alert(1)> \u{202e}gpj.exe\n";
    let label = "\"><svg onload=alert(2)>\u{202e}";
    let stored = server.call("index", json!({ "content": hostile, "source": label })).text;
    server.shell("printf x # <script>alert(3)</script>");
    let view = View::start(&world);
    let number = reference(&stored);
    for path in [
        String::new(),
        "sources".to_owned(),
        "sources?part=%22%3E%3Cscript%3E".to_owned(),
        "calls".to_owned(),
        "calls?tool=%22%3E%3Cscript%3E".to_owned(),
        format!("document?r={number}"),
        "search?q=zanzibar".to_owned(),
        "search?q=%3Cscript%3Ealert(4)%3C/script%3E&source=%22%3E%3Cscript%3E".to_owned(),
    ] {
        let (_, _, page) = view.ask("GET", &format!("{}{path}", view.base), "localhost");
        let lower = page.to_ascii_lowercase();
        for markup in ["<script", "<img src=x", "<svg onload", "\u{202e}"] {
            assert!(!lower.contains(markup), "{path}: {page}");
        }
    }
    let page = view.page(&format!("document?r={number}"));
    assert!(page.contains("&lt;script&gt;alert(&#39;") && page.contains("⟨U+202E⟩"), "{page}");
}

#[test]
fn it_ends_when_it_is_interrupted_and_leaves_nothing() {
    let world = World::new();
    let mut view = View::start(&world);
    view.page("");
    kill_process(Pid::from_child(&view.child), Signal::INT).unwrap();
    wait_until(PATIENCE, || view.child.try_wait().unwrap().is_some()).unwrap();
    assert_eq!(view.child.wait().unwrap().code(), Some(0));
    let mut errors = String::new();
    view.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
    let names = files(&world.path("home/.local/share/quietcontext"));
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("view")), "{names:?}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = world.run(&["view", "--port", &port]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains(&format!("port {port} of 127.0.0.1 cannot be used")));
}
