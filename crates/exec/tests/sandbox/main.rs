//! The promises of the box, one test each, as root and as an unprivileged user, each with its
//! positive control. Where this machine cannot run one it is reported by name, and fails under
//! `QUIETCONTEXT_TEST_REQUIRE=all`.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests fail loudly, like the tests"
)]

mod files;
mod kernel;
mod lab;
mod ladder;
mod limits;
mod network;
mod processes;
mod protected;
mod secrets;
mod work;
