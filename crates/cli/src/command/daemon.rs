//! `daemon`: the server for many sessions, and what people do with it.

use clap::Subcommand;

use crate::{
    args::Shape,
    config::Flags,
    daemon::{self, Manner, control, service::Service},
    examples::EXIT_CODES,
    terminal::{self, Exit, Problem},
};

/// What is done with the daemon.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Start it in the background and wait until it answers
    #[command(after_help = EXIT_CODES)]
    Start,
    /// End it and everything it runs
    #[command(after_help = EXIT_CODES)]
    Stop,
    /// Say whether it runs, where, and for which roots; the exit code is 1 when it does not
    #[command(after_help = EXIT_CODES)]
    Status(Shape),
    /// Print the log of a daemon in the background
    #[command(after_help = EXIT_CODES)]
    Logs {
        /// Last lines
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
        lines: usize,
        /// Go on with what comes
        #[arg(long, short)]
        follow: bool,
    },
    /// Print the systemd user unit, or the launchd agent, that starts it with your session
    #[command(after_help = EXIT_CODES)]
    Unit {
        /// For launchd (macOS)
        #[arg(long)]
        launchd: bool,
    },
    #[command(hide = true)]
    Background,
}

/// Does it; without an action the daemon itself, in the foreground.
pub(crate) fn run(flags: &Flags, action: Option<Action>) -> Result<Exit, Problem> {
    match action {
        None => daemon::run(flags, Manner::Foreground),
        Some(Action::Background) => daemon::run(flags, Manner::Background),
        Some(Action::Start) => control::start(flags),
        Some(Action::Stop) => control::stop(flags),
        Some(Action::Status(shape)) => control::status(flags, shape.form()),
        Some(Action::Logs { lines, follow }) => control::logs(flags, lines, follow),
        Some(Action::Unit { launchd }) => {
            let service = Service {
                binary: std::env::current_exe()?,
                arguments: flags.arguments(),
                path: std::env::var_os("PATH"),
            };
            terminal::print(&if launchd { service.launchd() } else { service.systemd() })?;
            Ok(Exit::Fine)
        }
    }
}
