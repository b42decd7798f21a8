//! Tools of the tests' own making: they do what they are told.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use quietcontext_tools::Call;
use serde_json::Value;

use crate::{Calls, Reply};

/// Does what the argument `do` says.
#[derive(Default)]
pub(crate) struct Puppet {
    /// It was told to shut down.
    pub(crate) stopped: AtomicBool,
    /// Calls that saw that nobody wants their answer.
    pub(crate) cancelled: AtomicUsize,
    /// Calls that began.
    pub(crate) begun: AtomicUsize,
    /// How often it was asked to rest.
    pub(crate) rested: AtomicUsize,
}

impl Calls for Puppet {
    async fn call(&self, call: Call) -> Reply {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let text = match call.arguments.get("do").and_then(Value::as_str).unwrap_or_default() {
            "panic" => panic!("on purpose"),
            "root" => call.root.display().to_string(),
            "wait" => {
                call.cancel.cancelled().await;
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                "cancelled".to_owned()
            }
            "progress" => {
                for step in [1.0, 2.0, 2.0, 1.0, 3.0] {
                    if let Some(progress) = &call.progress {
                        progress(step, Some(3.0), "step");
                    }
                }
                "done".to_owned()
            }
            "fail" => return Reply { text: "error: no".to_owned(), is_error: true },
            other => other.to_owned(),
        };
        Reply { text, is_error: false }
    }

    fn shutdown(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    fn rest(&self, _idle: Duration) -> Option<Duration> {
        // Something is left open the first time.
        (self.rested.fetch_add(1, Ordering::SeqCst) == 0).then_some(Duration::from_millis(1))
    }
}
