//! `view`: a page for looking at what agents did, served on loopback to whoever knows its address.
//!
//! Reading order: [`run`] (connections and the end), `door` (who is let in), `site` (which page is
//! asked for), then the pages. All of it is plain HTML without programs; `html` keeps stored text
//! from becoming markup.

mod calls;
mod document;
mod door;
mod html;
mod overview;
mod search;
mod site;
mod sources;

use std::{
    convert::Infallible,
    fs::OpenOptions,
    io::{self, Write as _},
    net::Ipv4Addr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::Semaphore,
};

use self::{door::Token, site::Site};
use crate::{
    config::Flags,
    terminal::{self, Exit, Problem, look::Look},
    wire,
};

/// Open connections at a time; a browser has six.
const CONNECTIONS: usize = 32;
/// How long the head of a request may take, and a connection may be idle.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest head of a request, in bytes.
const HEAD_BYTES: usize = 16 << 10;

/// Whether a browser is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Browser {
    /// If a person looks at a desktop of this machine.
    Open,
    /// Not at all.
    Leave,
}

/// Serves until it is interrupted.
pub(crate) fn run(flags: &Flags, port: u16, browser: Browser) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let token = Token::draw().context("no random numbers")?;
    let runtime = wire::runtime()?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .with_context(|| format!("port {port} of 127.0.0.1 cannot be used"))?;
        let port = listener.local_addr()?.port();
        let address = format!("http://127.0.0.1:{port}/{}/", token.shown());
        terminal::print(&format!("{address}\n"))?;
        terminal::hint("open this address in a browser; it is good until Ctrl-C ends this command");
        let opened = (browser == Browser::Open)
            .then(|| open(&address))
            .transpose()
            .unwrap_or_else(|error| {
                terminal::warn(&format!("no browser was opened: {error}"));
                None
            })
            .flatten();
        let site = Arc::new(Site::new(wired, token));
        let ended = until_interrupted(listener, site).await;
        if let Some(file) = opened {
            // It led to an address that is no more.
            drop(std::fs::remove_file(file));
        }
        ended.map_err(Problem::from)
    });
    runtime.shutdown_background();
    served?;
    Ok(Exit::Fine)
}

async fn until_interrupted(listener: TcpListener, site: Arc<Site>) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        () = accept(listener, site) => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

async fn accept(listener: TcpListener, site: Arc<Site>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: the next connection may find some.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let site = Arc::clone(&site);
                async move { Ok::<_, Infallible>(site.answer(request).await) }
            });
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_header_size(HEAD_BYTES);
            if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(slot);
        });
    }
}

/// Opens a browser where a person sits at a desktop; `None` where that is not so.
///
/// Other users can see command lines: the browser gets a file that leads on, not the address.
fn open(address: &str) -> io::Result<Option<PathBuf>> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let desktop = (set("DISPLAY") || set("WAYLAND_DISPLAY")) && !set("SSH_CONNECTION");
    if !Look::stdout().person || !desktop {
        return Ok(None);
    }
    let file = std::env::temp_dir().join(format!("quietcontext-view-{}.html", std::process::id()));
    write_private(&file, address)?;
    let quiet = Command::new("xdg-open")
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match quiet {
        // It hands the file over and ends by itself.
        Ok(_child) => Ok(Some(file)),
        Err(error) => {
            drop(std::fs::remove_file(file));
            Err(error)
        }
    }
}

fn write_private(file: &Path, address: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(0o600).open(file)?;
    write!(
        out,
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>QuietContext</title>"
    )
}
