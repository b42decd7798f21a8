//! The fetcher against servers on loopback, and the conversion over handwritten pages.

#![expect(
    clippy::expect_used,
    clippy::format_collect,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "helpers of tests fail the way tests do"
)]

mod guard;
mod hostile;
mod limits;
mod outcomes;
mod pages;
mod proxy;
mod relay;
mod saved;
mod served;
mod server;
mod text;
mod tls;
