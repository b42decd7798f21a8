//! `setup`: enters this server into the configuration of clients, shows it first, takes it back.

use std::{
    fmt::Write as _,
    io::{self, BufRead as _, IsTerminal as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use quietcontext_exec::sandbox::Mode;
use serde_json::{Value, json};

use crate::{
    args::{Form, Shape},
    config::{self, Flags, Surroundings},
    setup::{
        self, Edit, Status,
        clients::{Approval, CLIENTS, Client, Launch, client},
        diff,
    },
    terminal::{self, Exit, Problem, look::Look},
};

/// What is asked for.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Request {
    /// Clients to set up; without one, those on this machine are listed
    #[arg(value_name = "CLIENT")]
    clients: Vec<String>,
    /// Let the client run all six tools without asking
    #[arg(long, conflicts_with = "undo")]
    approve: bool,
    /// Take back what setup changed
    #[arg(long, requires = "clients")]
    undo: bool,
    /// Show what would change, and change nothing
    #[arg(long, short = 'n', requires = "clients")]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short, requires = "clients")]
    yes: bool,
    #[command(flatten)]
    shape: Shape,
}

/// Where this user's things are, and how programs are confined.
struct Here {
    surroundings: Surroundings,
    data_dir: PathBuf,
    mode: Option<Mode>,
}

impl Here {
    /// A path as people write it.
    fn shown(&self, path: &Path) -> String {
        let home = self.surroundings.home.as_deref();
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }
}

/// Lists the clients, or sets some up.
pub(crate) fn run(flags: &Flags, request: &Request) -> Result<Exit, Problem> {
    let surroundings = Surroundings::of_process();
    let loaded = config::load(flags, &surroundings).map_err(Problem::usage)?;
    let no_home = || anyhow!("no home directory is known: give --data-dir");
    let data_dir = loaded.settings.data_dir.ok_or_else(no_home).map_err(Problem::usage)?;
    let here = Here { surroundings, data_dir, mode: loaded.settings.sandbox.mode };
    let form = request.shape.form();
    if request.clients.is_empty() {
        return list(&here, form);
    }
    let named: anyhow::Result<Vec<_>> = request.clients.iter().map(|name| known(name)).collect();
    let named = named.map_err(Problem::usage)?;
    if request.approve && here.mode.is_none() {
        return Err(Problem::usage(anyhow!(
            "the sandbox is off, so programs would run unconfined and unasked: nothing was changed; \
             leave out --approve, or set sandbox.mode"
        )));
    }
    let launch = setup::launch(flags, &here.surroundings)?;
    let mut rows = Vec::new();
    let mut exit = Exit::Fine;
    for client in named {
        match one(&here, client, &launch, request) {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => exit = Exit::Failed,
            Err(problem) if request.clients.len() == 1 => return Err(problem),
            Err(problem) => {
                let _told = terminal::finish(Err(problem));
                exit = Exit::Failed;
            }
        }
    }
    if form == Form::Json {
        terminal::print_line(&Value::Array(rows).to_string())?;
    }
    Ok(exit)
}

fn known(name: &str) -> anyhow::Result<&'static Client> {
    client(name).with_context(|| {
        let names: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
        format!("{name} is not known; there are {}", names.join(", "))
    })
}

/// Sets up one client or takes it back; `None` when the user said no.
fn one(
    here: &Here,
    client: &'static Client,
    launch: &Launch,
    request: &Request,
) -> Result<Option<Value>, Problem> {
    let named = |error: anyhow::Error| error.context(client.title);
    let by_hand = matches!(client.approval, Approval::ByHand(_) | Approval::Given);
    let approve = request.approve && !by_hand;
    let edits = if request.undo {
        setup::plan_back(client, &here.data_dir).map_err(named)?
    } else {
        setup::plan(client, launch, approve, &here.surroundings, &here.data_dir).map_err(named)?
    };
    let changes = edits.iter().any(Edit::changes);
    let text = request.shape.form() == Form::Text;
    if request.dry_run {
        return preview(here, client, &edits, text).map(Some);
    }
    if approve && changes && !request.yes && !confirmed(client, here.mode)? {
        terminal::warn("nothing was changed");
        return Ok(None);
    }
    for edit in edits.iter().filter(|edit| edit.changes() || request.undo) {
        setup::carry_out(client, edit, &here.data_dir).map_err(named)?;
    }
    let status = setup::status(client, &here.surroundings)?;
    if text {
        terminal::print(&told(here, &status, &edits, launch, request)?)?;
    }
    let state = match (changes, request.undo) {
        (false, _) => "unchanged",
        (true, false) => "changed",
        (true, true) => "undone",
    };
    Ok(Some(row(&status, state)))
}

