//! What the proxy itself answers: refusals and failures, each a few lines of text.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::{Denial, explain, head::Bad};
use crate::HostPort;

/// How long a client may take to read an answer and stop sending.
const LINGER: Duration = Duration::from_secs(1);

/// An answer of the proxy itself.
#[derive(Debug)]
pub(super) struct Reply {
    code: u16,
    /// Many tools show it and nothing else.
    phrase: String,
    body: String,
}

impl Reply {
    /// The policy or the guard refuses.
    pub(super) fn denied(denial: &Denial) -> Self {
        let phrase = format!("blocked by sandbox: {}", denial.what());
        let body = explain(std::slice::from_ref(denial)).unwrap_or_default();
        Self { code: 403, phrase, body }
    }

    /// The head was not taken; `None` where nobody waits for an answer.
    pub(super) fn bad(bad: Bad) -> Option<Self> {
        let (code, phrase, what) = match bad {
            Bad::Gone => return None,
            Bad::TooLong => {
                (431, "Request Header Fields Too Large", "the request's head is too long")
            }
            Bad::Odd(what) => (400, "Bad Request", what),
        };
        let body = format!("proxy of the sandbox: {what}");
        Some(Self { code, phrase: phrase.to_owned(), body })
    }

    /// The server could not be reached.
    pub(super) fn unreachable(target: &HostPort, what: &str) -> Self {
        let phrase = "Bad Gateway".to_owned();
        Self { code: 502, phrase, body: format!("proxy of the sandbox: {target}: {what}") }
    }

    /// The head did not come in time.
    pub(super) fn slow() -> Self {
        let body = "proxy of the sandbox: no complete request came in time".to_owned();
        Self { code: 408, phrase: "Request Timeout".to_owned(), body }
    }

    /// Sends it and ends the connection. What the client still sends is read for a moment: closing
    /// over unread data would take the answer back.
    pub(super) async fn send(self, mut stream: TcpStream) {
        let Self { code, phrase, body } = self;
        let text = format!(
            "HTTP/1.1 {code} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}\n",
            body.len() + 1
        );
        let answer = async {
            stream.write_all(text.as_bytes()).await?;
            stream.shutdown().await?;
            let mut rest = [0; 4 << 10];
            while stream.read(&mut rest).await? > 0 {}
            std::io::Result::Ok(())
        };
        // Whether the client has taken it is the client's affair.
        let _outcome = timeout(LINGER, answer).await;
    }
}
