//! Carries a call's progress to the client that asked for it.

use std::{sync::Arc, time::Duration};

use quietcontext_tools::Progress;
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::Peer,
};
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

/// Reports that may wait for a slow client; further ones are left out, as only the newest counts.
const WAITING: usize = 16;

/// How long an answer may be held back by progress that a client does not take.
const FLUSH: Duration = Duration::from_secs(1);

/// One report: how far, of how much, and what is being done.
type Report = (f64, Option<f64>, String);

/// The reports of one call on their way to the client.
#[derive(Debug)]
pub(crate) struct Forwarder(JoinHandle<()>);

/// Begins to forward; the call reports through the function.
pub(crate) fn forward(peer: Peer<RoleServer>, token: ProgressToken) -> (Progress, Forwarder) {
    let (sender, receiver) = mpsc::channel::<Report>(WAITING);
    let report = move |done: f64, total: Option<f64>, what: &str| {
        let _dropped = sender.try_send((done, total, what.to_owned()));
    };
    (Arc::new(report), Forwarder(tokio::spawn(run(peer, token, receiver))))
}

async fn run(peer: Peer<RoleServer>, token: ProgressToken, mut reports: mpsc::Receiver<Report>) {
    let mut last = f64::NEG_INFINITY;
    while let Some((done, total, what)) = reports.recv().await {
        // The protocol wants progress that increases.
        if done <= last {
            continue;
        }
        last = done;
        let mut report = ProgressNotificationParam::new(token.clone(), done);
        report.total = total;
        report.message = (!what.is_empty()).then_some(what);
        if peer.notify_progress(report).await.is_err() {
            return;
        }
    }
}

impl Forwarder {
    /// Sends what is left: nothing may follow the answer. The reporting function must be gone.
    pub(crate) async fn finish(mut self) {
        if timeout(FLUSH, &mut self.0).await.is_err() {
            self.0.abort();
        }
    }
}
