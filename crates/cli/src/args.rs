//! The command line for people.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{ArgAction, Args, CommandFactory as _, Parser, Subcommand, ValueEnum, error::ErrorKind};
use clap_complete::Shell;

use crate::{
    command,
    config::Flags,
    examples::{self, EXIT_CODES},
    serve,
    suggest::Suggest,
    terminal::{self, Exit},
    view::{self, Browser},
};

/// Gives AI coding agents big data in small answers: runs, stores and searches on this machine.
#[derive(Debug, Parser)]
#[command(
    name = "quietcontext",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = examples::MAIN
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Common {
    /// Workspace root [default: the working directory]
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// Folder of the stores [default: ~/.local/share/quietcontext]
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<PathBuf>,
    /// Log on standard error: off, error, warn, info, debug or trace [default: off]
    #[arg(long, value_name = "LEVEL", global = true)]
    log: Option<String>,
    /// What programs may write: workspace-write, read-only, or off [default: workspace-write]
    #[arg(long, value_name = "MODE", global = true, hide_possible_values = true)]
    #[arg(value_parser = Suggest(|| vec!["workspace-write", "read-only", "off"]))]
    sandbox: Option<String>,
}

/// The form of an answer that may be piped.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Shape {
    /// Answer in JSON
    #[arg(long)]
    json: bool,
}

impl Shape {
    /// What was asked for.
    pub(crate) fn form(self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve MCP on standard input and output; what an agent's configuration starts
    #[command(after_help = EXIT_CODES)]
    Serve,
    /// Serve MCP over HTTP on loopback, for many sessions at a time
    #[command(after_help = examples::DAEMON)]
    Daemon {
        /// Port on 127.0.0.1, or 0 for any that is free [default: daemon.port, or 8167]
        #[arg(long, value_name = "PORT", global = true)]
        port: Option<String>,
        #[command(subcommand)]
        action: Option<command::daemon::Action>,
    },
    /// The directories in which sessions of the daemon may work
    #[command(after_help = examples::ROOTS)]
    Roots {
        #[command(subcommand)]
        action: command::roots::Action,
    },
    /// Call a tool exactly as an agent does
    #[command(after_help = examples::CALL)]
    Call {
        /// batch, exec-file, execute, fetch-index, index or search
        tool: String,
        /// The arguments, one JSON object; - reads it from standard input
        #[arg(default_value = "{}")]
        arguments: String,
        #[command(flatten)]
        shape: Shape,
    },
    /// Index a file, a directory, or with - what comes on standard input
    #[command(after_help = examples::INDEX)]
    Index {
        /// File or directory beneath the root, or -
        path: PathBuf,
        /// Label under which it is stored; the same label again replaces
        #[arg(long)]
        source: Option<String>,
        #[command(flatten)]
        shape: Shape,
    },
    /// Search what was indexed, fetched and printed by runs
    #[command(after_help = examples::SEARCH)]
    Search {
        /// The question or the words; -- before the first that begins with a hyphen
        #[arg(required = true)]
        words: Vec<String>,
        /// Most results, 1 to 20 [default: 3]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=20))]
        limit: Option<u8>,
        /// Only this label, a prefix ending in *, or a part of a path
        #[arg(long)]
        source: Option<String>,
        /// Only code or only prose
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        /// Titles and references without text
        #[arg(long)]
        brief: bool,
        #[command(flatten)]
        shape: Shape,
    },
    /// Print a stored document or a part of it, whole and exactly
    #[command(after_help = examples::CAT)]
    Cat {
        /// A reference (r:20101-20960) or a label (execute:17, docs/guide.md)
        what: String,
        /// The bytes as they were captured instead of the readable text
        #[arg(long)]
        raw: bool,
    },
    /// List what is stored, newest first
    #[command(after_help = examples::SOURCES)]
    Sources(Shape),
    /// Remove stored text for good
    #[command(after_help = examples::PURGE)]
    Purge {
        /// A label, a prefix ending in *, or a part of a path
        #[arg(required_unless_present = "all")]
        source: Option<String>,
        /// Everything that is stored for this root
        #[arg(long, conflicts_with = "source")]
        all: bool,
        /// Do not ask
        #[arg(long, short, action = ArgAction::SetTrue)]
        yes: bool,
        #[command(flatten)]
        shape: Shape,
    },
    /// Background jobs of all running servers, and how to stop one
    #[command(after_help = examples::JOBS)]
    Jobs {
        #[command(subcommand)]
        action: Option<JobAction>,
        #[command(flatten)]
        shape: Shape,
    },
    /// Show it all on a page in a browser: sources, searches as agents see them, calls, jobs
    #[command(after_help = examples::VIEW)]
    View {
        /// Port of 127.0.0.1 [default: one that is free]
        #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
        port: u16,
        /// Print the address only, also where a browser could be opened
        #[arg(long)]
        no_open: bool,
    },
    /// What calls produced and what was answered, per tool and per day
    #[command(after_help = examples::STATS)]
    Stats {
        /// How many days back, today included
        #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u64).range(1..=3660))]
        days: u64,
        #[command(flatten)]
        shape: Shape,
    },
    /// Let programs reach hosts; running servers follow at once
    #[command(after_help = examples::ALLOW)]
    Allow {
        /// HOST or HOST:PORT (without a port 443 is meant; the host may be private or local), or
        /// *.DOMAIN
        #[arg(required = true, value_name = "HOST[:PORT]")]
        hosts: Vec<String>,
    },
    /// Take that back, or refuse hosts that your own tools use
    #[command(after_help = examples::ALLOW)]
    Disallow {
        /// As for allow
        #[arg(required = true, value_name = "HOST[:PORT]")]
        hosts: Vec<String>,
    },
    /// List the hosts that programs may reach, and where each comes from; or ask about some
    #[command(after_help = examples::ALLOWED)]
    Allowed {
        /// Say whether these are allowed instead; the exit code is 1 when one is not
        #[arg(value_name = "HOST[:PORT]")]
        hosts: Vec<String>,
        #[command(flatten)]
        shape: Shape,
    },
    /// Show every setting, its value, where it comes from and how to change it
    #[command(after_help = examples::CONFIG)]
    Config {
        /// Print a configuration file with every setting, commented out
        #[arg(long, conflicts_with = "json")]
        example: bool,
        #[command(subcommand)]
        action: Option<command::config::Action>,
        #[command(flatten)]
        shape: Shape,
    },
    /// Print completions for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// bash, zsh, fish, elvish or powershell
        #[arg(value_enum, hide_possible_values = true)]
        shell: Shell,
    },
    /// Print the manual of quietcontext or of one of its commands
    #[command(after_help = examples::MAN)]
    Man {
        /// A command
        #[arg(value_name = "COMMAND")]
        page: Option<String>,
        /// Write the manuals of all commands to this directory instead
        #[arg(long, value_name = "DIR", conflicts_with = "page")]
        dir: Option<PathBuf>,
    },
    /// Enter this server into the configuration of a client, such as codex or claude-code
    #[command(after_help = EXIT_CODES)]
    Setup(command::setup::Request),
    /// Check what the server needs on this machine
    #[command(after_help = EXIT_CODES)]
    Doctor {
        /// Print the AppArmor profile that lets this binary make user namespaces
        #[arg(long)]
        apparmor: bool,
        /// Wait for every program's version, and for the check of a large store
        #[arg(long)]
        thorough: bool,
        #[command(flatten)]
        shape: Shape,
    },
}

