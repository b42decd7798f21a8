//! A program that runs in the background: its growing output, its state, and how to stop it.

use std::io;
use std::time::Duration;

use crate::request::Exit;

/// A background program. Dropping the handle stops the program.
#[derive(Debug)]
pub struct Job {}

impl Job {
    /// Waits up to `limit` for the end; `true` when it has ended.
    pub fn wait(&self, limit: Duration) -> bool {
        let _ = limit;
        true
    }

    /// Bytes printed so far.
    pub fn output_len(&self) -> u64 {
        0
    }

    /// Reads captured output from `offset` on; 0 at the present end.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let _ = (offset, buffer);
        Ok(0)
    }

    /// How it ended, once it has.
    pub fn exit(&self) -> Option<Exit> {
        None
    }

    /// How long it has run, or ran.
    pub fn duration(&self) -> Duration {
        Duration::ZERO
    }

    /// Stops the program and everything below it; returns when all of it is gone.
    pub fn stop(&self) {}

    /// Processes that had to be stopped after the main process had ended.
    pub fn left_behind(&self) -> u32 {
        0
    }

    /// What of the output could not be kept, as in [`crate::Run::io_lost`].
    pub fn io_lost(&self) -> Option<String> {
        None
    }
}
