//! One call as the transports hand it over, and its answer.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::budget::CappedText;
use crate::tool::Tool;

/// Receives progress: done so far, total if known, and what is being done.
pub type Progress = Arc<dyn Fn(f64, Option<f64>, &str) + Send + Sync>;

/// A call of one tool.
#[derive(Clone)]
pub struct Call {
    /// The canonical workspace root.
    pub root: PathBuf,
    /// The tool.
    pub tool: Tool,
    /// The arguments as sent.
    pub arguments: Map<String, Value>,
    /// Fires when the client cancelled the call or went away.
    pub cancel: CancellationToken,
    /// Where progress goes, if the client asked for it.
    pub progress: Option<Progress>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("root", &self.root)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// The answer of a call: one bounded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub text: CappedText,
    /// The tool could not do what was asked. A program's own failure is not this.
    pub is_error: bool,
}
