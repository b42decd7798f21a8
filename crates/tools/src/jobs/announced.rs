//! What other processes and the journal are told of a background job.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use quietcontext_store::{Announced, Announcement, ChunkId, Receipt};
use serde_json::{Value, json};

use crate::context::Context;
use crate::record::{CallRecord, Meter};
use crate::render;
use crate::toolbox::Root;

/// A background job that runs now, in this process or another one.
#[derive(Debug)]
pub struct LiveJob {
    /// Its label, by which an agent stops it: `execute:17`.
    pub label: String,
    /// What was started, one line.
    pub summary: String,
    /// The number of the first chunk its output has, or will have.
    pub first: u64,
    /// When it was started.
    pub since: SystemTime,
    /// The server that runs it.
    pub server: u32,
    announced: Announced,
}

impl LiveJob {
    pub(crate) fn read(announced: Announced) -> Option<Self> {
        let value: Value = serde_json::from_str(&announced.text).ok()?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        Some(Self {
            label: text("label")?,
            summary: text("what")?,
            first: number("first")?,
            since: UNIX_EPOCH.checked_add(Duration::from_millis(number("since")?))?,
            server: u32::try_from(number("server")?).ok()?,
            announced,
        })
    }

    /// Asks the server that runs it to stop it; that looks ten times a second.
    ///
    /// # Errors
    ///
    /// When it has ended meanwhile.
    pub fn ask_to_stop(&self) -> io::Result<()> {
        self.announced.ask_to_stop()
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        self.announced.holds()
    }
}

/// Says to other processes what runs here. A job runs as well where that is not possible.
fn announce(context: &Context, label: &str, first: ChunkId) -> Option<Announcement> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let text = json!({
        "label": label,
        "what": context.meter.summary,
        "first": first.0,
        "since": since.as_millis() as u64,
        "server": std::process::id(),
    });
    let announced = context.root.store.announce(&text.to_string());
    announced.inspect_err(|error| tracing::debug!(%error, "a job was not announced")).ok()
}

/// What is kept of a job for others while it runs, and in the journal when it has ended.
pub(super) struct Told {
    root: Arc<Root>,
    meter: Arc<Meter>,
    announcement: Option<Announcement>,
    at: SystemTime,
    started: Instant,
}

impl Told {
    pub(super) fn of(context: &Context, label: &str, first: ChunkId) -> Self {
        Self {
            root: Arc::clone(&context.root),
            meter: Arc::clone(&context.meter),
            announcement: announce(context, label, first),
            at: SystemTime::now(),
            started: Instant::now(),
        }
    }

    pub(super) fn stop_asked(&self) -> bool {
        self.announcement.as_ref().is_some_and(Announcement::stop_asked)
    }

    /// The call that started the job was noted when it was answered; this is what came of it.
    pub(super) fn ended(&self, outcome: String, receipt: &Receipt, bytes: u64) {
        if !self.meter.kept {
            return;
        }
        let record = CallRecord {
            at: self.at,
            tool: self.meter.tool.name().to_owned(),
            job: true,
            produced: bytes,
            answered: 0,
            outcome,
            duration: self.started.elapsed(),
            summary: format!("{}: {}", receipt.label, self.meter.summary),
            reference: receipt.range.map(render::range),
        };
        record.keep(&self.root);
    }
}
