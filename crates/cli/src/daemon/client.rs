//! Asks the daemon that runs how it is.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};
use quietcontext_server::http;
use serde_json::Value;

use super::place::{Place, State};

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A daemon that runs.
#[derive(Debug)]
pub(crate) struct Running {
    /// Where it is.
    pub(crate) state: State,
    /// What it says of itself; else why it says nothing.
    pub(crate) answer: Result<Value>,
}

/// The daemon that runs here, if one does.
///
/// # Errors
///
/// When its lock cannot be looked at.
pub(crate) fn find(place: &Place) -> Result<Option<Running>> {
    let Some(state) = place.state()? else { return Ok(None) };
    let answer = ask(place, &state);
    Ok(Some(Running { state, answer }))
}

fn ask(place: &Place, state: &State) -> Result<Value> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, state.port));
    let token = place.token()?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)
        .with_context(|| format!("{address} does not answer"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = format!(
        "GET {} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n",
        http::STATUS_PATH
    );
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.take(64 << 10).read_to_string(&mut answer).context("the daemon does not answer")?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| anyhow!("no HTTP answer"))?;
    let status = head.lines().next().unwrap_or_default();
    if !status.contains(" 200 ") {
        bail!("the daemon answered {status}");
    }
    let said: Value = serde_json::from_str(body).context("the daemon's answer")?;
    // The port may be somebody else's by now.
    if said["pid"].as_i64() != Some(state.pid.into()) {
        bail!("another program answers on {address}");
    }
    Ok(said)
}
