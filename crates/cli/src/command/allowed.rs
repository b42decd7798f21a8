//! `allowed`: every host that programs may reach, and who says so.

use anyhow::anyhow;
use quietcontext_fetch::{HostPort, proxy::Permit};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::{
    args::Form,
    config::Flags,
    network::Reach,
    terminal::{
        self, Exit, Problem,
        look::{Look, Style},
        table::{Align, Table},
    },
    wire::{self, Wired},
};

/// One line.
struct Row {
    hosts: String,
    from: String,
    origin: String,
    permit: Permit,
}

/// Lists them, or says whether some are allowed.
pub(crate) fn run(flags: &Flags, hosts: &[String], form: Form) -> Result<Exit, Problem> {
    let asked: Option<Vec<_>> = hosts.iter().map(|text| HostPort::parse(text)).collect();
    let asked = asked.ok_or_else(|| Problem::usage(anyhow!("each must be HOST or HOST:PORT")))?;
    let wired = wire::wire(flags)?;
    if asked.is_empty() { list(&wired, form) } else { ask(&wired, asked, form) }
}

/// Asks the policy as the proxy does.
fn ask(wired: &Wired, asked: Vec<HostPort>, form: Form) -> Result<Exit, Problem> {
    let permits = wired.network.for_root(&wired.root.path);
    let runtime = wire::runtime()?;
    let answers = runtime.block_on(async move {
        // Where the proxy asks, too: a thread that may block.
        let answer = move |target: HostPort| (permits.permit(&target), target);
        spawn_blocking(move || asked.into_iter().map(answer).collect::<Vec<_>>()).await
    });
    runtime.shutdown_background();
    let answers = answers?;
    let rows = answers.iter().map(|(permit, target)| Row {
        hosts: target.to_string(),
        from: String::new(),
        origin: String::new(),
        permit: *permit,
    });
    let text = match form {
        Form::Json => rows.map(|row| as_json(&row)).collect::<Value>().to_string() + "\n",
        Form::Text => rows.fold(String::new(), |text, row| {
            let word = if row.permit == Permit::No { "not allowed" } else { "allowed" };
            text + &format!("{} {word}\n", row.hosts)
        }),
    };
    terminal::print(&text)?;
    let all = answers.iter().all(|(permit, _)| *permit != Permit::No);
    Ok(if all { Exit::Fine } else { Exit::Failed })
}

/// The user's own first, then tools and remotes.
fn list(wired: &Wired, form: Form) -> Result<Exit, Problem> {
    let list = wired.network.list().read()?;
    let mut rows: Vec<Row> = Vec::new();
    for entry in &list.entries {
        let permit = if entry.refused { Permit::No } else { entry.hosts.permit() };
        let origin = if entry.refused { "refused" } else { "allow" }.to_owned();
        rows.push(Row { hosts: entry.hosts.to_string(), from: "you".to_owned(), origin, permit });
    }
    match wired.network.reach() {
        Reach::Allowlist => {
            let runtime = wire::runtime()?;
            for found in wired.network.found(&wired.root.path, runtime.handle()) {
                let hosts = found.target.to_string();
                let shown = rows.iter().any(|row| row.hosts == hosts && row.from == found.tool);
                if !shown && list.permit(&found.target) != Some(Permit::No) {
                    let (from, origin, permit) = (found.tool, found.origin, found.permit);
                    rows.push(Row { hosts, from, origin, permit });
                }
            }
            runtime.shutdown_background();
        }
        Reach::Off => terminal::warn("network.mode is off: programs reach nothing"),
        Reach::On => terminal::warn(
            "network.mode is on: programs reach everything but this machine and what is refused",
        ),
    }
    terminal::print(&shown(&rows, form))?;
    Ok(Exit::Fine)
}

fn shown(rows: &[Row], form: Form) -> String {
    match form {
        Form::Json => rows.iter().map(as_json).collect::<Value>().to_string() + "\n",
        Form::Text if rows.is_empty() => {
            terminal::hint("quietcontext allow HOST lets programs reach one");
            "no host is allowed\n".to_owned()
        }
        Form::Text => {
            let mut table =
                Table::new([("HOST", Align::Left), ("FROM", Align::Left), ("WHERE", Align::Left)]);
            for Row { hosts, from, origin, permit } in rows {
                let style = if *permit == Permit::No { Style::Bad } else { Style::Plain };
                table.row([
                    (style, hosts.clone()),
                    (Style::Plain, from.clone()),
                    (Style::Dim, origin.clone()),
                ]);
            }
            table.render(Look::stdout())
        }
    }
}

fn as_json(row: &Row) -> Value {
    let reach = match row.permit {
        Permit::No => "none",
        Permit::Public => "public",
        Permit::Private => "private",
        Permit::Named => "named",
    };
    json!({ "host": row.hosts, "from": row.from, "where": row.origin, "reach": reach })
}
