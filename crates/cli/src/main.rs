//! The `quietcontext` binary. What it does is decided in `mode`, before anything is built.

mod args;
mod command;
mod config;
mod daemon;
mod examples;
mod log;
mod memory;
mod mode;
mod network;
mod place;
mod serve;
mod setup;
mod suggest;
mod terminal;
mod view;
mod wire;

fn main() -> std::process::ExitCode {
    mode::start(std::env::args_os().skip(1).collect())
}
