//! `sources`: what is stored for this root.

use std::time::SystemTime;

use quietcontext_store::{DocumentInfo, Store};
use serde_json::{Value, json};

use crate::{
    args::Form,
    config::Flags,
    terminal::{
        self, Exit, Problem,
        look::{Look, Style},
        table::{Align, Table},
        text::{age, grouped, size},
    },
    wire,
};

/// Lists every document.
pub(crate) fn run(flags: &Flags, form: Form) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let documents = wired.toolbox.with_store(&wired.root.path, Store::sources)?;
    let text = match form {
        Form::Json => documents.iter().map(as_json).collect::<Value>().to_string() + "\n",
        Form::Text if documents.is_empty() => {
            terminal::hint(
                "quietcontext index docs stores a folder; so do runs and fetches of agents",
            );
            format!("nothing is stored for {} yet\n", wired.root.path.display())
        }
        Form::Text => table(&documents),
    };
    terminal::print(&text)?;
    Ok(Exit::Fine)
}

fn table(documents: &[DocumentInfo]) -> String {
    let now = SystemTime::now();
    let mut table = Table::new([
        ("REFERENCE", Align::Left),
        ("SIZE", Align::Right),
        ("LINES", Align::Right),
        ("AGE", Align::Right),
        ("SOURCE", Align::Left),
    ]);
    for document in documents {
        let range = document.range.map(|range| format!("r:{range}")).unwrap_or_default();
        let outcome = if document.running { Some("running") } else { document.outcome.as_deref() };
        let outcome = outcome.map(|outcome| format!(" · {outcome}")).unwrap_or_default();
        table.row([
            (Style::Place, range),
            (Style::Plain, size(document.bytes)),
            (Style::Plain, grouped(document.lines)),
            (Style::Dim, age(document.created, now)),
            (Style::Plain, format!("{}{outcome}", document.label)),
        ]);
    }
    table.render(Look::stdout())
}

fn as_json(document: &DocumentInfo) -> Value {
    let created = document.created.duration_since(SystemTime::UNIX_EPOCH);
    json!({
        "label": document.label,
        "labels": document.labels,
        "reference": document.range.map(|range| format!("r:{range}")),
        "bytes": document.bytes,
        "lines": document.lines,
        "outcome": document.outcome,
        "running": document.running,
        "path": document.path,
        "created_unix_s": created.map_or(0, |created| created.as_secs()),
    })
}
