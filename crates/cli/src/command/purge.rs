//! `purge`: stored text that is really gone afterwards.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::anyhow;
use quietcontext_store::Purge;

use crate::{
    config::Flags,
    terminal::{self, Exit, Problem},
    wire,
};

/// Removes `source`, or everything of this root, after asking.
pub(crate) fn run(flags: &Flags, source: Option<&str>, yes: bool) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let what = source.map_or_else(|| "everything".to_owned(), |source| format!("{source:?}"));
    let question = format!("Remove {what} stored for {}? [y/N] ", wired.root.path.display());
    if !yes && !confirmed(&question)? {
        return Ok(Exit::Failed);
    }
    let purge = source.map_or(Purge::All, Purge::Source);
    let count = wired.toolbox.with_store(&wired.root.path, |store| store.purge(purge))?;
    match count {
        0 => terminal::print("nothing to remove\n")?,
        1 => terminal::print("removed 1 source\n")?,
        count => terminal::print(&format!("removed {count} sources\n"))?,
    }
    Ok(Exit::Fine)
}

fn confirmed(question: &str) -> Result<bool, Problem> {
    if !io::stdin().is_terminal() {
        return Err(Problem::usage(anyhow!("nobody to ask: give --yes")));
    }
    terminal::print(question)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
