//! The contract, line by line, through the toolbox with its real leaves.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![expect(clippy::string_slice, reason = "answers under test are taken apart at markers")]
#![expect(clippy::format_collect, reason = "test inputs, not hot")]

mod batch;
mod execute;
mod fetch_index;
mod index;
mod links;
mod policy;
mod references;
mod rest;
mod scripts;
mod search;
mod support;
