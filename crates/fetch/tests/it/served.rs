//! The proxy in a box's place, and clients of it.

use std::sync::{Arc, Mutex};

use quietcontext_fetch::{
    HostPort,
    proxy::{Attached, Denial, Permit, Permits, Proxy, ProxyLimits, Why},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    runtime::Handle,
};

use super::server::Names;

/// A policy that is a list.
#[derive(Default)]
pub(crate) struct List(Mutex<Vec<(HostPort, Permit)>>);

impl List {
    pub(crate) fn add(&self, entry: &str, permit: Permit) {
        self.0.lock().unwrap().push((HostPort::parse(entry).unwrap(), permit));
    }
}

impl Permits for List {
    fn permit(&self, target: &HostPort) -> Permit {
        let list = self.0.lock().unwrap();
        list.iter()
            .find(|(entry, _)| entry.covers(target))
            .map_or(Permit::No, |(_, permit)| *permit)
    }
}

/// A listener in a box's place, with the proxy on it.
pub(crate) struct Served {
    pub(crate) port: u16,
    pub(crate) list: Arc<List>,
    pub(crate) names: Arc<Names>,
    pub(crate) attached: Attached,
}

impl Served {
    pub(crate) fn new(names: &[(&str, &[&[&str]])], allow: &[(&str, Permit)]) -> Self {
        Self::bounded(names, allow, ProxyLimits::default())
    }

    pub(crate) fn bounded(
        names: &[(&str, &[&[&str]])],
        allow: &[(&str, Permit)],
        limits: ProxyLimits,
    ) -> Self {
        let names = Names::new(names);
        let list = Arc::new(List::default());
        for (entry, permit) in allow {
            list.add(entry, *permit);
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Proxy::with_limits(Arc::clone(&names) as _, limits);
        let attached = proxy.attach(listener, Arc::clone(&list) as _, &Handle::current()).unwrap();
        Self { port, list, names, attached }
    }

    pub(crate) async fn client(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// Sends `text`, ends the sending side and gives everything that comes back.
    pub(crate) async fn say(&self, text: &str) -> String {
        let mut client = self.client().await;
        client.write_all(text.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        read_all(&mut client).await
    }

    pub(crate) async fn get(&self, authority: &str, path: &str) -> String {
        self.say(&format!("GET http://{authority}{path} HTTP/1.1\r\nHost: {authority}\r\n\r\n"))
            .await
    }

    pub(crate) async fn connect(&self, authority: &str) -> String {
        self.say(&format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n")).await
    }

    /// A tunnel that stands.
    pub(crate) async fn tunnel(&self, authority: &str) -> TcpStream {
        let mut client = self.client().await;
        let head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(client.read_u8().await.unwrap());
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
        client
    }

    pub(crate) fn denied(&self) -> Vec<(String, Why)> {
        let list = self.attached.denied();
        list.into_iter().map(|Denial { target, why }| (target.to_string(), why)).collect()
    }
}

/// Everything up to the end; an end by force counts as one.
pub(crate) async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _end = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}
