//! `completions` and `man`: what a shell and a reader of manuals want of the command line.

use std::{fs, path::Path};

use anyhow::{Context as _, anyhow};
use clap::Command;
use clap_complete::Shell;

use crate::terminal::{self, Exit, Problem};

/// Prints the completions of a shell.
pub(crate) fn completions(mut command: Command, shell: Shell) -> Result<Exit, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "quietcontext", &mut script);
    terminal::print(&String::from_utf8(script)?)?;
    Ok(Exit::Fine)
}

/// Prints the manual of a command, or writes all of them to a directory.
pub(crate) fn man(
    mut command: Command,
    name: Option<&str>,
    directory: Option<&Path>,
) -> Result<Exit, Problem> {
    command.build();
    if let Some(directory) = directory {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let subs = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let pages = subs.map(|sub| (format!("quietcontext-{}", sub.get_name()), sub.clone()));
        for (name, page) in pages.chain([("quietcontext".to_owned(), command.clone())]) {
            let path = directory.join(format!("{name}.1"));
            fs::write(&path, page_of(page)?).with_context(|| path.display().to_string())?;
        }
        return Ok(Exit::Fine);
    }
    let page = match name {
        None => page_of(command)?,
        Some(name) => {
            let sub = command.find_subcommand(name).ok_or_else(|| {
                Problem::usage(anyhow!("there is no command {name}: see quietcontext --help"))
            })?;
            page_of(sub.clone())?
        }
    };
    terminal::print(&page)?;
    Ok(Exit::Fine)
}

fn page_of(command: Command) -> anyhow::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(String::from_utf8(page)?)
}