/// What happened, and what to do next.
fn told(
    here: &Here,
    status: &Status,
    edits: &[Edit],
    launch: &Launch,
    request: &Request,
) -> anyhow::Result<String> {
    let Client { name, title, .. } = status.client;
    let changed = || edits.iter().filter(|edit| edit.changes());
    let files: Vec<_> = changed().map(|edit| here.shown(&edit.file)).collect();
    let files = files.join(" and ");
    let mut text = String::new();
    if request.undo {
        writeln!(text, "{title}: taken back{}{files}", if files.is_empty() { "" } else { " in " })?;
        return Ok(text);
    }
    if files.is_empty() {
        writeln!(text, "{title}: nothing to change in {}", here.shown(&status.file))?;
    } else {
        writeln!(text, "{title}: set up in {files}; restart it to load the server")?;
        writeln!(text, "  starts     {} {}", launch.command, launch.arguments.join(" "))?;
    }
    match (&status.client.approval, status.unasked) {
        (Approval::Given, _) => writeln!(text, "  approval   {}", status.client.otherwise)?,
        (_, true) => writeln!(text, "  approval   it runs all six tools unasked")?,
        (Approval::ByHand(how), false) => {
            writeln!(text, "  approval   {}; to change that, {how}", status.client.otherwise)?;
        }
        (_, false) => {
            writeln!(text, "  approval   {}", status.client.otherwise)?;
            writeln!(text, "             quietcontext setup {name} --approve changes that")?;
        }
    }
    if !files.is_empty() {
        writeln!(text, "  take back  quietcontext setup {name} --undo")?;
        if let Some(what) = setup::passing(launch) {
            writeln!(text, "  careful    {} is in {what} and may go away", launch.command)?;
        }
    }
    Ok(text)
}

fn preview(here: &Here, client: &Client, edits: &[Edit], text: bool) -> Result<Value, Problem> {
    let mut look = Look::stdout();
    look.colour = look.colour && text;
    let mut all = String::new();
    for edit in edits.iter().filter(|edit| edit.changes()) {
        let (before, after) = (edit.before().unwrap_or_default(), edit.after.as_deref());
        let name = here.shown(&edit.file);
        if after.is_none() {
            all.push_str(&format!("{name} would be removed\n"));
        }
        all.push_str(&diff::unified(&name, before, after.unwrap_or_default(), look));
    }
    if text {
        let nothing = format!("{}: nothing to change\n", client.title);
        terminal::print(if all.is_empty() { &nothing } else { &all })?;
    }
    let state = if all.is_empty() { "unchanged" } else { "would change" };
    Ok(json!({ "client": client.name, "state": state, "diff": all }))
}

/// Asks what must not be decided for the user.
fn confirmed(client: &Client, mode: Option<Mode>) -> Result<bool, Problem> {
    if !io::stdin().is_terminal() {
        return Err(Problem::usage(anyhow!(
            "nobody to ask whether {} may run tools unasked: give --yes",
            client.title
        )));
    }
    let reach = match mode {
        Some(Mode::ReadOnly) => "write nothing but temporary files and reach no network",
        _ => {
            "write the workspace and temporary files, and reach the hosts of `quietcontext allowed`"
        }
    };
    terminal::print(&format!(
        "{} would run all six tools without asking you. Whatever its model wants to run is run at once, \
         confined: programs may {reach}.\nDo you want that? [y/N] ",
        client.title
    ))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Every client: whether it is here, set up, and what to type.
fn list(here: &Here, form: Form) -> Result<Exit, Problem> {
    let statuses: anyhow::Result<Vec<_>> =
        CLIENTS.iter().map(|client| setup::status(client, &here.surroundings)).collect();
    let statuses = statuses?;
    if form == Form::Json {
        let rows: Value = statuses.iter().map(|status| row(status, word(status))).collect();
        terminal::print_line(&rows.to_string())?;
        return Ok(Exit::Fine);
    }
    let shown = |status: &&Status| status.here || matches!(status.entry, Ok(Some(_)) | Err(_));
    let mut text = String::new();
    for status in statuses.iter().filter(shown) {
        let Client { name, title, .. } = status.client;
        let file = here.shown(&status.file);
        let line = match &status.entry {
            Err(error) => format!("{file} cannot be read: {error:#}"),
            Ok(None) => format!("quietcontext setup {name}"),
            Ok(Some(_)) if setup::can_go_back(status.client, &here.data_dir)? => {
                format!("in {file}; quietcontext setup {name} --undo takes it back")
            }
            Ok(Some(_)) => format!("in {file}, by hand"),
        };
        // A text in memory takes every line.
        let _written = writeln!(text, "{title:<15} {:<12} {line}", word(status));
    }
    if text.is_empty() {
        text.push_str("no client was found on this machine\n");
    }
    let others: Vec<_> = statuses.iter().filter(|it| !shown(it)).map(|it| it.client.name).collect();
    if !others.is_empty() {
        let _written = writeln!(text, "\nnot found here: {}", others.join(", "));
    }
    terminal::print(&text)?;
    Ok(Exit::Fine)
}

fn word(status: &Status) -> &'static str {
    match status.entry {
        Err(_) => "unreadable",
        Ok(None) => "not set up",
        Ok(Some(_)) => "set up",
    }
}

fn row(status: &Status, state: &str) -> Value {
    json!({
        "client": status.client.name,
        "state": state,
        "found": status.here,
        "file": status.file.to_string_lossy(),
        "entry": status.entry.as_ref().ok(),
        "unasked": status.unasked,
    })
}
