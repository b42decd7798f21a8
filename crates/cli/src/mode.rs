//! Decides from the first argument what this process is, before anything is built.
//!
//! A server is started for every session, and its first answer is waited for: it reads its few
//! flags by hand and builds nothing that only people need.

use std::{
    ffi::{OsStr, OsString},
    io::IsTerminal as _,
    process::ExitCode,
};

use quietcontext_exec::sandbox::{HIDDEN_ARGUMENT, child_main};

use crate::{
    args,
    config::Flags,
    memory, serve,
    terminal::{self, Exit},
};

/// What a person sees who starts the program bare in a terminal.
const GREETING: &str = "\
quietcontext is an MCP server: an AI coding agent starts it and talks to it over pipes.

  quietcontext setup     enters it into the agent's configuration, or lists the agents found here
  quietcontext serve     what to enter there by hand
  quietcontext daemon    one process for many sessions, over HTTP on this machine's loopback
  quietcontext --help    what there is for people: index, search, cat, sources, call, jobs,
                         stats, view, purge, allow, config, doctor
";

/// Runs the program with its arguments, its own name left out.
pub(crate) fn start(arguments: Vec<OsString>) -> ExitCode {
    if arguments.first().is_some_and(|first| first == HIDDEN_ARGUMENT) {
        child_main();
    }
    memory::give_back_big_blocks();
    let bare = arguments.is_empty();
    if bare && std::io::stdin().is_terminal() {
        return terminal::finish(terminal::print(GREETING).map(|()| Exit::Fine));
    }
    match server_flags(&arguments) {
        Some(flags) => serve::serve(&flags),
        None => args::run(arguments),
    }
}

/// The flags of a server, if the arguments ask for one and hold nothing else: `serve` may be left
/// out. Everything else, mistakes included, is for the parser that can explain.
fn server_flags(arguments: &[OsString]) -> Option<Flags> {
    let mut rest = arguments.iter().map(OsString::as_os_str);
    if arguments.first().is_some_and(|first| first == "serve") {
        rest.next();
    }
    let mut flags = Flags::default();
    while let Some(argument) = rest.next() {
        let (name, value) = split(argument)?;
        let value = match value {
            Some(value) => value,
            None => rest.next()?,
        };
        flags.set(name, value)?;
    }
    Some(flags)
}

/// `--name=value` as name and value, `--name` as a name whose value follows.
fn split(argument: &OsStr) -> Option<(&str, Option<&OsStr>)> {
    use std::os::unix::ffi::OsStrExt as _;

    let bytes = argument.as_bytes().strip_prefix(b"--")?;
    let (name, value) = match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => (bytes.get(..at)?, Some(OsStr::from_bytes(bytes.get(at + 1..)?))),
        None => (bytes, None),
    };
    Some((std::str::from_utf8(name).ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(arguments: &[&str]) -> Option<Flags> {
        server_flags(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_server_is_asked_for_bare_or_by_name_with_its_flags_only() {
        assert_eq!(flags(&[]), Some(Flags::default()));
        assert_eq!(flags(&["serve"]), Some(Flags::default()));
        let wanted =
            Flags { root: Some("/w".into()), data_dir: Some("/d e".into()), ..Flags::default() };
        assert_eq!(flags(&["serve", "--root", "/w", "--data-dir=/d e"]), Some(wanted.clone()));
        assert_eq!(flags(&["--data-dir", "/d e", "--root=/w"]), Some(wanted));
        for other in [
            &["search", "x"][..],
            &["--help"],
            &["serve", "--help"],
            &["serve", "--root"],
            &["--root", "/w", "search", "x"],
            &["serve", "--rot", "/w"],
            &["-V"],
        ] {
            assert_eq!(flags(other), None, "{other:?}");
        }
    }
}
