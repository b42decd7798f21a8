//! What one call did, measured while it ran, and the line by which the journal keeps it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use quietcontext_store::{ChunkRange, Receipt};
use serde_json::{Map, Value, json};

use crate::budget::clip;
use crate::call::Answer;
use crate::render;
use crate::tool::Tool;
use crate::toolbox::Root;

/// How a record's line begins. It cannot stand inside a record: there its quotes are escaped.
const START: &str = "{\"t\":";
/// Longest summary, in bytes.
const SUMMARY_BYTES: usize = 120;

/// One call of a tool, or the end of a background job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// When it began.
    pub at: SystemTime,
    /// The tool's published name.
    pub tool: String,
    /// A background job has ended; the call that started it has a record of its own.
    pub job: bool,
    /// Bytes that programs printed, that were fetched, or that were indexed.
    pub produced: u64,
    /// Bytes of the answer.
    pub answered: u64,
    /// `ok`, `error`, `exit 3`, `cancelled`, …
    pub outcome: String,
    /// How long it took.
    pub duration: Duration,
    /// What was called, one line of at most 120 bytes.
    pub summary: String,
    /// The document it stored: `r:7-9`.
    pub reference: Option<String>,
}

impl CallRecord {
    /// The record in a line of the journal; `None` where there is none. In front of it may be what
    /// is left of a line that was never finished.
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.get(line.rfind(START)?..)?;
        let value: Value = serde_json::from_str(line).ok()?;
        let number = |key: &str| value.get(key).and_then(Value::as_u64);
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            at: UNIX_EPOCH.checked_add(Duration::from_millis(number("t")?))?,
            tool: text("tool")?,
            job: value.get("job").is_some(),
            produced: number("produced")?,
            answered: number("answered")?,
            outcome: text("outcome")?,
            duration: Duration::from_micros(number("us")?),
            summary: text("what").unwrap_or_default(),
            reference: text("ref"),
        })
    }

    /// Its line.
    fn line(&self) -> String {
        let at = self.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut value = json!({
            "t": at.as_millis() as u64,
            "tool": self.tool,
            "produced": self.produced,
            "answered": self.answered,
            "outcome": self.outcome,
            "us": self.duration.as_micros() as u64,
            "what": self.summary,
        });
        if self.job {
            value["job"] = json!(true);
        }
        if let Some(reference) = &self.reference {
            value["ref"] = json!(reference);
        }
        value.to_string()
    }

    /// Keeps it. A call does not fail because nobody could note it.
    pub(crate) fn keep(&self, root: &Root) {
        if let Err(error) = root.store.journal().append(&self.line()) {
            tracing::debug!(%error, "a call was not noted");
        }
    }
}

/// What is learned about a call while it runs.
#[derive(Debug)]
pub(crate) struct Meter {
    pub tool: Tool,
    pub summary: String,
    /// Whether the user wants a journal.
    pub kept: bool,
    produced: AtomicU64,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    outcome: Option<String>,
    reference: Option<String>,
}

impl Meter {
    pub(crate) fn new(tool: Tool, arguments: &Map<String, Value>, root: &Path, kept: bool) -> Self {
        let (produced, seen) = (AtomicU64::new(0), Mutex::default());
        Self { tool, summary: summary(tool, arguments, root), kept, produced, seen }
    }

    /// What is called, in a line.
    pub(crate) fn summary(&self) -> &str {
        &self.summary
    }

    /// Counts bytes that came from a program, a page or a file.
    pub(crate) fn produced(&self, bytes: u64) {
        self.produced.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes how the call's program ended.
    pub(crate) fn outcome(&self, outcome: String) {
        self.seen(|seen| seen.outcome = Some(outcome));
    }

    /// Notes the document of the call, the first one if there are several.
    pub(crate) fn stored(&self, receipt: &Receipt) {
        self.leads_to(receipt.range);
    }

    fn leads_to(&self, range: Option<ChunkRange>) {
        if let Some(range) = range {
            self.seen(|seen| {
                seen.reference.get_or_insert_with(|| render::range(range));
            });
        }
    }

    fn seen<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A call under way. Its record is kept when this is dropped, however the call ended.
pub(crate) struct Recording {
    root: Arc<Root>,
    meter: Arc<Meter>,
    at: SystemTime,
    started: Instant,
    answer: Option<(u64, bool)>,
}

impl Recording {
    pub(crate) fn begin(root: &Arc<Root>, meter: &Arc<Meter>, started: Instant) -> Self {
        let (root, meter) = (Arc::clone(root), Arc::clone(meter));
        Self { root, meter, at: SystemTime::now(), started, answer: None }
    }

    /// Notes the answer.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        self.answer = Some((answer.text.as_str().len() as u64, answer.is_error));
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let (outcome, reference) =
            self.meter.seen(|seen| (seen.outcome.take(), seen.reference.take()));
        let outcome = match self.answer {
            None => "cancelled".to_owned(),
            Some((_, true)) => "error".to_owned(),
            Some((_, false)) => outcome.unwrap_or_else(|| "ok".to_owned()),
        };
        let record = CallRecord {
            at: self.at,
            tool: self.meter.tool.name().to_owned(),
            job: false,
            produced: self.meter.produced.load(Ordering::Relaxed),
            answered: self.answer.map_or(0, |(bytes, _)| bytes),
            outcome,
            duration: self.started.elapsed(),
            summary: self.meter.summary.clone(),
            reference,
        };
        record.keep(&self.root);
    }
}

/// What a call is about, in a line: a label, a question, the first line of a program.
fn summary(tool: Tool, arguments: &Map<String, Value>, root: &Path) -> String {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let line = match tool {
        Tool::Execute | Tool::ExecFile => {
            let what = match (text("stop"), text("code"), text("script_ref")) {
                (Some(label), _, _) => format!("stop {}", plain(label)),
                (_, Some(code), _) => first_line(code),
                (_, _, script) => plain(script.unwrap_or_default()),
            };
            match (text("path"), text("language")) {
                (Some(path), _) => format!("{}: {what}", below(root, path)),
                (None, Some(language)) if language != "shell" => {
                    format!("{}: {what}", plain(language))
                }
                _ => what,
            }
        }
        Tool::Batch => several(arguments.get("commands"), |item| {
            first_line(item.as_str().or_else(|| item.get("command")?.as_str()).unwrap_or_default())
        }),
        Tool::FetchIndex => match text("url") {
            Some(url) => address(url),
            None => several(arguments.get("requests"), |item| {
                address(item.as_str().or_else(|| item.get("url")?.as_str()).unwrap_or_default())
            }),
        },
        Tool::Index => match text("path") {
            Some(path) => below(root, path),
            None => plain(text("source").unwrap_or("text")),
        },
        Tool::Search => {
            let asked = arguments.get("queries").or_else(|| arguments.get("refs"));
            several(asked, |item| plain(item.as_str().unwrap_or_default()))
        }
    };
    clip(&line, SUMMARY_BYTES)
}

/// The first of several, and how many more there are.
fn several(items: Option<&Value>, line: impl Fn(&Value) -> String) -> String {
    match items {
        Some(Value::Array(items)) => {
            let first = items.first().map(line).unwrap_or_default();
            match items.len() {
                0 | 1 => first,
                more => format!("{} (+{})", clip(&first, SUMMARY_BYTES - 12), more - 1),
            }
        }
        Some(one) => line(one),
        None => String::new(),
    }
}

/// A path as it is seen from the root.
fn below(root: &Path, path: &str) -> String {
    let seen = match Path::new(path).strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => Path::new("."),
        Ok(rest) => rest,
        Err(_) => Path::new(path),
    };
    plain(&seen.to_string_lossy())
}

