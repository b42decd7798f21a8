//! The seam between the protocol and the tools: one call in, one text out.

use std::time::Duration;

use quietcontext_tools::{Call, Toolbox};

/// What answers the calls. The product has one implementation, [`Toolbox`]; tests bring others.
pub trait Calls: Send + Sync + 'static {
    /// Answers one call. May be dropped or panic without harm to other calls.
    fn call(&self, call: Call) -> impl Future<Output = Reply> + Send;

    /// Stops every process that calls have started, at once. Any thread, any number of times.
    fn shutdown(&self);

    /// Closes what no call has used for `idle`; says when it is worth to ask again, `None` when
    /// nothing is left open.
    fn rest(&self, _idle: Duration) -> Option<Duration> {
        None
    }
}

/// One answer as the protocol carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The one text item.
    pub text: String,
    /// The tool could not do what was asked.
    pub is_error: bool,
}

impl Calls for Toolbox {
    async fn call(&self, call: Call) -> Reply {
        let answer = Self::call(self, call).await;
        Reply { text: answer.text.as_str().to_owned(), is_error: answer.is_error }
    }

    fn shutdown(&self) {
        Self::shutdown(self);
    }

    fn rest(&self, idle: Duration) -> Option<Duration> {
        Self::rest(self, idle)
    }
}
