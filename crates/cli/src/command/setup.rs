//! `setup`: enters this server into the configuration of clients, shows it first, takes it back.

use std::{
    fmt::Write as _,
    io::{self, BufRead as _, IsTerminal as _},
    path::Path,
};

use anyhow::{Context as _, anyhow, bail};
use quietcontext_exec::sandbox::Mode;
use quietcontext_server::http;
use serde_json::{Value, json};

use crate::{
    args::{Form, Shape},
    config::{Flags, hint, nearest},
    daemon::{
        place,
        service::{self, Service},
    },
    setup::{
        self, Edit, Status,
        client::{Approval, Client, Daemon, Launch, Remote, TOKEN},
        clients::{CLIENTS, client},
        diff,
        edit::Format,
    },
    suggest::Suggest,
    terminal::{self, Exit, Problem, look::Look},
    wire::{self, Configured},
};

/// What is asked for.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Request {
    /// Clients to set up; without one, those on this machine are listed
    #[arg(value_name = "CLIENT", hide_possible_values = true)]
    #[arg(value_parser = Suggest(|| CLIENTS.iter().map(|client| client.name).collect()))]
    clients: Vec<String>,
    /// Let the client run all six tools without asking
    #[arg(long, conflicts_with = "undo")]
    approve: bool,
    /// Let the client use the daemon, and write the unit that starts it with your session
    #[arg(long)]
    daemon: bool,
    /// Take back what setup changed
    #[arg(long)]
    undo: bool,
    /// Show what would change, and change nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short, requires = "clients")]
    yes: bool,
    #[command(flatten)]
    shape: Shape,
}

/// Where this user's things are, and how programs are confined.
struct Here {
    configured: Configured,
    launch: Launch,
}

impl Here {
    fn shown(&self, path: &Path) -> String {
        shown_path(&self.configured, path)
    }
}

/// A path as people write it.
fn shown_path(configured: &Configured, path: &Path) -> String {
    let home = configured.surroundings.home.as_deref();
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// Lists the clients, or sets some up.
pub(crate) fn run(flags: &Flags, request: &Request) -> Result<Exit, Problem> {
    let configured = wire::configured(flags)?;
    let form = request.shape.form();
    if request.clients.is_empty() && !request.daemon {
        if request.undo || request.dry_run {
            return Err(Problem::usage(anyhow!("which client? quietcontext setup lists them")));
        }
        return list(&configured, form);
    }
    let named: anyhow::Result<Vec<_>> = request.clients.iter().map(|name| known(name)).collect();
    let named = named.map_err(Problem::usage)?;
    let mode = configured.settings.sandbox.mode;
    if request.approve && mode.is_none() {
        return Err(Problem::usage(anyhow!(
            "the sandbox is off, so programs would run unconfined and unasked: nothing was changed; \
             leave out --approve, or set sandbox.mode"
        )));
    }
    let mut launch = setup::launch(flags, &configured.surroundings)?;
    if request.daemon && !request.undo {
        launch.daemon = Some(daemon(&configured).map_err(Problem::usage)?);
        let without = named.iter().find(|client| matches!(client.remote, Remote::None));
        if let Some(client) = without {
            return Err(Problem::usage(anyhow!(
                "{} cannot tell a daemon in which project it is: leave out --daemon",
                client.title
            )));
        }
    }
    let here = Here { configured, launch };
    let mut rows = Vec::new();
    let mut exit = Exit::Fine;
    for client in named {
        match one(&here, client, request) {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => exit = Exit::Failed,
            Err(problem) if request.clients.len() == 1 => return Err(problem),
            Err(problem) => {
                let _told = terminal::finish(Err(problem));
                exit = Exit::Failed;
            }
        }
    }
    // Last, so that a client that cannot be set up leaves no unit behind.
    if request.daemon && exit == Exit::Fine {
        unit(&here, flags, request)?;
    }
    if form == Form::Json {
        terminal::print_line(&Value::Array(rows).to_string())?;
    }
    Ok(exit)
}

fn known(name: &str) -> anyhow::Result<&'static Client> {
    client(name).with_context(|| {
        let names: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
        let hint = hint(nearest(name, names.iter().copied()));
        format!("{name} is not known{hint}; there are {}", names.join(", "))
    })
}

/// Sets up one client or takes it back; `None` when the user said no.
fn one(here: &Here, client: &'static Client, request: &Request) -> Result<Option<Value>, Problem> {
    let Here { configured, .. } = here;
    let data_dir = configured.data_dir.as_path();
    let named = |error: anyhow::Error| error.context(client.title);
    let by_hand = matches!(client.approval, Approval::ByHand(_) | Approval::Given);
    let approve = request.approve && !by_hand;
    let edits = if request.undo {
        setup::plan_back(client.name, client.format, data_dir).map_err(named)?
    } else {
        setup::plan(client, &here.launch, approve, &configured.surroundings, data_dir)
            .map_err(named)?
    };
    let changes = edits.iter().any(Edit::changes);
    let text = request.shape.form() == Form::Text;
    if request.dry_run {
        return preview(here, (client.name, client.title), &edits, text).map(Some);
    }
    if approve && changes && !request.yes && !confirmed(client, configured.settings.sandbox.mode)? {
        terminal::warn("nothing was changed");
        return Ok(None);
    }
    for edit in edits.iter().filter(|edit| edit.changes() || request.undo) {
        setup::carry_out(client.name, edit, data_dir).map_err(named)?;
    }
    let status = setup::status(client, &configured.surroundings)?;
    if text {
        terminal::print(&told(here, &status, &edits, request)?)?;
    }
    let state = match (changes, request.undo) {
        (false, _) => "unchanged",
        (true, false) => "changed",
        (true, true) => "undone",
    };
    Ok(Some(row(&status, state)))
}

