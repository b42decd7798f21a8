//! Bombs, slow servers, liars: every limit has its reason in the error.

use std::{
    io::{Read as _, Write as _},
    time::{Duration, Instant},
};

use quietcontext_fetch::{FetchConfig, FetchError, Fetcher, Limits, Outcome, Request, Step};

use super::server::{Names, Reply, Server, config, fetch, fetcher, ok, page_of, quick, response};

async fn error_of(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (FetchError, usize) {
    let server = Server::start(move |_, _| reply()).await;
    let begun = Instant::now();
    let error = fetch(&fetcher(&[&server]), &server.url("/")).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(10), "{error}");
    (error, server.hits())
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";

#[tokio::test]
async fn slow_servers_are_named_by_the_step_that_did_not_end() {
    let closed = format!("{HEAD}Connection: close\r\n\r\n");
    for (bytes, step) in [
        (String::new(), Step::Headers),
        (HEAD.to_owned(), Step::Headers),
        (format!("{HEAD}Content-Length: 100\r\n\r\nbegin"), Step::Body),
        (format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n"), Step::Body),
        (closed, Step::Body),
    ] {
        let reply = bytes.clone();
        let (error, hits) = error_of(move || Reply::Stall(reply.clone().into_bytes())).await;
        assert!(
            matches!(error, FetchError::Timeout { step: found, .. } if found == step),
            "{error}"
        );
        assert_eq!(hits, 1);
    }
}

#[tokio::test]
async fn the_deadline_ends_everything() {
    let server = Server::start(|_, _| Reply::Stall(Vec::new())).await;
    let config = FetchConfig { limits: Limits::default(), ..config(&[&server.name()]) };
    let fetcher = Fetcher::new(config, Names::new(&[]));
    let url = server.url("/");
    for wait in [0, 200] {
        let begun = Instant::now();
        let deadline = begun + Duration::from_millis(wait);
        let request = Request { url: &url, validators: None, deadline };
        let error = fetcher.fetch(&request).await.unwrap_err();
        assert!(matches!(error, FetchError::Timeout { step: Step::Deadline, .. }), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_dropped_fetch_closes_its_connection() {
    let server = Server::start(|_, _| Reply::Stall(Vec::new())).await;
    let config = FetchConfig { limits: Limits::default(), ..config(&[&server.name()]) };
    let fetcher = Fetcher::new(config, Names::new(&[]));
    let url = server.url("/");
    let fetching = fetch(&fetcher, &url);
    tokio::select! {
        outcome = fetching => panic!("{outcome:?}"),
        () = until(|| server.heads().len() == 1) => {}
    }
    until(|| server.gone() == 1).await;
}

/// Waits for a condition, at most five seconds.
async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("the condition holds");
}

#[tokio::test]
async fn endless_bodies_end_at_the_wire_cap() {
    let piece = vec![b'x'; 1 << 16];
    let open = format!("{HEAD}Connection: close\r\n\r\n").into_bytes();
    let again = piece.clone();
    let (error, _) = error_of(move || Reply::Endless(open.clone(), again.clone())).await;
    assert_eq!(error.to_string(), "too large: the body exceeds 20971520 bytes");
    let chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    let chunk = [b"10000\r\n".as_slice(), &piece, b"\r\n"].concat();
    let (error, _) = error_of(move || Reply::Endless(chunked.clone(), chunk.clone())).await;
    assert_eq!(error.to_string(), "too large: the body exceeds 20971520 bytes");
}

fn gzip_of_zeros(mebibytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..mebibytes {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    encoder.finish().unwrap()
}

#[tokio::test]
async fn bombs_stop_at_the_unpacked_cap() {
    let brotli: &[u8] = include_bytes!("../data/zeros-64-mib.br");
    let zstd = zstd::encode_all(std::io::repeat(0).take(60 << 20), 1).unwrap();
    for (coding, bomb) in [("gzip", gzip_of_zeros(60)), ("br", brotli.to_vec()), ("zstd", zstd)] {
        let head = format!("200 OK\nContent-Type: text/html\nContent-Encoding: {coding}");
        let bytes = response(&head, bomb);
        assert!(bytes.len() < 1 << 20, "{coding} is small on the wire");
        let error = page_of(bytes).await.unwrap_err();
        assert_eq!(error.to_string(), "too large: the unpacked body exceeds 52428800 bytes");
    }
}

#[tokio::test]
async fn content_length_is_checked_and_not_believed() {
    let (error, hits) = error_of(|| {
        Reply::Stall(format!("{HEAD}Content-Length: 99999999999\r\n\r\n").into_bytes())
    })
    .await;
    assert!(matches!(error, FetchError::TooLarge { what: "body", .. }), "{error}");
    assert_eq!(hits, 1);
    let short = format!("{HEAD}Content-Length: 100\r\n\r\nonly this").into_bytes();
    let (error, hits) = error_of(move || Reply::Bytes(short.clone())).await;
    assert!(error.to_string().ends_with("the connection closed before the end"), "{error}");
    assert_eq!(hits, 1, "a body that broke off is not asked for again");
    let long = format!("{HEAD}Content-Length: 4\r\n\r\nthis and more").into_bytes();
    assert_eq!(page_of(long).await.unwrap().text, "this");
}

#[tokio::test]
async fn heads_have_a_limit_in_every_form() {
    for header in [
        format!("X-Long: {}\r\n", "x".repeat(1 << 20)),
        "Set-Cookie: a=b\r\n".repeat(1000),
        format!("X-Part: {}\r\n", "x".repeat(8000)).repeat(10),
    ] {
        let bytes = format!("{HEAD}{header}Content-Length: 2\r\n\r\nhi").into_bytes();
        let (error, hits) = error_of(move || Reply::Bytes(bytes.clone())).await;
        assert_eq!(error.to_string(), "too large: the response header exceeds 65536 bytes");
        assert_eq!(hits, 1);
    }
    let header = format!("X-Part: {}\r\n", "x".repeat(6000)).repeat(10);
    let bytes = format!("{HEAD}{header}Content-Length: 2\r\n\r\nhi").into_bytes();
    assert_eq!(page_of(bytes).await.unwrap().text, "hi");
}

#[tokio::test]
async fn what_is_not_http_and_damaged_bodies_say_so() {
    let (error, _) = error_of(|| Reply::Bytes(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec())).await;
    assert!(error.to_string().ends_with("it is not HTTP"), "{error}");
    for (coding, body, said) in [
        ("gzip", &b"not gzip at all, sorry"[..], "its compressed body is damaged"),
        ("br", b"\xff\xff\xff\xff\xff", "its compressed body is damaged"),
        ("gzip, gzip", b"x", "its content coding is not one that was asked for"),
        ("compress", b"x", "its content coding is not one that was asked for"),
    ] {
        let head = format!("200 OK\nContent-Type: text/plain\nContent-Encoding: {coding}");
        let line = page_of(response(&head, body)).await.unwrap_err().to_string();
        assert!(line.contains(said), "{coding}: {line}");
    }
}

#[tokio::test]
async fn a_redirect_does_not_read_the_body_that_comes_with_it() {
    let server = Server::start(|_, head| {
        if head.starts_with("GET /next") {
            return Reply::Bytes(ok("text/plain", "arrived"));
        }
        let open = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nConnection: close\r\n\r\n";
        Reply::Endless(open.to_vec(), vec![b'x'; 1 << 16])
    })
    .await;
    let outcome = fetch(&fetcher(&[&server]), &server.url("/")).await;
    assert!(matches!(outcome, Ok(Outcome::Page(page)) if page.wire_bytes == 7));
}

#[test]
fn building_a_fetcher_needs_no_runtime() {
    let config = FetchConfig { limits: quick(), ..FetchConfig::default() };
    assert!(format!("{:?}", Fetcher::new(config, Names::new(&[]))).starts_with("Fetcher"));
}
