//! What can go wrong in a call, as one clear line: what happened, what was expected, what to do.

use crate::budget::{ByteBudget, CappedText, clip};
use crate::call::Answer;
use crate::limits;
use crate::render::one_line;

/// An answer that is an error. Its text is the whole message; causes go to the operator's log.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// An argument is missing, unknown, or not what it must be. Nothing has run.
    #[error("{0}")]
    Argument(String),
    /// The call is not allowed for this root, file or address. Nothing has run.
    #[error("{0}")]
    Refused(String),
    /// The tool could not do its work.
    #[error("{0}")]
    Failed(String),
    /// The client cancelled the call or went away.
    #[error("cancelled")]
    Cancelled,
}

impl ToolError {
    /// An argument error about `name`.
    pub(crate) fn argument(name: &str, message: impl std::fmt::Display) -> Self {
        Self::Argument(format!("{name} {message}"))
    }

    /// The answer: `error: …`, one line, at most 512 bytes or the call's budget.
    pub(crate) fn answer(&self, budget: ByteBudget) -> Answer {
        let budget = budget.min(ByteBudget::new(limits::ERROR_BYTES));
        let line = clip(&format!("error: {}", one_line(&self.to_string())), budget.bytes());
        Answer { text: CappedText::cap(line, budget), is_error: true }
    }
}
