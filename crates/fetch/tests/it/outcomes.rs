//! What comes back for which status, type and header.

use std::time::Duration;

use quietcontext_fetch::{FetchError, Outcome, PageKind, Validators};

use super::server::{Reply, Server, fetch, fetch_with, fetcher, ok, page_of, response};

async fn status_of(bytes: Vec<u8>) -> (u16, &'static str, Option<Duration>, usize) {
    let server = Server::start(move |_, _| Reply::Bytes(bytes.clone())).await;
    match fetch(&fetcher(&[&server]), &server.url("/x")).await {
        Ok(Outcome::Status { code, reason, final_url, retry_after }) => {
            assert_eq!(final_url, server.url("/x"));
            (code, reason, retry_after, server.hits())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn other_statuses_are_no_content_and_asked_once() {
    let body = "<h1>Sorry</h1><p>A long page about what went wrong.</p>".repeat(50);
    for (head, code, reason) in [
        ("401 Nope", 401, "Unauthorized"),
        ("403 Forbidden", 403, "Forbidden"),
        ("404 Gone fishing", 404, "Not Found"),
        ("410 Gone", 410, "Gone"),
        ("500 Oops", 500, "Internal Server Error"),
        ("302 No Location", 302, "Found"),
        ("304 Not Modified", 304, "Not Modified"),
        ("206 Partial Content", 206, "Partial Content"),
    ] {
        let head = format!("{head}\nContent-Type: text/html");
        let body = if code == 304 { "" } else { body.as_str() };
        assert_eq!(status_of(response(&head, body)).await, (code, reason, None, 1));
    }
    assert_eq!(
        status_of(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".to_vec()).await,
        (204, "No Content", None, 1)
    );
}

#[tokio::test]
async fn a_wait_asked_for_is_reported_at_once() {
    let hour = Some(Duration::from_hours(1));
    for head in ["429 Slow down\nRetry-After: 3600", "503 Busy\nRetry-After: 3600"] {
        let (code, _, wait, hits) = status_of(response(head, "")).await;
        assert_eq!((wait, hits), (hour, 1), "{code}");
    }
}

#[tokio::test]
async fn a_busy_server_is_asked_once_more() {
    let server = Server::start(|number, _| {
        Reply::Bytes(match number {
            0 => response("503 Busy", ""),
            _ => ok("text/plain", "here it is"),
        })
    })
    .await;
    let outcome = fetch(&fetcher(&[&server]), &server.url("/")).await;
    assert!(matches!(outcome, Ok(Outcome::Page(page)) if page.text == "here it is"));
    assert_eq!(server.hits(), 2);
    assert_eq!(status_of(response("503 Busy", "")).await.3, 2);
}

#[tokio::test]
async fn a_reset_connection_is_tried_once_more() {
    let server = Server::start(|number, _| match number {
        0 => Reply::Reset,
        _ => Reply::Bytes(ok("text/plain", "here it is")),
    })
    .await;
    let outcome = fetch(&fetcher(&[&server]), &server.url("/")).await;
    assert!(matches!(outcome, Ok(Outcome::Page(_))), "{outcome:?}");
    let never = Server::start(|_, _| Reply::Reset).await;
    let outcome = fetch(&fetcher(&[&never]), &never.url("/")).await;
    assert!(matches!(outcome, Err(FetchError::Broken { .. })), "{outcome:?}");
    assert_eq!(never.hits(), 2);
}

#[tokio::test]
async fn validators_make_the_request_conditional() {
    let server = Server::start(|_, head| {
        let head = head.to_ascii_lowercase();
        Reply::Bytes(if head.contains("if-none-match: \"v1\"") {
            assert!(head.contains("if-modified-since: sun, 06 nov 1994 08:49:37 gmt"));
            response("304 Not Modified", "")
        } else {
            let head = "200 OK\nContent-Type: text/plain\nETag: \"v1\"\n\
                        Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT";
            response(head, "first")
        })
    })
    .await;
    let fetcher = fetcher(&[&server]);
    let Ok(Outcome::Page(page)) = fetch(&fetcher, &server.url("/p")).await else { panic!() };
    let validators = Validators { etag: page.etag, last_modified: page.last_modified };
    assert_eq!(validators.etag.as_deref(), Some("\"v1\""));
    let again = fetch_with(&fetcher, &server.url("/p"), Some(validators)).await;
    assert!(
        matches!(again, Ok(Outcome::NotModified { final_url }) if final_url == server.url("/p"))
    );
}

#[tokio::test]
async fn the_request_is_plain_and_keeps_no_cookies() {
    let server = Server::start(|_, head| {
        Reply::Bytes(if head.starts_with("GET /start?q=1 ") {
            response("302 Found\nLocation: /end#part\nSet-Cookie: session=1", "")
        } else {
            ok("text/plain", "the end of it")
        })
    })
    .await;
    let url = server.url("/start?q=1#here");
    let Ok(Outcome::Page(page)) = fetch(&fetcher(&[&server]), &url).await else { panic!() };
    assert_eq!(page.url, server.url("/start?q=1"));
    assert_eq!(page.final_url, server.url("/end"));
    let heads = server.heads();
    assert!(heads[1].starts_with("GET /end HTTP/1.1\r\n"), "{}", heads[1]);
    for head in heads.iter().map(|head| head.to_ascii_lowercase()) {
        assert!(head.contains("\r\nuser-agent: quietcontext/"), "{head}");
        for absent in ["cookie:", "referer:", "authorization:", "content-length:"] {
            assert!(!head.contains(absent), "{head}");
        }
    }
}

#[tokio::test]
async fn every_text_type_has_its_kind_and_name() {
    for (content_type, path, body, kind, name) in [
        ("text/html; charset=utf-8", "/", "<h1>Hi</h1>", PageKind::Html, "page.md"),
        ("application/xhtml+xml", "/a.xhtml", "<h1>Hi</h1>", PageKind::Html, "page.md"),
        ("text/markdown", "/x", "# Hi", PageKind::Markdown, "page.md"),
        ("text/plain", "/docs/README.md", "# Hi", PageKind::Markdown, "page.md"),
        ("text/plain", "/llms.txt", "# Hi", PageKind::Markdown, "page.md"),
        ("application/json", "/api", "{\"a\":1}", PageKind::Json, "page.json"),
        ("application/problem+json", "/api", "{}", PageKind::Json, "page.json"),
        ("application/x-ndjson", "/log", "{}\n{}", PageKind::Json, "page.ndjson"),
        ("text/csv", "/t", "a,b", PageKind::Csv, "page.csv"),
        ("text/plain", "/t.tsv", "a\tb", PageKind::Csv, "page.tsv"),
        ("application/rss+xml", "/feed", "<rss/>", PageKind::Xml, "page.xml"),
        ("text/plain", "/src/main.rs", "fn main() {}", PageKind::Text, "main.rs"),
        ("application/javascript", "/x", "let a;", PageKind::Text, "page.js"),
        ("application/octet-stream", "/a.toml", "[a]", PageKind::Text, "a.toml"),
        ("", "/notes", "just notes", PageKind::Text, "page.txt"),
        ("nonsense", "/notes", "just notes", PageKind::Text, "page.txt"),
    ] {
        let bytes =
            if content_type.is_empty() { response("200 OK", body) } else { ok(content_type, body) };
        let server = Server::start(move |_, _| Reply::Bytes(bytes.clone())).await;
        let Ok(Outcome::Page(page)) = fetch(&fetcher(&[&server]), &server.url(path)).await else {
            panic!("{content_type} {path}")
        };
        assert_eq!((page.kind, page.name_hint.as_str()), (kind, name), "{content_type} {path}");
        if kind != PageKind::Html {
            assert_eq!(page.text, body);
        }
        assert_eq!(page.body_bytes, body.len() as u64);
    }
}

#[tokio::test]
async fn what_is_not_text_is_named_and_refused() {
    for (content_type, body, said) in [
        ("image/png", &b"\x89PNG\r\n\x1a\n...."[..], "not text: image/png, nothing indexed"),
        ("text/html", b"\x89PNG\r\n\x1a\n....", "not text: image/png (sent as text/html)"),
        ("application/zip", b"PK\x03\x04", "not text: application/zip"),
        ("application/octet-stream", b"PK\x03\x04", "not text: application/zip (sent as appl"),
        ("text/plain", b"abc\x00def", "not text: binary data (sent as text/plain)"),
        ("application/x-thing", b"\x01\x02\x03\x04\x05", "not text: binary data (sent as appl"),
        ("video/mp4", b"x", "not text: video/mp4"),
    ] {
        let line = page_of(ok(content_type, body)).await.unwrap_err().to_string();
        assert!(line.starts_with(said), "{content_type}: {line}");
    }
}

#[tokio::test]
async fn a_pdf_is_handed_over_as_it_came() {
    for (content_type, notes) in [
        ("application/pdf", vec![]),
        ("application/octet-stream", vec!["sent as application/octet-stream, read as pdf"]),
    ] {
        let page = page_of(ok(content_type, b"%PDF-1.7 ...")).await.unwrap();
        assert_eq!(page.pdf.as_deref(), Some(&b"%PDF-1.7 ..."[..]));
        assert_eq!((page.kind, page.text.as_str()), (PageKind::Pdf, ""));
        assert_eq!(
            (page.content_type.as_str(), page.notes),
            ("application/pdf", notes.into_iter().map(String::from).collect())
        );
    }
    let html = "<!DOCTYPE html><p>Log in to read the document.</p>";
    let page = page_of(ok("application/pdf", html)).await.unwrap();
    assert_eq!((page.kind, page.pdf), (PageKind::Html, None));
}

#[tokio::test]
async fn lies_about_the_type_are_noticed() {
    let html = "<!DOCTYPE html><title>T</title><h1>Head</h1><p>A paragraph of text that is long \
                enough to count as a page, with a second sentence to be sure of it. And one more, \
                because the measure for almost no text is 160 bytes without blanks.</p>";
    for (content_type, body, kind, note) in [
        ("text/plain", html, PageKind::Html, "sent as text/plain, read as html"),
        ("application/json", html, PageKind::Html, "sent as application/json, read as html"),
        ("text/html", "{\"a\": 1}", PageKind::Json, "sent as text/html, read as json"),
    ] {
        let page = page_of(ok(content_type, body)).await.unwrap();
        assert_eq!((page.kind, page.notes), (kind, vec![note.to_owned()]), "{content_type}");
    }
    let page = page_of(ok("text/html", "no tags, just { words }")).await.unwrap();
    assert_eq!(page.kind, PageKind::Html);
}

#[tokio::test]
async fn pages_without_text_say_why() {
    let shell = "<!doctype html><title>App</title><div id=root></div>\
                 <noscript>You need to enable JavaScript to run this app.</noscript>"
        .to_owned()
        + &"<script src=/static/js/main.js></script>".repeat(50);
    for (body, notes, text) in [
        ("", "empty page", ""),
        ("<html><body>  </body></html>", "empty page", ""),
        ("<p>OK</p>", "almost no text", "OK"),
        (
            shell.as_str(),
            "almost no text: an application shell that needs JavaScript",
            "You need to enable JavaScript to run this app.",
        ),
        (
            "<meta http-equiv=refresh content='0; url=https://next.example/here'>",
            "almost no text: the page sends its reader on to https://next.example/here",
            "",
        ),
        (
            "<frameset><frame src='https://a.example/menu'><frame src='javascript:x'></frameset>",
            "almost no text: the page is made of frames, listed in it",
            "https://a.example/menu",
        ),
    ] {
        let page = page_of(ok("text/html", body)).await.unwrap();
        assert_eq!((page.notes, page.text.as_str()), (vec![notes.to_owned()], text), "{body}");
    }
    let page = page_of(ok("text/plain", " \n")).await.unwrap();
    assert_eq!(page.notes, ["empty page"]);
}
