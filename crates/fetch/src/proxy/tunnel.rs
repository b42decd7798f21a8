//! Two streams joined until both have ended or nothing moves any more.

use std::{
    io,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, sleep_until},
};
use url::Host;

use super::hello::{self, Sight};

/// Bytes that are held in each direction.
const PIECE: usize = 16 << 10;

/// How a tunnel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Both sides, or one of them, were done, or nothing moved.
    Over,
    /// The client began a TLS handshake for another host; nothing of it was passed on.
    OtherName,
}

/// Notes when something moved last.
pub(super) struct Activity {
    start: Instant,
    last: AtomicU64,
    answered: AtomicBool,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), last: AtomicU64::new(0), answered: AtomicBool::new(false) }
    }

    pub(super) fn moved(&self) {
        let since = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(since, Ordering::Relaxed);
    }

    /// The client is about to get something of the server's answer.
    pub(super) fn answering(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Returns once nothing has moved for `idle`.
    pub(super) async fn quiet(&self, idle: Duration) {
        loop {
            let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
            let end = self.start + last + idle;
            if Instant::now() >= end {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// Joins the client of a tunnel to `host` with its server; `first` are bytes that the client has
/// sent already.
pub(super) async fn join(
    client: TcpStream,
    server: TcpStream,
    first: Vec<u8>,
    host: &Host<String>,
    idle: Duration,
) -> End {
    let activity = Activity::new();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async {
        if !checked(&mut from_client, &mut to_server, first, host, &activity).await? {
            return Ok(End::OtherName);
        }
        pump(&mut from_client, &mut to_server, &activity).await?;
        Ok(End::Over)
    };
    let down = async {
        pump(&mut from_server, &mut to_client, &activity).await?;
        io::Result::Ok(())
    };
    let both = async {
        tokio::pin!(up, down);
        tokio::select! {
            end = &mut up => match end {
                Ok(End::Over) => down.await.map(|()| End::Over),
                end => end,
            },
            end = &mut down => match end {
                Ok(()) => up.await,
                Err(error) => Err(error),
            },
        }
    };
    tokio::select! {
        end = both => end.unwrap_or(End::Over),
        () = activity.quiet(idle) => End::Over,
    }
}

/// Passes the client's first bytes on once they are seen to be for `host`; whether they were.
async fn checked(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut first: Vec<u8>,
    host: &Host<String>,
    activity: &Activity,
) -> io::Result<bool> {
    loop {
        match hello::look(&first, host) {
            Sight::Pass => break,
            Sight::Refuse => return Ok(false),
            Sight::More => {
                // The client is done before it could be told what it is: nothing passes.
                if from.read_buf(&mut first).await? == 0 {
                    return Ok(true);
                }
                activity.moved();
            }
        }
    }
    to.write_all(&first).await?;
    Ok(true)
}

/// Copies until the end of `from`, and ends `to`.
async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    activity: &Activity,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let count = from.read(&mut piece).await?;
        activity.moved();
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(piece.get(..count).unwrap_or_default()).await?;
        activity.moved();
    }
}
