//! A web server of a test on loopback.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Server, World};

/// A server on loopback: its `host:port`, and how often it was asked.
pub(crate) struct Site {
    pub(crate) host: String,
    hits: Arc<AtomicUsize>,
}

impl Site {
    /// Answers each path by `respond`, in a thread per connection.
    pub(crate) fn start(respond: impl Fn(&str, usize) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let site = Self { host: listener.local_addr().unwrap().to_string(), hits: Arc::default() };
        let (hits, respond) = (Arc::clone(&site.hits), Arc::new(respond));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (hits, respond, mut stream) =
                    (Arc::clone(&hits), Arc::clone(&respond), stream.unwrap());
                std::thread::spawn(move || {
                    let mut head = Vec::new();
                    let mut byte = [0];
                    while !head.ends_with(b"\r\n\r\n")
                        && stream.read(&mut byte).is_ok_and(|n| n == 1)
                    {
                        head.push(byte[0]);
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let hit = hits.fetch_add(1, Ordering::SeqCst) + 1;
                    let path = head.split(' ').nth(1).unwrap_or_default();
                    drop(stream.write_all(&respond(path, hit)));
                });
            }
        });
        site
    }

    /// An address on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }

    /// How often it was asked.
    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// A server of the binary that may reach this site.
    pub(crate) fn serve(&self, world: &World) -> Server {
        world.configure(&format!("fetch.allow = [\"{}\"]\n", self.host));
        let mut server = world.serve();
        server.initialize();
        server
    }
}

/// A response: the rest of the status line, further header lines, the body.
pub(crate) fn answer(status: &str, head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\n{head}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A response with a body of this type.
pub(crate) fn ok(kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("200 OK", &format!("Content-Type: {kind}\r\n"), body)
}