/// How clients reach the daemon.
fn daemon(configured: &Configured) -> anyhow::Result<Daemon> {
    let port = configured.settings.daemon_port;
    if port == 0 {
        bail!("daemon.port is 0, and clients need a port that stays: set one");
    }
    let file = place::Place::new(&configured.data_dir).token_file();
    let token_file = file.to_str().context("data_dir is not UTF-8")?.to_owned();
    Ok(Daemon { url: format!("http://127.0.0.1:{port}{}", http::PATH), token_file })
}

/// Writes the unit that starts the daemon with the user's session, or takes it back.
fn unit(here: &Here, flags: &Flags, request: &Request) -> Result<(), Problem> {
    let Configured { surroundings, data_dir, .. } = &here.configured;
    let edits = if request.undo {
        setup::plan_back(setup::UNIT, Format::Json, data_dir)
    } else {
        let service = Service {
            binary: here.launch.command.clone().into(),
            arguments: flags.arguments(),
            path: surroundings.variable("PATH").map(Into::into),
        };
        setup::plan_unit(&service, surroundings, data_dir).map(|edit| vec![edit])
    };
    let edits = edits.map_err(|error| error.context("the daemon's unit"))?;
    let text = request.shape.form() == Form::Text;
    if request.dry_run {
        let _shown = preview(here, (setup::UNIT, "Daemon"), &edits, text)?;
        return Ok(());
    }
    for edit in edits.iter().filter(|edit| edit.changes() || request.undo) {
        setup::carry_out(setup::UNIT, edit, data_dir)?;
    }
    let files: Vec<_> = edits.iter().map(|edit| here.shown(&edit.file)).collect();
    let files = files.join(" and ");
    let next = if cfg!(target_os = "macos") {
        format!("launchctl load -w {files}")
    } else {
        format!("systemctl --user daemon-reload && systemctl --user enable --now {}", service::UNIT)
    };
    let told = match (request.undo, edits.iter().any(Edit::changes)) {
        (true, _) => format!("Daemon: taken back in {files}\n"),
        (false, false) => format!("Daemon: nothing to change in {files}\n"),
        (false, true) => format!(
            "Daemon: unit written to {files}\n  start it   {next}\n  projects   quietcontext roots add \
             DIRECTORY, once for each; it works in no other\n  take back  quietcontext setup --daemon --undo\n"
        ),
    };
    if text {
        terminal::print(&told)?;
    }
    Ok(())
}

/// What happened, and what to do next.
fn told(here: &Here, status: &Status, edits: &[Edit], request: &Request) -> anyhow::Result<String> {
    let Client { name, title, .. } = status.client;
    let launch = &here.launch;
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
        match &launch.daemon {
            Some(daemon) => writeln!(text, "  asks       {}", daemon.url)?,
            None => {
                writeln!(text, "  starts     {} {}", launch.command, launch.arguments.join(" "))?;
            }
        }
        if let (Some(daemon), Remote::Variable(_)) = (&launch.daemon, &status.client.remote) {
            let file = &daemon.token_file;
            writeln!(text, "  needs      export {TOKEN}=\"$(cat '{file}')\" where it is started")?;
        }
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
        if let Some(what) = setup::passing(launch).filter(|_| launch.daemon.is_none()) {
            writeln!(text, "  careful    {} is in {what} and may go away", launch.command)?;
        }
    }
    Ok(text)
}

fn preview(
    here: &Here,
    (name, title): (&str, &str),
    edits: &[Edit],
    text: bool,
) -> Result<Value, Problem> {
    let mut look = Look::stdout();
    look.colour = look.colour && text;
    let mut all = String::new();
    for edit in edits.iter().filter(|edit| edit.changes()) {
        let (before, after) = (edit.before().unwrap_or_default(), edit.after.as_deref());
        let file = here.shown(&edit.file);
        if after.is_none() {
            all.push_str(&format!("{file} would be removed\n"));
        }
        all.push_str(&diff::unified(&file, before, after.unwrap_or_default(), look));
    }
    if text {
        let nothing = format!("{title}: nothing to change\n");
        terminal::print(if all.is_empty() { &nothing } else { &all })?;
    }
    let state = if all.is_empty() { "unchanged" } else { "would change" };
    Ok(json!({ "client": name, "state": state, "diff": all }))
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
fn list(configured: &Configured, form: Form) -> Result<Exit, Problem> {
    let statuses: anyhow::Result<Vec<_>> =
        CLIENTS.iter().map(|client| setup::status(client, &configured.surroundings)).collect();
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
        let file = shown_path(configured, &status.file);
        let line = match &status.entry {
            Err(error) => format!("{file} cannot be read: {error:#}"),
            Ok(None) => format!("quietcontext setup {name}"),
            Ok(Some(_)) if setup::can_go_back(status.client, &configured.data_dir)? => {
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
