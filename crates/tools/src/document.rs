//! What a run printed, as one document: standard output, then a `[stderr]` block if there is one.

use std::io::{self, Read};

use quietcontext_exec::sandbox::Mode;
use quietcontext_exec::{Exit, Run, Spool};
use quietcontext_store::{Label, NewDocument, Observer, Origin, Receipt, Status, StoreError};

use crate::render::{counted, grouped, range, seconds};
use crate::toolbox::Context;

/// Runs longer than this say how long they took, in milliseconds.
const NOTABLE_MS: u128 = 1_000;

/// The marker line between the two streams.
pub(crate) const STDERR: &str = "[stderr]\n";

/// Reads the whole document of a run.
pub(crate) fn reader(run: &Run) -> io::Result<Box<dyn Read + Send>> {
    let stdout = run.stdout.reader()?;
    if run.stderr.is_empty() {
        return Ok(stdout);
    }
    let marker = if ends_open(run)? { "\n[stderr]\n" } else { STDERR };
    Ok(Box::new(stdout.chain(marker.as_bytes()).chain(run.stderr.reader()?)))
}

/// Whether standard output has text and no line end at its end.
fn ends_open(run: &Run) -> io::Result<bool> {
    let Some(last) = run.stdout.len().checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    let read = run.stdout.read_at(last, &mut byte)?;
    Ok(read == 1 && byte != *b"\n")
}

/// Stores the document of a run under a label.
pub(crate) fn store(
    context: &Context,
    run: &Run,
    label: Label<'_>,
    observer: Option<&mut dyn Observer>,
) -> Result<Receipt, StoreError> {
    let mut bytes = reader(run).map_err(StoreError::Source)?;
    context.root.store.add(NewDocument::new(label, Origin::Run), &mut bytes, observer)
}

/// How a run ended, in words: `exit 0`, `signal SIGKILL`, `timed out after 1000 ms`.
pub(crate) fn outcome(run: &Run, timeout: std::time::Duration) -> String {
    exit_words(run.exit, timeout, run.stdout.len() + run.stderr.len())
}

/// As [`outcome`], from the parts.
pub(crate) fn exit_words(exit: Exit, timeout: std::time::Duration, bytes: u64) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal { name, core: false, .. } => format!("signal {name}"),
        Exit::Signal { name, core: true, .. } => format!("signal {name}, core dumped"),
        Exit::TimedOut => format!("timed out after {} ms", timeout.as_millis()),
        Exit::Cancelled => "cancelled".to_owned(),
        Exit::OutputCap => format!("stopped at {} bytes of output, the cap", grouped(bytes)),
    }
}

/// The state lines behind an output: what went wrong, and nothing when all went well.
pub(crate) fn state_lines(run: &Run, timeout: std::time::Duration) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(lost) = &run.io_lost {
        lines.push(format!("[output lost: {}]", crate::render::one_line(lost)));
    }
    if run.left_behind > 0 {
        lines.push(left_running(run.left_behind));
    }
    lines.extend(blocked_network(&run.denied));
    lines.extend(blocked_files(run).map(str::to_owned));
    if run.exit != Exit::Code(0) {
        lines.push(format!("[{}]", outcome(run, timeout)));
    }
    lines
}

/// Which hosts were asked for and not allowed; none of the text is the program's own.
pub(crate) fn blocked_network(denied: &[String]) -> Option<String> {
    /// Hosts that are named.
    const NAMED: usize = 3;
    let first = denied.first()?;
    let named = denied.get(..NAMED).unwrap_or(denied).join(", ");
    let more = denied.len().saturating_sub(NAMED);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "[blocked by the sandbox: network to {named}{rest}; the user can run: quietcontext allow {first}]"
    ))
}

/// Whether a run that failed printed what a program prints that may not write or open something.
/// It may have had another cause, so the line says "possibly".
fn blocked_files(run: &Run) -> Option<&'static str> {
    /// What the C library calls the errors of a forbidden path.
    const SIGNS: [&str; 3] =
        ["Read-only file system", "Permission denied", "Operation not permitted"];
    /// The end of each stream that is looked at, in bytes.
    const LOOK: u64 = 16 << 10;
    let mode = run.confined.filter(|_| run.exit != Exit::Code(0))?;
    let says_so = |spool: &Spool| {
        let mut end = vec![0; LOOK as usize];
        let read = spool.read_at(spool.len().saturating_sub(LOOK), &mut end).unwrap_or(0);
        let text = String::from_utf8_lossy(end.get(..read).unwrap_or_default()).into_owned();
        SIGNS.iter().any(|sign| text.contains(sign))
    };
    if !says_so(&run.stderr) && !says_so(&run.stdout) {
        return None;
    }
    Some(match mode {
        Mode::WorkspaceWrite => {
            "[possibly blocked by the sandbox: writable are the workspace and /tmp; the user can set \
             sandbox.writable or sandbox.readable]"
        }
        Mode::ReadOnly => {
            "[possibly blocked by the sandbox: it is read-only, writable is /tmp alone; the user can \
             set sandbox.mode]"
        }
    })
}

/// `[stopped 2 processes left running]`.
pub(crate) fn left_running(count: u32) -> String {
    let noun = if count == 1 { "process" } else { "processes" };
    format!("[stopped {count} {noun} left running]")
}

/// `[indexed 1,288,895 bytes, 200,000 lines as execute:17 · r:20101-20960 · exit 0]`.
pub(crate) fn handle(receipt: &Receipt, run: &Run, timeout: std::time::Duration) -> String {
    let mut parts = vec![format!(
        "indexed {}, {} as {}",
        counted(receipt.bytes, "byte"),
        counted(receipt.lines, "line"),
        receipt.label
    )];
    parts.extend(receipt.range.map(range));
    parts.push(outcome(run, timeout));
    if run.duration.as_millis() > NOTABLE_MS {
        parts.push(seconds(run.duration));
    }
    parts.extend(view_words(receipt.view));
    if let Status::SameAs(label) = &receipt.status {
        parts.push(format!("same output as {label}"));
    }
    format!("[{}]", parts.join(" · "))
}

/// What a reader of the view must know about it: it was decoded, or it is not text.
pub(crate) fn view_words(view: quietcontext_store::View) -> Option<String> {
    if view.binary {
        Some("binary, shown as text where it is".to_owned())
    } else if view.replaced {
        Some("not all UTF-8, U+FFFD stands for the rest".to_owned())
    } else {
        view.encoding.map(|encoding| format!("read as {encoding}"))
    }
}
