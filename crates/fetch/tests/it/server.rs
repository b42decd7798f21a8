//! Servers that say exactly what a test tells them to, and a resolver that answers from a list.

use std::{
    collections::{HashMap, VecDeque},
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use quietcontext_fetch::{
    FetchConfig, FetchError, Fetcher, HostPort, Limits, Mode, Outcome, Page, Request, Resolve,
    Resolving, Validators,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What a server does with one request.
pub(crate) enum Reply {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends the first bytes, then the second ones again and again until nobody reads.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends these bytes, then nothing, and keeps the connection open.
    Stall(Vec<u8>),
    /// Resets the connection.
    Reset,
}

/// A listener on a loopback port of its own.
pub(crate) struct Server {
    pub(crate) port: u16,
    hits: Arc<AtomicUsize>,
    gone: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `reply` gets the number of the request, from 0, and its head.
    pub(crate) async fn start(
        reply: impl Fn(usize, &str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0", reply).await
    }

    /// The same at another address.
    pub(crate) async fn start_at(
        address: &str,
        reply: impl Fn(usize, &str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            hits: Arc::default(),
            gone: Arc::default(),
            heads: Arc::default(),
        };
        let (hits, gone) = (Arc::clone(&server.hits), Arc::clone(&server.gone));
        let (heads, reply) = (Arc::clone(&server.heads), Arc::new(reply));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let number = hits.fetch_add(1, Ordering::SeqCst);
                let (gone, heads, reply) =
                    (Arc::clone(&gone), Arc::clone(&heads), Arc::clone(&reply));
                tokio::spawn(async move {
                    let Some(head) = read_head(&mut stream).await else { return };
                    heads.lock().unwrap().push(head.clone());
                    answer(stream, reply(number, &head)).await;
                    gone.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// Connections that are over.
    pub(crate) fn gone(&self) -> usize {
        self.gone.load(Ordering::SeqCst)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn name(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

async fn read_head(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

async fn answer(mut stream: TcpStream, reply: Reply) {
    match reply {
        Reply::Bytes(bytes) => {
            drop(stream.write_all(&bytes).await);
            drop(stream.shutdown().await);
        }
        Reply::Endless(first, again) => {
            drop(stream.write_all(&first).await);
            while stream.write_all(&again).await.is_ok() {}
        }
        Reply::Stall(bytes) => {
            drop(stream.write_all(&bytes).await);
            let mut rest = Vec::new();
            drop(stream.read_to_end(&mut rest).await);
        }
        Reply::Reset => stream.set_zero_linger().unwrap(),
    }
}

/// One answer to every request on a TLS stream.
pub(crate) async fn answer_tls(
    mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    bytes: &[u8],
) {
    if read_head(&mut stream).await.is_some() {
        drop(stream.write_all(bytes).await);
        drop(stream.shutdown().await);
    }
}

/// A response with `Content-Length`; `head` is the status line's rest and further header lines.
pub(crate) fn response(head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = head.trim_end().replace('\n', "\r\n");
    let mut bytes =
        format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A 200 of a content type.
pub(crate) fn ok(content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    response(&format!("200 OK\nContent-Type: {content_type}"), body)
}

/// Answers names from lists, one entry a lookup, the last one for ever; counts the lookups.
#[derive(Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    lookups: AtomicUsize,
}

impl Names {
    pub(crate) fn new(table: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        let answers = table
            .iter()
            .map(|(name, lists)| ((*name).to_owned(), lists.iter().map(parse).collect()))
            .collect();
        Arc::new(Self { answers: Mutex::new(answers), lookups: AtomicUsize::new(0) })
    }

    pub(crate) fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let found = answers.get_mut(host).and_then(|lists| {
            if lists.len() > 1 { lists.pop_front() } else { lists.front().cloned() }
        });
        Box::pin(std::future::ready(found.ok_or_else(|| io::Error::other("no such name"))))
    }
}

/// Limits in which a test of a time-out does not take long.
pub(crate) fn quick() -> Limits {
    Limits {
        headers: Duration::from_millis(400),
        idle: Duration::from_millis(400),
        retry_pause: Duration::from_millis(50),
        ..Limits::default()
    }
}

/// A configuration that names these hosts.
pub(crate) fn config(allow: &[&str]) -> FetchConfig {
    let allow = allow.iter().map(|entry| HostPort::parse(entry).unwrap()).collect();
    FetchConfig { mode: Mode::Public, allow, limits: quick(), ..FetchConfig::default() }
}

/// A fetcher that may reach exactly these servers.
pub(crate) fn fetcher(servers: &[&Server]) -> Fetcher {
    let names: Vec<String> = servers.iter().map(|server| server.name()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Fetcher::new(config(&names), Names::new(&[]))
}

pub(crate) async fn fetch(fetcher: &Fetcher, url: &str) -> Result<Outcome, FetchError> {
    fetch_with(fetcher, url, None).await
}

pub(crate) async fn fetch_with(
    fetcher: &Fetcher,
    url: &str,
    validators: Option<Validators>,
) -> Result<Outcome, FetchError> {
    let deadline = Instant::now() + Duration::from_secs(20);
    fetcher.fetch(&Request { url, validators, deadline }).await
}

/// The page at `/` of a server that answers these bytes.
pub(crate) async fn page_of(bytes: Vec<u8>) -> Result<Page, FetchError> {
    let server = Server::start(move |_, _| Reply::Bytes(bytes.clone())).await;
    match fetch(&fetcher(&[&server]), &server.url("/")).await? {
        Outcome::Page(page) => Ok(*page),
        other => panic!("{other:?}"),
    }
}
