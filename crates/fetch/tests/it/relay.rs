//! The operator's proxy and how many fetches one host gets, against stand-ins.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use quietcontext_fetch::{Fetcher, OutboundProxy, Outcome};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::Barrier,
};

use crate::server::{Names, Reply, Server, config, fetch, fetcher, ok, response};
use crate::tls::{authority, serve};

/// A proxy that leads every tunnel to one port here, or answers `refusal`.
async fn proxy(
    port: u16,
    refusal: Option<&'static str>,
) -> (OutboundProxy, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://ada:secret@{}", listener.local_addr().unwrap());
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = client.read_u8().await else { break };
                head.push(byte);
            }
            seen.lock().unwrap().push(String::from_utf8(head).unwrap());
            let answer = refusal.unwrap_or("HTTP/1.1 200 Connection established\r\n\r\n");
            client.write_all(answer.as_bytes()).await.unwrap();
            if refusal.is_none() {
                let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
            }
        }
    });
    (OutboundProxy::parse(&url).unwrap(), heads)
}

const PUBLIC: &str = "93.184.216.34";

#[tokio::test]
async fn the_proxy_is_told_the_checked_address_and_the_guard_holds() {
    let server = Server::start(|_, head| {
        Reply::Bytes(match head.split(' ').nth(1) {
            Some("/metadata") => response("302 Found\nLocation: http://169.254.169.254/latest", ""),
            Some("/private") => response("302 Found\nLocation: http://inside.example/", ""),
            _ => ok("text/plain", "through the proxy\n"),
        })
    })
    .await;
    let (proxy, heads) = proxy(server.port, None).await;
    let mut settings = config(&["localhost:1"]);
    settings.proxy = Some(proxy);
    let names = Names::new(&[
        // A second lookup would lead to this machine.
        ("docs.example", &[&[PUBLIC], &["127.0.0.1"]]),
        ("again.example", &[&[PUBLIC]]),
        ("inside.example", &[&["10.0.0.1"]]),
    ]);
    let fetcher = Fetcher::new(settings, names.clone());
    let Outcome::Page(page) = fetch(&fetcher, "http://docs.example/a").await.unwrap() else {
        panic!("no page")
    };
    assert_eq!((page.text.as_str(), names.lookups()), ("through the proxy\n", 1));
    let head = heads.lock().unwrap().concat();
    assert!(head.starts_with(&format!("CONNECT {PUBLIC}:80 HTTP/1.1\r\n")), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic YWRhOnNlY3JldA==\r\n"), "{head}");
    // What the server sees is the request for the name, and nothing of the proxy.
    let request = server.heads().concat().to_lowercase();
    assert!(request.contains("host: docs.example\r\n") && !request.contains("proxy"), "{request}");
    for (url, want) in [
        ("http://inside.example/", "refused: inside.example:80 resolves to"),
        ("http://again.example/private", "refused: inside.example:80 resolves to"),
        ("http://again.example/metadata", "refused: 169.254.169.254:80 is"),
        ("http://127.0.0.1/", "refused: 127.0.0.1:80 is"),
        ("http://93.184.216.34/", "refused: 93.184.216.34:80 is an address, and through the proxy"),
    ] {
        let error = fetch(&fetcher, url).await.unwrap_err().to_string();
        assert!(error.starts_with(want), "{error}");
    }
    let asked = heads.lock().unwrap().concat();
    assert!(asked.matches("CONNECT").count() == asked.matches(PUBLIC).count() / 2, "{asked}");
}

/// TLS goes through the tunnel to the host that was asked for: the proxy can lead elsewhere, and is noticed.
#[tokio::test]
async fn the_certificate_is_checked_through_the_proxy() {
    let own = authority();
    let port = serve(&own, "docs.example", ok("text/plain", "over TLS\n")).await;
    let (proxy, heads) = proxy(port, None).await;
    let mut settings = config(&[]);
    settings.proxy = Some(proxy);
    settings.extra_roots = vec![own.der.clone()];
    let names = Names::new(&[("docs.example", &[&[PUBLIC]]), ("other.example", &[&[PUBLIC]])]);
    let fetcher = Fetcher::new(settings, names);
    let Outcome::Page(page) = fetch(&fetcher, "https://docs.example/a").await.unwrap() else {
        panic!("no page")
    };
    assert_eq!(page.text, "over TLS\n");
    let head = heads.lock().unwrap().concat();
    assert!(head.starts_with(&format!("CONNECT {PUBLIC}:443 HTTP/1.1\r\n")), "{head}");
    assert!(!head.contains("docs.example"), "{head}");
    let error = fetch(&fetcher, "https://other.example/").await.unwrap_err().to_string();
    assert!(error.ends_with("failed: the certificate is for another name"), "{error}");
}

#[tokio::test]
async fn what_the_proxy_refuses_is_said_and_what_is_near_is_dialled_at_once() {
    let server = Server::start(|_, _| Reply::Bytes(ok("text/plain", "near\n"))).await;
    let (proxy, heads) = proxy(server.port, Some("HTTP/1.1 403 Forbidden\r\n\r\n")).await;
    let mut settings = config(&[&server.name()]);
    settings.proxy = Some(proxy);
    let fetcher = Fetcher::new(settings, Names::new(&[("docs.example", &[&[PUBLIC]])]));
    let error = fetch(&fetcher, "http://docs.example/").await.unwrap_err().to_string();
    assert!(
        error.contains("docs.example:80") && error.contains("the proxy answered 403"),
        "{error}"
    );
    let asked = heads.lock().unwrap().len();
    assert!(matches!(fetch(&fetcher, &server.url("/")).await.unwrap(), Outcome::Page(_)));
    assert_eq!(heads.lock().unwrap().len(), asked);
}

#[tokio::test]
async fn one_host_is_asked_for_a_few_pages_at_a_time() {
    const AT_ONCE: usize = 6;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let name = listener.local_addr().unwrap().to_string();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, highest) = (Arc::clone(&now), Arc::clone(&most));
    // Nobody is answered before the limit is reached: with a lower one this would never end.
    let together = Arc::new(Barrier::new(AT_ONCE));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let (counted, together) = (Arc::clone(&counted), Arc::clone(&together));
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                together.wait().await;
                counted.fetch_sub(1, Ordering::SeqCst);
                stream.write_all(&ok("text/plain", "page\n")).await.unwrap();
            });
        }
    });
    let fetcher = Arc::new(Fetcher::new(config(&[&name]), Names::new(&[])));
    let mut fetches = tokio::task::JoinSet::new();
    for number in 0..3 * AT_ONCE {
        let (fetcher, url) = (Arc::clone(&fetcher), format!("http://{name}/{number}"));
        fetches.spawn(async move { fetch(&fetcher, &url).await.unwrap() });
    }
    let pages = fetches.join_all().await;
    assert_eq!(pages.len(), 3 * AT_ONCE);
    assert_eq!(most.load(Ordering::SeqCst), AT_ONCE);
    // A page that leads back to its own host does not wait for itself.
    let server = Server::start(|number, _| {
        Reply::Bytes(match number {
            0 => response("302 Found\nLocation: /next", ""),
            _ => ok("text/plain", "next\n"),
        })
    })
    .await;
    assert!(matches!(
        fetch(&self::fetcher(&[&server]), &server.url("/")).await,
        Ok(Outcome::Page(_))
    ));
}