/// What to do with a job.
#[derive(Debug, Subcommand)]
pub(crate) enum JobAction {
    /// Ask the server that runs a job to stop it, and wait until it has
    #[command(after_help = EXIT_CODES)]
    Stop {
        /// The job as it is listed: execute:17
        job: String,
    },
}

/// Kinds of content.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// Programs and configuration.
    Code,
    /// Text for people.
    Prose,
}

/// How a command answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Parses `arguments` and does what they ask for.
pub(crate) fn run(mut arguments: Vec<OsString>) -> ExitCode {
    // `help setup` is `setup --help`.
    if arguments.first().is_some_and(|first| first == "help") {
        arguments.remove(0);
        arguments.push("--help".into());
    }
    let named = std::iter::once(OsString::from("quietcontext")).chain(arguments);
    let arguments = match Arguments::try_parse_from(named) {
        Ok(arguments) => arguments,
        Err(error) => {
            let asked_for =
                matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let _unheard = error.print();
            return if asked_for { Exit::Fine } else { Exit::Usage }.into();
        }
    };
    let Common { root, data_dir, log, sandbox } = arguments.common;
    let mut flags = Flags { root, data_dir, log, sandbox, port: None };
    let outcome = match arguments.command {
        Command::Serve => return serve::serve(&flags),
        Command::Daemon { port, action } => {
            flags.port = port;
            command::daemon::run(&flags, action)
        }
        Command::Roots { action } => command::roots::run(&flags, action),
        Command::Call { tool, arguments, shape } => {
            command::call::run(&flags, &tool, &arguments, shape.form())
        }
        Command::Index { path, source, shape } => {
            command::index::run(&flags, &path, source, shape.form())
        }
        Command::Search { words, limit, source, kind, brief, shape } => {
            let query = command::search::Query { words, limit, source, kind, brief };
            command::search::run(&flags, query, shape.form())
        }
        Command::Cat { what, raw } => command::cat::run(&flags, &what, raw),
        Command::Sources(shape) => command::sources::run(&flags, shape.form()),
        Command::Purge { source, all: _, yes, shape } => {
            command::purge::run(&flags, source.as_deref(), yes, shape.form())
        }
        Command::Jobs { action: Some(JobAction::Stop { job }), .. } => {
            command::jobs::stop(&flags, &job)
        }
        Command::Jobs { action: None, shape } => command::jobs::run(&flags, shape.form()),
        Command::View { port, no_open } => {
            let browser = if no_open { Browser::Leave } else { Browser::Open };
            view::run(&flags, port, browser)
        }
        Command::Stats { days, shape } => command::stats::run(&flags, days, shape.form()),
        Command::Allow { hosts } => command::allow::allow(&flags, &hosts),
        Command::Disallow { hosts } => command::allow::disallow(&flags, &hosts),
        Command::Allowed { hosts, shape } => command::allowed::run(&flags, &hosts, shape.form()),
        Command::Config { action: Some(action), .. } => command::config::act(&action),
        Command::Config { example: true, .. } => command::config::example(),
        Command::Config { example: false, shape, .. } => command::config::run(&flags, shape.form()),
        Command::Completions { shell } => command::shell::completions(Arguments::command(), shell),
        Command::Man { page, dir } => {
            command::shell::man(Arguments::command(), page.as_deref(), dir.as_deref())
        }
        Command::Setup(request) => command::setup::run(&flags, &request),
        Command::Doctor { apparmor: true, .. } => command::doctor::apparmor(),
        Command::Doctor { apparmor: false, thorough, shape } => {
            command::doctor::run(&flags, thorough, shape.form())
        }
    };
    terminal::finish(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_texts() {
        let mut command = Arguments::command();
        command.build();
        let mut text = command.render_long_help().to_string();
        for sub in command.get_subcommands_mut() {
            text.push_str("\n--------\n");
            text.push_str(&sub.render_long_help().to_string());
        }
        insta::assert_snapshot!(text);
    }
}
