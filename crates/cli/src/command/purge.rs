//! `purge`: stored text that is really gone afterwards.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::anyhow;
use quietcontext_store::{Purge, Store};
use serde_json::json;

use crate::{
    args::Form,
    config::Flags,
    terminal::{
        self, Exit, Problem,
        text::{counted, size},
    },
    wire,
};

/// Labels that a question shows.
const SHOWN: usize = 3;

/// Removes `source`, or everything of this root, after asking.
pub(crate) fn run(
    flags: &Flags,
    source: Option<&str>,
    yes: bool,
    form: Form,
) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let root = wired.root.path.display();
    let labels = source
        .map(|source| wired.toolbox.with_store(&wired.root.path, |store| store.labels(source)));
    let labels = labels.transpose()?;
    if labels.as_ref().is_some_and(Vec::is_empty) {
        return removed(0, source, form);
    }
    let question = || -> Result<String, Problem> {
        let Some(labels) = labels else {
            let all = wired.toolbox.with_store(&wired.root.path, Store::sources)?;
            let bytes = all.iter().map(|document| document.bytes).sum();
            let count = counted(all.len() as u64, "source");
            return Ok(format!(
                "Remove {count} ({}) and the journal of calls, all that is stored for {root}? [y/N] ",
                size(bytes)
            ));
        };
        Ok(format!("Remove {} from what is stored for {root}? [y/N] ", named(&labels)))
    };
    if !yes && !confirmed(question)? {
        terminal::hint("nothing was removed");
        return Ok(Exit::Failed);
    }
    let purge = source.map_or(Purge::All, Purge::Source);
    let count = wired.toolbox.with_store(&wired.root.path, |store| store.purge(purge))?;
    removed(count, source, form)
}

/// Labels as a question has them: all that a source names goes, which may be more than was meant.
fn named(labels: &[String]) -> String {
    let shown = labels.iter().take(SHOWN).map(|label| format!("{label:?}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match labels.len() {
        1 => shown,
        count if count <= SHOWN => format!("{count} sources ({shown})"),
        count => format!("{count} sources ({shown}, …)"),
    }
}

fn removed(count: u64, source: Option<&str>, form: Form) -> Result<Exit, Problem> {
    let text = match (form, count) {
        (Form::Json, count) => format!("{}\n", json!({ "removed": count })),
        (Form::Text, 0) => "nothing to remove\n".to_owned(),
        (Form::Text, count) => format!("removed {}\n", counted(count, "source")),
    };
    terminal::print(&text)?;
    if count == 0 && source.is_some() {
        terminal::hint("quietcontext sources lists what is stored");
    }
    Ok(Exit::Fine)
}

fn confirmed(question: impl FnOnce() -> Result<String, Problem>) -> Result<bool, Problem> {
    if !io::stdin().is_terminal() {
        return Err(Problem::usage(anyhow!("nobody to ask: give --yes")));
    }
    terminal::ask(&question()?)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
