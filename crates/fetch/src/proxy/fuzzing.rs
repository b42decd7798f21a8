//! What holds for any request, body and handshake that comes out of a box.

#![expect(clippy::missing_panics_doc, clippy::panic, reason = "a panic is how a property fails")]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use url::Host;

use super::head::{self, Body, Request};
use super::hello::{self, Sight};
use super::{chunked, forward};
use crate::HostPort;

/// A future over bytes in memory: it never waits.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// What is taken can be read in one way only: the server gets the host that was asked for, one length
/// at most, and what a second reader of it finds is the same request.
pub fn proxy_head(data: &[u8]) {
    let mut bytes = data.to_vec();
    bytes.extend_from_slice(b"\r\n\r\n");
    let mut rest = Vec::new();
    let Some(Ok(head)) = now(head::read(&mut bytes.as_slice(), &mut rest)) else { return };
    assert!(head.ends_with(b"\r\n\r\n") && bytes.starts_with(&[head.as_slice(), &rest].concat()));
    let Ok(request) = head::parse(&head) else { return };
    let ends = head.windows(2).filter(|pair| pair == b"\r\n").count();
    let (returns, feeds) = (count(&head, b'\r'), count(&head, b'\n'));
    assert!(ends == returns && ends == feeds, "a line end of another kind was taken");
    match request {
        Request::Tunnel(target) => assert_plain(&target),
        Request::Plain(plain) => {
            assert_plain(&plain.target);
            let sent = forward::head(&plain);
            let text = String::from_utf8_lossy(&sent).into_owned();
            let lines: Vec<&str> = text.trim_end().split("\r\n").collect();
            let named = |name: &str| {
                let is = |line: &&&str| {
                    line.split(':').next().is_some_and(|found| found.eq_ignore_ascii_case(name))
                };
                lines.iter().skip(1).filter(is).count()
            };
            assert_eq!(named("host"), 1, "{text}");
            assert_eq!(named("connection"), 1, "{text}");
            let framed = named("content-length") + named("transfer-encoding");
            assert_eq!(framed, usize::from(plain.body != Body::None), "{text}");
            assert_eq!(lines.first().map(|line| line.split(' ').count()), Some(3), "{text}");
            // Back in the form that a proxy is asked in.
            let asked = format!("{} http://{}", plain.method, plain.target).into_bytes();
            let tail = sent.get(plain.method.len() + 1..).unwrap_or_default();
            let again = head::parse(&[&asked, tail].concat());
            let Ok(Request::Plain(mut again)) = again else { panic!("{again:?}: {text}") };
            let mut plain = plain;
            // `Connection: close` names a header of that name.
            plain.headers.retain(|(name, _)| name != "close");
            again.headers.retain(|(name, _)| name != "close");
            assert_eq!(plain, again);
        }
    }
}

fn count(bytes: &[u8], wanted: u8) -> usize {
    bytes.split(|&byte| byte == wanted).count() - 1
}

/// It can stand in a message and in a command line.
fn assert_plain(target: &HostPort) {
    let text = target.to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
    assert!(text.chars().all(plain) && !text.starts_with('-'), "{text}");
}

/// What is passed on is the content, in chunks of ours, and nothing behind the body is touched.
pub fn proxy_body(data: &[u8]) {
    let (mut rest, mut sent) = (data, Vec::new());
    let Some(Ok(())) = now(chunked::pass(&mut rest, &mut sent)) else { return };
    let body = data.get(..data.len() - rest.len()).unwrap_or_default();
    let (Some(given), Some(passed)) = (content(body), content(&sent)) else {
        panic!("{body:?} became {sent:?}")
    };
    assert_eq!(given, passed);
    assert!(sent.ends_with(b"0\r\n\r\n"));
}

/// The content of a chunked body, if it is one from its beginning to its end.
fn content(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let line = |body: &mut &[u8]| {
        let at = body.windows(2).position(|pair| pair == b"\r\n")?;
        let line = body.get(..at)?.to_vec();
        *body = body.get(at + 2..)?;
        Some(line)
    };
    loop {
        let size = line(&mut body)?;
        let size = std::str::from_utf8(size.split(|&byte| byte == b';').next()?).ok()?;
        let size = usize::from_str_radix(size.trim_end(), 16).ok()?;
        if size == 0 {
            break;
        }
        content.extend_from_slice(body.get(..size)?);
        body = body.get(size..)?.strip_prefix(b"\r\n")?;
    }
    while !line(&mut body)?.is_empty() {}
    body.is_empty().then_some(content)
}

/// What is said of the first bytes of a tunnel stays true whatever comes behind them. The first byte
/// says how many are seen first.
pub fn proxy_hello(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    let host = Host::Domain("a.example".to_owned());
    let early = bytes.len() * usize::from(*first) / 255;
    let (seen, all) =
        (hello::look(bytes.get(..early).unwrap_or_default(), &host), hello::look(bytes, &host));
    assert!(seen == Sight::More || seen == all, "{seen:?} became {all:?}");
    // A handshake that is complete passes by its name, or has none.
    if all == Sight::Pass && bytes.starts_with(&[22, 3]) {
        let other = hello::look(bytes, &Host::Domain("b.example".to_owned()));
        let named = bytes.windows(9).any(|part| part.eq_ignore_ascii_case(b"a.example"));
        assert!(other == Sight::Pass || named || other == Sight::Refuse, "{other:?}");
    }
}