/// The first line of a program that says something.
pub(crate) fn first_line(code: &str) -> String {
    plain(code.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

/// An address without what may be a secret: user, password and query.
fn address(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let shown = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    };
    plain(&shown)
}

/// One line without control characters and without those that reorder a line.
fn plain(text: &str) -> String {
    let text = crate::budget::cut(text, SUMMARY_BYTES * 4);
    let kept: String = text.chars().filter(|&c| !reorders(c)).collect();
    clip(&render::one_line(&kept), SUMMARY_BYTES)
}

/// Characters by which a line can be made to look like another one.
fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> CallRecord {
        CallRecord {
            at: UNIX_EPOCH + Duration::from_millis(1_790_000_000_123),
            tool: "execute".into(),
            job: false,
            produced: 1_288_895,
            answered: 812,
            outcome: "exit 3".into(),
            duration: Duration::from_micros(4_321),
            summary: "echo \"{\"t\":1}\" é".into(),
            reference: Some("r:7-9".into()),
        }
    }

    #[test]
    fn a_record_comes_back_from_its_line_and_from_behind_half_a_line() {
        for record in [record(), CallRecord { job: true, reference: None, answered: 0, ..record() }]
        {
            let line = record.line();
            assert_eq!(CallRecord::parse(&line), Some(record.clone()));
            for end in (0..line.len()).filter(|&end| line.is_char_boundary(end)) {
                let (half, _) = line.split_at(end);
                assert_eq!(CallRecord::parse(half), None, "{half}");
                assert_eq!(CallRecord::parse(&format!("{half}{line}")), Some(record.clone()));
            }
        }
    }

    #[test]
    fn a_summary_is_one_short_line_without_secrets_of_an_address() {
        let of =
            |tool, arguments: Value| summary(tool, arguments.as_object().unwrap(), Path::new("/w"));
        for (tool, arguments, wanted) in [
            (
                Tool::Execute,
                json!({"language":"shell","code":"\n\n make\u{1b}[31m\nx"}),
                "make [31m",
            ),
            (Tool::Execute, json!({"language":"python","code":"print(1)"}), "python: print(1)"),
            (Tool::Execute, json!({"stop":"execute:7"}), "stop execute:7"),
            (Tool::ExecFile, json!({"path":"a.log","language":"shell","code":"wc"}), "a.log: wc"),
            (Tool::Batch, json!({"commands":[{"command":"a"},{"command":"b"}]}), "a (+1)"),
            (Tool::Search, json!({"queries":["x\u{202e}y","z"]}), "xy (+1)"),
            (Tool::Search, json!({"refs":["r:7-9"]}), "r:7-9"),
            (Tool::Index, json!({"path":"docs"}), "docs"),
            (Tool::Index, json!({"path":"/w/docs"}), "docs"),
            (Tool::Index, json!({"path":"/w"}), "."),
            (Tool::Index, json!({"path":"/elsewhere"}), "/elsewhere"),
            (Tool::Index, json!({"content":"secret"}), "text"),
            (
                Tool::FetchIndex,
                json!({"url":"https://ada:pw@host.example/a@b?token=1#x"}),
                "https://host.example/a@b",
            ),
            (Tool::FetchIndex, json!({"requests":["a.example/x?y"]}), "a.example/x"),
            (Tool::Search, json!({"queries": 7}), ""),
        ] {
            assert_eq!(of(tool, arguments), wanted);
        }
        let long = of(Tool::Execute, json!({"code": "é".repeat(1_000_000)}));
        assert!(long.len() <= SUMMARY_BYTES && long.ends_with('…'), "{long}");
    }
}
