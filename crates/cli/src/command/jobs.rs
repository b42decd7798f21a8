//! `jobs`: what runs in the background of this root, in whichever server, and how it is stopped.

use std::time::{Duration, Instant, SystemTime};

use anyhow::anyhow;
use quietcontext_store::DocumentInfo;
use quietcontext_tools::{CallRecord, LiveJob};
use serde_json::{Value, json};

use crate::{
    args::Form,
    config::Flags,
    terminal::{
        self, Exit, Problem,
        look::{Look, Style},
        table::{Align, Table},
        text::{age, size},
    },
    wire::{self, Wired},
};

/// Jobs that have ended and are still shown.
const ENDED: usize = 10;
/// How long a server has to stop a job; it looks ten times a second and then ends every process.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lists what runs, then what has ended of late.
pub(crate) fn run(flags: &Flags, form: Form) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let running = wired.toolbox.live_jobs(&wired.root.path)?;
    let ended = wired.toolbox.records(&wired.root.path)?;
    let ended: Vec<&CallRecord> =
        ended.iter().rev().filter(|record| record.job).take(ENDED).collect();
    let mut rows = Vec::new();
    for job in running {
        let document = document(&wired, &job.label)?;
        rows.push((job, document));
    }
    let text = match form {
        Form::Json => as_json(&rows, &ended).to_string() + "\n",
        Form::Text if rows.is_empty() && ended.is_empty() => {
            terminal::hint("an agent starts one with execute and background: true");
            "no background job runs for this root\n".to_owned()
        }
        Form::Text => table(&rows, &ended),
    };
    terminal::print(&text)?;
    if let (Form::Text, Some((job, _))) = (form, rows.first()) {
        let label = &job.label;
        terminal::hint(&format!(
            "quietcontext cat {label} prints its output so far, quietcontext jobs stop {label} stops it"
        ));
    }
    Ok(Exit::Fine)
}

/// Asks the server of a job to stop it, and waits until it has.
pub(crate) fn stop(flags: &Flags, label: &str) -> Result<Exit, Problem> {
    let wired = wire::wire(flags)?;
    let jobs = wired.toolbox.live_jobs(&wired.root.path)?;
    let Some(job) = jobs.iter().find(|job| job.label == label) else {
        let known: Vec<&str> = jobs.iter().map(|job| job.label.as_str()).collect();
        let there = match known.as_slice() {
            [] => "none runs for this root".to_owned(),
            known => format!("there are {}", known.join(", ")),
        };
        return Err(Problem::from(anyhow!("no running job is called {label}: {there}")));
    };
    job.ask_to_stop()?;
    let until = Instant::now() + PATIENCE;
    while job.runs() {
        if Instant::now() > until {
            return Err(Problem::from(anyhow!(
                "{label} was asked to stop {} s ago and still runs in process {}",
                PATIENCE.as_secs(),
                job.server
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let outcome = document(&wired, label)?.and_then(|document| document.outcome);
    terminal::print(&format!("{label} {}\n", outcome.as_deref().unwrap_or("stopped")))?;
    Ok(Exit::Fine)
}

fn document(wired: &Wired, label: &str) -> Result<Option<DocumentInfo>, Problem> {
    Ok(wired.toolbox.with_store(&wired.root.path, |store| store.by_label(label))?)
}

fn bytes(document: Option<&DocumentInfo>) -> u64 {
    document.map_or(0, |document| document.bytes)
}

fn table(running: &[(LiveJob, Option<DocumentInfo>)], ended: &[&CallRecord]) -> String {
    let now = SystemTime::now();
    let mut table = Table::new([
        ("JOB", Align::Left),
        ("STATE", Align::Left),
        ("SINCE", Align::Right),
        ("PRINTED", Align::Right),
        ("REFERENCE", Align::Left),
        ("WHAT", Align::Left),
    ]);
    for (job, document) in running {
        table.row([
            (Style::Bold, job.label.clone()),
            (Style::Good, "running".to_owned()),
            (Style::Plain, age(job.since, now)),
            (Style::Plain, size(bytes(document.as_ref()))),
            (Style::Place, format!("r:{}-", job.first)),
            (Style::Plain, job.summary.clone()),
        ]);
    }
    for record in ended {
        let (label, what) = split(record);
        let style = match record.outcome.as_str() {
            "exit 0" | "stopped" => Style::Dim,
            _ => Style::Bad,
        };
        table.row([
            (Style::Plain, label.to_owned()),
            (style, record.outcome.clone()),
            (Style::Dim, age(record.at + record.duration, now)),
            (Style::Dim, size(record.produced)),
            (Style::Dim, record.reference.clone().unwrap_or_default()),
            (Style::Dim, what.to_owned()),
        ]);
    }
    table.render(Look::stdout())
}

/// The label and the command of a job that has ended.
fn split(record: &CallRecord) -> (&str, &str) {
    record.summary.split_once(": ").unwrap_or(("", &record.summary))
}

fn as_json(running: &[(LiveJob, Option<DocumentInfo>)], ended: &[&CallRecord]) -> Value {
    let unix = |when: SystemTime| {
        when.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
    };
    let running = running.iter().map(|(job, document)| {
        json!({
            "job": job.label,
            "state": "running",
            "started_unix_s": unix(job.since),
            "bytes": bytes(document.as_ref()),
            "reference": format!("r:{}-", job.first),
            "what": job.summary,
            "server_process": job.server,
        })
    });
    let ended = ended.iter().map(|record| {
        let (label, what) = split(record);
        json!({
            "job": label,
            "state": record.outcome,
            "started_unix_s": unix(record.at),
            "ended_unix_s": unix(record.at + record.duration),
            "bytes": record.produced,
            "reference": record.reference,
            "what": what,
        })
    });
    running.chain(ended).collect()
}
