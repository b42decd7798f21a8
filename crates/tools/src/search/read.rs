//! Content by reference: whole chunks as long as they fit, exactly as stored, then where to go on.

use quietcontext_store::{Chunk, ChunkId, DocumentInfo, Location, StoreError};

use crate::budget::{ByteBudget, CappedText, clip, cut};
use crate::call::Answer;
use crate::context::Context;
use crate::error::ToolError;
use crate::reference::{End, Reference};
use crate::render::{one_line, place};

/// What is left to read, as the `more:` line says it.
#[derive(Default)]
struct Left(Vec<Reference>);

impl Left {
    /// `more: r:20140@512-20960 r:31200`; what the caller sent itself is counted where room is short.
    fn line(&self, room: usize) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let mut line = "more:".to_owned();
        for (index, reference) in self.0.iter().enumerate() {
            let text = format!(" {reference}");
            if line.len() + text.len() + " and the 1000 refs after it".len() > room && index > 0 {
                line.push_str(&format!(" and the {} refs after it", self.0.len() - index));
                break;
            }
            line.push_str(&text);
        }
        Some(line)
    }
}

/// Answers stored text, page by page.
pub(super) fn answer(
    context: &Context,
    refs: Vec<Result<Reference, String>>,
    max_bytes: usize,
) -> Result<Answer, ToolError> {
    let mut page = Page::new(max_bytes);
    let mut resolved = 0;
    let mut problems = Vec::new();
    let mut refs = refs.into_iter();
    for reference in refs.by_ref() {
        context.check_cancelled()?;
        let reference = match reference {
            Ok(reference) => reference,
            Err(message) => {
                problems.push(message);
                continue;
            }
        };
        match context.root.store.locate(&reference.span()).map_err(could_not_read)? {
            Location::Live { document, first, skip, last } => {
                resolved += 1;
                let whole = page.append(context, &document, first, skip, last)?;
                if !whole {
                    break;
                }
            }
            Location::Unknown if let Some(words) = context.root.jobs.silent(reference.first) => {
                resolved += 1;
                page.state = Some(format!("[{words}]"));
            }
            other => problems.push(unresolved(reference, &other)),
        }
    }
    page.left.0.extend(refs.filter_map(Result::ok));
    if resolved == 0 {
        return Err(ToolError::Failed(problems.join("; ")));
    }
    Ok(page.finish(&problems))
}

fn could_not_read(error: StoreError) -> ToolError {
    tracing::warn!(?error, "reading failed");
    ToolError::Failed(format!("could not read the store: {error}"))
}

/// Why a reference gives no text, in one line that begins with it.
pub(crate) fn unresolved(reference: Reference, location: &Location) -> String {
    match location {
        Location::Live { .. } => reference.to_string(),
        Location::Replaced { by: Some(range) } => format!("{reference} replaced, now r:{range}"),
        Location::Replaced { by: None } => format!("{reference} replaced, now empty"),
        Location::Gone => format!("{reference} gone"),
        Location::Expired => format!("{reference} expired"),
        Location::Unknown => format!("{reference} unknown in this workspace"),
        Location::Crosses { end } => {
            format!("{reference} leaves its document, which ends at r:{end}")
        }
        Location::SkipBeyond { len } => {
            format!("{reference} begins behind the chunk's end, it has {len} bytes")
        }
    }
}

/// One answer of stored text: whole chunks as long as they fit, then where to go on.
struct Page {
    budget: usize,
    text: String,
    left: Left,
    /// `[running]` or `[exit n]` of a job whose end was reached.
    state: Option<String>,
}

/// Room kept for the `more:` line, for lines about references that gave nothing, and for the state.
const RESERVED: usize = 96;

impl Page {
    fn new(max_bytes: usize) -> Self {
        Self { budget: max_bytes, text: String::new(), left: Left::default(), state: None }
    }

    fn room(&self) -> usize {
        self.budget.saturating_sub(self.text.len() + RESERVED.min(self.budget / 3))
    }

    /// Appends `first..=last`; `false` when the page is full and the rest was noted.
    fn append(
        &mut self,
        context: &Context,
        document: &DocumentInfo,
        first: ChunkId,
        skip: u64,
        last: ChunkId,
    ) -> Result<bool, ToolError> {
        let source = document.path.as_deref().filter(|_| document.label.is_empty());
        let source = source.unwrap_or(&document.label);
        let mut next = first;
        let mut skip = skip as usize;
        while next <= last {
            let chunks = context
                .root
                .store
                .chunks(next, last, self.room() as u64)
                .map_err(could_not_read)?;
            let Some(end) = chunks.last().map(|chunk| chunk.id) else { break };
            for chunk in &chunks {
                if let Some(at) = self.push(chunk, source, skip) {
                    let end = if chunk.id == last { End::One } else { End::At(last.0) };
                    self.left.0.push(Reference { first: chunk.id.0, skip: at as u64, end });
                    return Ok(false);
                }
                skip = 0;
            }
            next = ChunkId(end.0 + 1);
        }
        if document.range.is_some_and(|range| range.last <= last) {
            self.state = job_state(document);
        }
        Ok(true)
    }

    /// Adds a chunk. Where it does not fit, as much as fits if the page is empty; answers the byte
    /// at which to go on, or `None` when all of it is there.
    fn push(&mut self, chunk: &Chunk, source: &str, skip: usize) -> Option<usize> {
        let text = chunk.text.get(skip..).unwrap_or_default();
        let header =
            format!("[r:{}] {}\n", chunk.id, place(&chunk.title, source, chunk.lines, &[]));
        let room = self.room();
        // The header is shortened before the text has no room at all.
        let header = if header.len() + 64 > room && self.text.is_empty() {
            format!("{}\n", clip(header.trim_end(), (room / 2).max(40)))
        } else {
            header
        };
        if header.len() + text.len() < room {
            self.text.push_str(&header);
            self.text.push_str(text);
            self.text.push('\n');
            return None;
        }
        if !self.text.is_empty() {
            return Some(skip);
        }
        let kept = cut(text, room.saturating_sub(header.len() + 1).max(4));
        self.text.push_str(&header);
        self.text.push_str(kept);
        self.text.push('\n');
        Some(skip + kept.len())
    }

    fn finish(mut self, problems: &[String]) -> Answer {
        let budget = ByteBudget::new(self.budget);
        let room = self.budget.saturating_sub(self.text.len());
        let more = self.left.line(room.min(RESERVED.max(room / 2)));
        let state = if more.is_none() { self.state.take() } else { None };
        let closing = more.or(state);
        let spare = room.saturating_sub(closing.as_ref().map_or(0, String::len) + 1);
        if !problems.is_empty() {
            let mut line = clip(&problems.join("; "), spare.saturating_sub(1));
            line.push('\n');
            if line.len() <= spare && spare > 16 {
                self.text.push_str(&line);
            }
        }
        if let Some(closing) = closing {
            self.text.push_str(&closing);
        }
        Answer { text: CappedText::cap(self.text, budget), is_error: false }
    }
}

/// How a background job stands, for the end of its text.
fn job_state(document: &DocumentInfo) -> Option<String> {
    if document.running {
        return Some("[running]".to_owned());
    }
    document.outcome.as_ref().map(|outcome| format!("[{}]", one_line(outcome)))
}
