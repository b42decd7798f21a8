//! What a run printed, as one document: standard output, then a `[stderr]` block if there is one.

use std::io::{self, Read};
use std::time::Duration;

use quietcontext_exec::{Exit, Run};
use quietcontext_store::{Label, NewDocument, Observer, Origin, Receipt, Status, StoreError};

use crate::cause;
use crate::context::Context;
use crate::render::{counted, grouped, range, seconds};
use crate::schedule::Work;

/// Runs longer than this say how long they took.
const NOTABLE: Duration = Duration::from_secs(1);

/// What is stored of this size and more waits for its turn, in bytes.
const BIG: u64 = 256 << 10;

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

/// Whether it waits for its turn to be stored.
pub(crate) fn is_big(run: &Run) -> bool {
    run.stdout.len() + run.stderr.len() >= BIG
}

/// Stores the document of a run under a label, with the first line of what printed it.
pub(crate) fn store(
    context: &Context,
    run: &Run,
    label: Label<'_>,
    command: &str,
    observer: Option<&mut dyn Observer>,
) -> Result<Receipt, StoreError> {
    let _turn = is_big(run).then(|| context.queue_blocking(Work::Store));
    let mut bytes = reader(run).map_err(StoreError::Source)?;
    let document = NewDocument { command: Some(command), ..NewDocument::new(label, Origin::Run) };
    let receipt = context.root.store.add(document, &mut bytes, observer)?;
    context.meter.stored(&receipt);
    Ok(receipt)
}

/// How a run ended, in words: `exit 0`, `signal SIGKILL`, `timed out after 1000 ms`.
pub(crate) fn outcome(run: &Run, timeout: Duration) -> String {
    exit_words(run.exit, timeout, run.stdout.len() + run.stderr.len())
}

/// As [`outcome`], from the parts.
pub(crate) fn exit_words(exit: Exit, timeout: Duration, bytes: u64) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal { name, core: false, .. } => format!("signal {name}"),
        Exit::Signal { name, core: true, .. } => format!("signal {name}, core dumped"),
        Exit::TimedOut => format!("timed out after {} ms", timeout.as_millis()),
        Exit::Cancelled => "cancelled".to_owned(),
        Exit::OutputCap => format!("stopped at {} bytes of output, the cap", grouped(bytes)),
    }
}

/// How long a run took, where that is notable and not said by its time-out.
pub(crate) fn took(run: &Run) -> Option<String> {
    (run.duration > NOTABLE && run.exit != Exit::TimedOut).then(|| seconds(run.duration))
}

/// The state lines behind an output: what went wrong, and nothing when all went well.
pub(crate) fn state_lines(context: &Context, run: &Run, timeout: Duration) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(lost) = &run.io_lost {
        lines.push(format!("[output lost: {}]", crate::render::one_line(lost)));
    }
    if run.left_behind > 0 {
        lines.push(left_running(run.left_behind));
    }
    lines.extend(blocked_network(run.blocked.as_deref()));
    lines.extend(cause::of_run(context, run));
    if run.exit != Exit::Code(0) {
        lines.push(format!("[{}]", outcome(run, timeout)));
    }
    lines
}

/// What the network refused and what the user can do: the first and the last line of all that the
/// program was told.
pub(crate) fn blocked_network(blocked: Option<&str>) -> Option<String> {
    let mut lines = blocked?.lines();
    let what = lines.next()?;
    Some(match lines.next_back() {
        Some(remedy) if lines.next_back().is_some() => format!("[{what}; {remedy}]"),
        _ => format!("[{what}]"),
    })
}

/// `[stopped 2 processes left running]`.
pub(crate) fn left_running(count: u32) -> String {
    let noun = if count == 1 { "process" } else { "processes" };
    format!("[stopped {count} {noun} left running]")
}

/// `[indexed 1,288,895 bytes, 200,000 lines as execute:17 · r:20101-20960 · exit 0]`.
pub(crate) fn handle(receipt: &Receipt, run: &Run, timeout: Duration) -> String {
    let mut parts = vec![format!(
        "indexed {}, {} as {}",
        counted(receipt.bytes, "byte"),
        counted(receipt.lines, "line"),
        receipt.label
    )];
    parts.extend(receipt.range.map(range));
    parts.push(outcome(run, timeout));
    parts.extend(took(run));
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
        Some("some bytes shown as U+FFFD".to_owned())
    } else {
        view.encoding.map(|encoding| format!("read as {encoding}"))
    }
}
