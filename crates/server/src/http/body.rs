//! Reads what a request sends: bounded in size and in time.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::time::timeout;

use crate::frame::{self, Frame, IdScan, MESSAGE_LIMIT};

/// How much of a message that is too long is looked through for its id, so that the client is
/// answered instead of cut off.
const LOOKED_THROUGH: u64 = 4 * MESSAGE_LIMIT as u64;

/// What arrived.
#[derive(Debug)]
pub(super) enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// Too much; the refusal of it.
    TooLong(Frame),
    /// Not all of it in time.
    Late,
    /// The client went away in the middle, or sent no HTTP.
    Broken,
}

/// Reads a body to its end.
pub(super) async fn read(body: Incoming, time: Duration) -> Body {
    timeout(time, collect(body)).await.unwrap_or(Body::Late)
}

async fn collect(mut body: Incoming) -> Body {
    if body.size_hint().lower() > LOOKED_THROUGH {
        return Body::TooLong(frame::too_long(None));
    }
    let mut whole = Vec::new();
    loop {
        match piece(&mut body).await {
            Some(Ok(piece)) if whole.len() + piece.len() > MESSAGE_LIMIT => {
                let mut scan = IdScan::default();
                scan.feed(&std::mem::take(&mut whole));
                scan.feed(&piece);
                return pass_over(body, scan).await;
            }
            Some(Ok(piece)) => whole.extend_from_slice(&piece),
            Some(Err(())) => return Body::Broken,
            None => return Body::Whole(whole),
        }
    }
}

/// Looks for the id in the rest of a message that is too long.
async fn pass_over(mut body: Incoming, mut scan: IdScan) -> Body {
    let mut seen = MESSAGE_LIMIT as u64;
    while seen < LOOKED_THROUGH
        && let Some(Ok(piece)) = piece(&mut body).await
    {
        seen += piece.len() as u64;
        scan.feed(&piece);
    }
    Body::TooLong(frame::too_long(scan.id().as_deref()))
}

/// The next bytes; `None` at the end.
async fn piece(body: &mut Incoming) -> Option<Result<Bytes, ()>> {
    loop {
        match body.frame().await? {
            Ok(frame) => match frame.into_data() {
                Ok(piece) => return Some(Ok(piece)),
                Err(_trailers) => {}
            },
            Err(error) => {
                tracing::debug!(%error, "a request broke off");
                return Some(Err(()));
            }
        }
    }
}
