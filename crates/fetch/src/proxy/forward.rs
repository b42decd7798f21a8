//! One plain request to its server and the answer back; the connection carries no second one.
//!
//! A second request on the connection could be for another host, and the server would not know
//! that it had to be asked for. So both sides are told that the connection ends, and it does.

use std::io::{self, ErrorKind};

use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::TcpStream,
};

use super::{
    chunked,
    head::{Body, Plain},
    tunnel::Activity,
};

/// Bytes of the head of an answer.
const MOST_HEAD: u64 = 64 << 10;

/// Interim answers before the real one.
const MOST_INTERIM: usize = 16;

/// Sends the request, its body (which begins with `first`) and passes the answer to the client.
pub(super) async fn exchange(
    client: &mut TcpStream,
    server: TcpStream,
    first: Vec<u8>,
    request: &Plain,
    activity: &Activity,
) -> io::Result<()> {
    let (from_server, mut to_server) = server.into_split();
    let (from_client, to_client) = client.split();
    to_server.write_all(&head(request)).await?;
    let mut from_client = BufReader::new(first.as_slice().chain(from_client));
    let up = async {
        match request.body {
            Body::None => {}
            Body::Length(length) => {
                copy(&mut from_client, &mut to_server, length, activity).await?;
            }
            Body::Chunked => chunked::pass(&mut from_client, &mut to_server).await?,
        }
        io::Result::Ok(())
    };
    let down = answer(BufReader::new(from_server), to_client, &request.method, activity);
    tokio::pin!(up, down);
    tokio::select! {
        // The server may answer before it has read everything; then that is the answer.
        end = &mut down => end,
        sent = &mut up => {
            sent?;
            down.await
        }
    }
}

/// The request's head as the server gets it.
pub(super) fn head(request: &Plain) -> Vec<u8> {
    let Plain { target, method, path, version, headers, body } = request;
    let host = match target.port() {
        80 => target.host().to_string(),
        port => format!("{}:{port}", target.host()),
    };
    let mut bytes = format!("{method} {path} {version}\r\nHost: {host}\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    }
    match body {
        Body::None => {}
        Body::Length(length) => {
            bytes.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
        }
        Body::Chunked => bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
    bytes.extend_from_slice(b"Connection: close\r\n\r\n");
    bytes
}

/// Passes the server's answer on, up to its end.
async fn answer(
    mut from: BufReader<impl AsyncRead + Unpin>,
    mut to: impl AsyncWrite + Unpin,
    method: &str,
    activity: &Activity,
) -> io::Result<()> {
    for _ in 0..MOST_INTERIM {
        let head = read_head(&mut from).await?;
        activity.moved();
        let seen = Seen::of(&head)?;
        activity.answering();
        to.write_all(&seen.head).await?;
        match seen.code {
            // We have not asked for another protocol.
            101 => return Err(ErrorKind::InvalidData.into()),
            100..=199 => to.flush().await?,
            204 | 304 => return to.shutdown().await,
            _ if method == "HEAD" => return to.shutdown().await,
            _ => {
                // Without a length the end of the connection is the end of the answer.
                let length = seen.length.unwrap_or(u64::MAX);
                copy(&mut from, &mut to, length, activity).await?;
                return to.shutdown().await;
            }
        }
    }
    Err(ErrorKind::InvalidData.into())
}

/// Up to and with the empty line.
async fn read_head(from: &mut BufReader<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let left = MOST_HEAD - head.len() as u64;
        let before = head.len();
        from.take(left).read_until(b'\n', &mut head).await?;
        let line = head.get(before..).unwrap_or_default();
        if !line.ends_with(b"\n") {
            return Err(ErrorKind::InvalidData.into());
        }
        if before > 0 && matches!(line, b"\r\n" | b"\n") {
            return Ok(head);
        }
    }
}

/// What matters of an answer's head, and the head as the client gets it.
struct Seen {
    code: u16,
    length: Option<u64>,
    head: Vec<u8>,
}

impl Seen {
    fn of(bytes: &[u8]) -> io::Result<Self> {
        let bad = || io::Error::from(ErrorKind::InvalidData);
        let mut lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
        let status = lines.next().unwrap_or_default();
        let code = status.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
        let code = code.and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
        let code: u16 = code.filter(|code| (100..1000).contains(code)).ok_or_else(bad)?;
        let mut head = [status, b"\r\n"].concat();
        let (mut length, mut coded) = (None, false);
        for line in lines.filter(|line| !line.is_empty()) {
            let at = line.iter().position(|&byte| byte == b':').ok_or_else(bad)?;
            let (name, value) = line.split_at(at);
            match name.to_ascii_lowercase().as_slice() {
                b"connection" | b"keep-alive" | b"proxy-connection" | b"upgrade" => continue,
                b"transfer-encoding" => coded = true,
                b"content-length" => {
                    let digits = value.get(1..).unwrap_or_default().trim_ascii();
                    let number = std::str::from_utf8(digits).ok().and_then(|n| n.parse().ok());
                    length = Some(number.ok_or_else(bad)?);
                }
                _ => {}
            }
            head.extend_from_slice(line);
            head.extend_from_slice(b"\r\n");
        }
        if code >= 200 {
            head.extend_from_slice(b"Connection: close\r\n");
        }
        head.extend_from_slice(b"\r\n");
        Ok(Self { code, length: length.filter(|_| !coded), head })
    }
}

/// Copies `length` bytes, or what there is up to the end where that is unbounded.
async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    length: u64,
    activity: &Activity,
) -> io::Result<()> {
    let mut left = length;
    let mut piece = vec![0; 16 << 10];
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let count = from.read(piece.get_mut(..most).unwrap_or_default()).await?;
        activity.moved();
        match count {
            0 if length == u64::MAX => break,
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => {
                to.write_all(piece.get(..count).unwrap_or_default()).await?;
                left -= count as u64;
            }
        }
        activity.moved();
    }
    to.flush().await
}
