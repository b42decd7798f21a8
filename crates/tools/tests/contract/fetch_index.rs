//! Fetches, against servers the tests start on loopback.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::support::Workspace;

/// Serves `respond(path, hit)` for every request; the thread ends with the process.
fn serve(respond: impl Fn(&str, usize) -> String + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let hits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&hits);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4_096];
            while !request.windows(4).any(|w| w == b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(n) if n > 0 => request.extend_from_slice(&buffer[..n]),
                    _ => break,
                }
            }
            let text = String::from_utf8_lossy(&request);
            let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
            let hit = counted.fetch_add(1, Ordering::SeqCst) + 1;
            drop(stream.write_all(respond(&path, hit).as_bytes()));
        }
    });
    (host, hits)
}

fn page(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

const ARTICLE: &str = "<html><head><title>Zebras</title></head><body><main><h1>Zebras</h1><p>The striped animal eats grass in the wide savanna all day long.</p></main></body></html>";

#[test]
fn a_page_is_indexed_and_answered_in_one_line_without_its_text() {
    let (host, _) = serve(|_, _| page("200 OK", "text/html", ARTICLE));
    let w = Workspace::allowing(std::slice::from_ref(&host));
    let text = w.ok("fetch-index", json!({"url": format!("http://{host}/z")}));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.starts_with(&format!("http://{host}/z · text/html · ")) && text.contains(" · r:"),
        "{text}"
    );
    assert!(!text.contains("savanna"));
    let found = w.ok("search", json!({"queries": ["striped savanna"], "preview": true}));
    assert!(found.contains("eats grass"), "{found}");
}

/// F-065.
#[test]
fn the_cache_is_visible_and_force_replaces() {
    let (host, hits) = serve(|_, hit| {
        page("200 OK", "text/plain", ["alpha edition\n", "omega edition\n"][hit - 1])
    });
    let w = Workspace::allowing(std::slice::from_ref(&host));
    let url = format!("http://{host}/c");
    w.ok("fetch-index", json!({"url": url}));
    assert!(w.ok("fetch-index", json!({"url": url})).contains("cached"));
    assert_eq!(hits.load(Ordering::SeqCst), 1);
    w.ok("fetch-index", json!({"url": url, "force": true}));
    assert_eq!(hits.load(Ordering::SeqCst), 2);
    assert!(w.ok("search", json!({"queries": ["alpha"]})).contains("no match"));
    assert!(w.ok("search", json!({"queries": ["omega"]})).contains("[r:"));
}

#[test]
fn private_addresses_are_refused_and_the_refusal_says_how() {
    let (host, hits) = serve(|_, _| page("200 OK", "text/plain", "x"));
    let w = Workspace::new();
    let error = w.error("fetch-index", json!({"url": format!("http://{host}/")}));
    assert!(error.contains("refused") && error.contains("fetch.allow"), "{error}");
    for url in [
        "http://169.254.169.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://2130706433/",
        "file:///etc/passwd",
        "http://user:pw@example.invalid/",
        "not a url",
    ] {
        let error = w.error("fetch-index", json!({"url": url}));
        assert!(!error.contains("pw@"), "{error}");
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[test]
fn one_failing_url_affects_no_other_and_the_order_is_kept() {
    let (host, _) = serve(|path, _| match path {
        "/missing" => page("404 Not Found", "text/html", "<p>a long error body about giraffes</p>"),
        _ => page("200 OK", "text/plain", "good text\n"),
    });
    let w = Workspace::allowing(std::slice::from_ref(&host));
    let text = w.ok("fetch-index", json!({"requests": [
        {"url": format!("http://{host}/a")}, {"url": format!("http://{host}/missing")}, {"url": format!("http://{host}/b"), "source": "named"}]}));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("/a · text/plain"), "{text}");
    assert!(lines[1].starts_with("error: ") && lines[1].contains("status 404"), "{text}");
    assert!(lines[2].contains("as named"), "{text}");
    assert!(w.ok("search", json!({"queries": ["giraffes"]})).contains("no match"));
}

#[test]
fn fifty_urls_are_all_reported() {
    let (host, hits) = serve(|path, _| page("200 OK", "text/plain", &format!("text of {path}\n")));
    let w = Workspace::allowing(std::slice::from_ref(&host));
    let mut requests: Vec<_> = (0..50)
        .map(|i| json!({"url": format!("http://{host}/a-rather-long-path-for-a-page-number-{i}")}))
        .collect();
    requests.push(requests[0].clone());
    let text = w.ok("fetch-index", json!({"requests": requests, "concurrency": 8}));
    assert_eq!(hits.load(Ordering::SeqCst), 50, "the same URL is fetched once");
    let list = w.read_all(&crate::support::reference(&text), 8_192);
    assert_eq!(list.lines().count(), 51, "{text}");
}

#[test]
fn pages_under_one_source_stay_apart_and_a_page_that_gives_way_is_said() {
    let (host, _) = serve(|path, _| page("200 OK", "text/plain", &format!("text of {path}\n")));
    let w = Workspace::allowing(std::slice::from_ref(&host));
    let under = |path: &str| json!({"url": format!("http://{host}{path}"), "source": "docs"});
    let requests = json!({"requests": [under("/a"), under("/b"), under("/a")]});
    let text = w.ok("fetch-index", requests.clone());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with(" · as docs") && lines[1].ends_with(" · as docs#2"), "{text}");
    assert_eq!(lines[0], lines[2]);
    for (line, page) in [(lines[0], "text of /a\n"), (lines[1], "text of /b\n")] {
        assert_eq!(w.read_all(&crate::support::reference(line), 8_192), page);
    }
    let again = w.ok("fetch-index", requests);
    assert!(!again.contains("replaced"), "{again}");
    let other = w.ok("fetch-index", under("/c"));
    assert!(other.ends_with(" · as docs · replaced"), "{other}");
}
