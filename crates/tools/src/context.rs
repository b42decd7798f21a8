//! What one call carries through its stages: its root, its deadline, its turn, who is told what.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use quietcontext_exec::{Cancel, View};
use tokio_util::sync::CancellationToken;

use crate::call::Progress;
use crate::error::ToolError;
use crate::record::Meter;
use crate::schedule::{Turn, Work};
use crate::toolbox::{Root, Shared};

/// What one call carries through its stages.
#[derive(Clone)]
pub(crate) struct Context {
    pub shared: Arc<Shared>,
    pub root: Arc<Root>,
    /// When the call ends, whatever is still to do.
    pub deadline: Instant,
    /// Serves what a call needs served while it blocks.
    pub runtime: tokio::runtime::Handle,
    /// Stops programs and long loops.
    pub cancel: Cancel,
    pub progress: Option<Progress>,
    /// What is learned about the call.
    pub meter: Arc<Meter>,
    /// The call's turn, while it has one.
    pub turn: Arc<Mutex<Option<Turn>>>,
    /// All known files have been looked at, and whether some had changed.
    pub swept: Arc<OnceLock<bool>>,
}

impl Context {
    /// Waits for the call's turn to do this.
    pub(crate) async fn enter(
        &self,
        work: Work,
        cancelled: &CancellationToken,
    ) -> Result<(), ToolError> {
        tokio::select! {
            biased;
            turn = self.queue(work) => {
                *self.turn() = Some(turn);
                Ok(())
            }
            () = cancelled.cancelled() => Err(ToolError::Cancelled),
        }
    }

    /// Waits for a turn beside the call's own.
    pub(crate) async fn queue(&self, work: Work) -> Turn {
        self.shared.schedule.enter(work, &self.root.account).await
    }

    /// As [`Self::queue`], in a thread that may block.
    pub(crate) fn queue_blocking(&self, work: Work) -> Turn {
        self.shared.schedule.enter_blocking(work, &self.root.account)
    }

    /// The same call with a turn of its own for a part of it.
    pub(crate) fn part(&self, turn: Turn) -> Self {
        Self { turn: Arc::new(Mutex::new(Some(turn))), ..self.clone() }
    }

    /// Between two pieces of something long: lets others have their turn.
    pub(crate) fn pause(&self) {
        let over = self.turn().as_ref().and_then(Turn::is_over);
        if let Some(work) = over {
            self.leave();
            let next = self.queue_blocking(work);
            *self.turn() = Some(next);
        }
    }

    /// What the call has waited for its turn with is done.
    pub(crate) fn leave(&self) {
        let turn = self.turn().take();
        drop(turn);
    }

    fn turn(&self) -> MutexGuard<'_, Option<Turn>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the programs of this call may see and reach.
    pub(crate) fn view(&self) -> View {
        let outbound = self.shared.config.outbound.as_ref();
        View {
            hidden: Vec::new(),
            outbound: outbound.map(|outbound| outbound.of(&self.root.path, &self.runtime)),
        }
    }

    /// `Err` when the client does not want the answer any more.
    pub(crate) fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::Cancelled) } else { Ok(()) }
    }

    /// Whether the deadline has passed.
    pub(crate) fn late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Tells the client how far the work is.
    pub(crate) fn progress(&self, done: f64, total: Option<f64>, what: &str) {
        if let Some(progress) = &self.progress {
            progress(done, total, what);
        }
    }
}
