//! `search`: questions answered by result lines, and stored text read back by reference.

use std::collections::HashSet;
use std::path::Path;

use quietcontext_store::{
    Chunk, ChunkId, DocumentInfo, Found, Hit, Label, Location, NewDocument, Origin, Query, Scope,
    StoreError, Verdict,
};

use crate::answer::Draft;
use crate::args::search::{QueryArgs, Request};
use crate::budget::{ByteBudget, clip, cut, cut_at_line};
use crate::call::Answer;
use crate::error::ToolError;
use crate::freshness::{self, Freshness};
use crate::limits;
use crate::reference::{End, Reference};
use crate::render::{one_line, place};
use crate::toolbox::Context;

/// Answers `search`.
pub(crate) fn search(context: &Context, request: Request) -> Result<Answer, ToolError> {
    match request {
        Request::Queries(args) => queries(context, &args),
        Request::Refs { refs, max_bytes } => read(context, refs, max_bytes),
    }
}

// ---------------------------------------------------------------- questions

/// The answer to one query, not yet fitted into the room there is.
struct Block {
    lines: Vec<String>,
    /// Previews by the index of the line they follow.
    previews: Vec<(usize, String)>,
}

fn queries(context: &Context, args: &QueryArgs) -> Result<Answer, ToolError> {
    let scope = match &args.source {
        Some(source) => Scope::Source(source),
        None => Scope::All,
    };
    let mut shown = Shown::default();
    let mut blocks = Vec::new();
    for text in &args.queries {
        context.check_cancelled()?;
        let query = Query {
            text,
            limit: args.limit,
            scope,
            kind: args.kind,
            deadline: Some(context.deadline),
        };
        let found = fresh(context, &query)?;
        blocks.push(block(context, text, &found, &mut shown, args.preview));
    }
    Ok(fit(context, &blocks, args.max_bytes))
}

/// Chunks that the answer has shown, so that each is shown once.
#[derive(Default)]
pub(crate) struct Shown(HashSet<ChunkId>);

/// A hit and what the disk says of its file.
pub(crate) struct Checked {
    pub hit: Hit,
    pub freshness: Freshness,
}

/// Results with the state of their files, and the engine's verdict.
pub(crate) struct Results {
    pub checked: Vec<Checked>,
    pub verdict: Verdict,
    pub incomplete: Option<String>,
}

/// Searches; where a file behind a hit has changed, it is indexed again and the search repeated.
pub(crate) fn fresh(context: &Context, query: &Query<'_>) -> Result<Results, ToolError> {
    let find = || context.root.store.search(query).map_err(could_not_search);
    let mut found: Found = find()?;
    if freshness::refresh(context, &found.hits) {
        found = find()?;
    }
    let check = |hit: Hit| Checked { freshness: freshness::of(context, &hit), hit };
    let checked = found.hits.into_iter().map(check).collect();
    Ok(Results { checked, verdict: found.verdict, incomplete: found.incomplete })
}

fn could_not_search(error: StoreError) -> ToolError {
    tracing::warn!(?error, "search failed");
    ToolError::Failed(format!("could not search: {error}"))
}

fn block(
    context: &Context,
    text: &str,
    found: &Results,
    shown: &mut Shown,
    preview: bool,
) -> Block {
    let mut block = Block { lines: vec![query_line(text)], previews: Vec::new() };
    block.lines.extend(verdict_line(found, context));
    let mut seen = Vec::new();
    for Checked { hit, freshness } in &found.checked {
        if !shown.0.insert(hit.chunk) {
            seen.push(format!("r:{}", hit.chunk));
            continue;
        }
        let (mut line, snippet) = hit_lines(hit, &context.root.path);
        line.push_str(freshness.mark());
        block.lines.push(line);
        if preview {
            block.previews.push((block.lines.len() - 1, snippet));
        }
    }
    if !seen.is_empty() {
        block.lines.push(format!("see {}", seen.join(" ")));
    }
    block
}

/// `query: …`, cut at 80 characters: the only thing submitted that is said again.
pub(crate) fn query_line(text: &str) -> String {
    let line = one_line(text);
    let kept: String = line.chars().take(limits::QUERY_CHARS).collect();
    let ellipsis = if kept.len() < line.len() { "…" } else { "" };
    format!("query: {kept}{ellipsis}")
}

/// What the engine says of the results as a whole; nothing when they are good and complete.
pub(crate) fn verdict_line(found: &Results, _context: &Context) -> Option<String> {
    let verdict = match found.verdict {
        Verdict::Good => None,
        Verdict::Weak => Some("no good match"),
        Verdict::NoMatch => Some("no match"),
        Verdict::NothingToSearch => Some("nothing to search for"),
    };
    match (&found.incomplete, verdict) {
        (Some(what), Some(verdict)) => Some(format!("{verdict}; not searched: {}", one_line(what))),
        (Some(what), None) => Some(format!("not searched: {}", one_line(what))),
        (None, verdict) => verdict.map(str::to_owned),
    }
}

/// The result line of a hit, and its preview: at most 600 characters, ended by a line end.
pub(crate) fn hit_lines(hit: &Hit, _root: &Path) -> (String, String) {
    let place = place(&hit.title, &hit.source, hit.lines, &hit.also);
    let preview: String = hit.snippet.chars().take(limits::PREVIEW_CHARS).collect();
    (format!("[r:{}] {place}", hit.chunk), preview)
}

/// Puts the blocks into the budget: every query gets its line, previews go first when room is short.
fn fit(context: &Context, blocks: &[Block], max_bytes: usize) -> Answer {
    let budget = ByteBudget::new(max_bytes);
    // The least a query needs: its line and one more.
    let least =
        |block: &Block| -> usize { block.lines.iter().take(2).map(|line| line.len() + 1).sum() };
    let needed: usize = blocks.iter().map(least).sum();
    if needed > budget.bytes() {
        return overflowing(context, blocks, budget);
    }
    let mut draft = Draft::new(budget);
    let mut reserved = needed;
    for block in blocks {
        reserved -= least(block);
        push(&mut draft, block, reserved);
    }
    draft.finish()
}

/// Adds one block, leaving `reserved` bytes for the blocks behind it.
fn push(draft: &mut Draft, block: &Block, reserved: usize) {
    let later: usize = block.lines.iter().map(|line| line.len() + 1).sum();
    let mut lines_left = later;
    let mut left_out = 0;
    for (index, line) in block.lines.iter().enumerate() {
        lines_left -= line.len() + 1;
        let spare = draft.room().saturating_sub(reserved);
        if index >= 2 && line.len() > spare.saturating_sub(24) {
            left_out += 1;
            continue;
        }
        draft.line(line);
        let preview = block.previews.iter().find(|(at, _)| *at == index);
        if let Some((_, preview)) = preview {
            let spare = draft.room().saturating_sub(reserved + lines_left + 24);
            let text = preview.trim_end_matches('\n');
            let text = if text.len() <= spare {
                text
            } else {
                cut_at_line(text, spare).trim_end_matches('\n')
            };
            // A few bytes of a preview help nobody.
            if text.len() >= 40 || text.len() == preview.trim_end_matches('\n').len() {
                draft.line(text);
            }
        }
    }
    if left_out > 0 {
        draft.line(&format!("+{left_out} more results"));
    }
}

/// More queries than the answer has lines for: the list is stored and the answer leads to it.
fn overflowing(context: &Context, blocks: &[Block], budget: ByteBudget) -> Answer {
    let mut list = String::new();
    for line in blocks.iter().flat_map(|block| &block.lines) {
        list.push_str(line);
        list.push('\n');
    }
    let mut draft = Draft::new(budget);
    let lines: Vec<&str> = list.lines().collect();
    stored_list(context, &mut draft, "search", &format!("{} queries", blocks.len()), &list);
    for line in lines {
        if !draft.line(line) {
            break;
        }
    }
    draft.finish()
}

/// Stores the lines of a long answer as a document, and puts totals and its reference into the head.
pub(crate) fn stored_list(
    context: &Context,
    draft: &mut Draft,
    family: &str,
    totals: &str,
    list: &str,
) {
    let document = NewDocument::new(Label::Numbered { family }, Origin::Run);
    let line = match context.root.store.add(document, &mut list.as_bytes(), None) {
        Ok(receipt) => {
            let range = receipt.range.map(crate::render::range).unwrap_or_default();
            format!("[{totals} · all lines as {} · {range}]", receipt.label)
        }
        Err(error) => {
            format!("[{totals} · {}]", crate::execute::not_stored(&error).trim_matches(['[', ']']))
        }
    };
    draft.head(&line);
}

// ---------------------------------------------------------------- content by reference

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

fn read(
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
        let spare = room.saturating_sub(closing.as_ref().map_or(0, |line| line.len()) + 1);
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
        Answer { text: crate::budget::CappedText::cap(self.text, budget), is_error: false }
    }
}

/// How a background job stands, for the end of its text.
fn job_state(document: &DocumentInfo) -> Option<String> {
    if document.running {
        return Some("[running]".to_owned());
    }
    document.outcome.as_ref().map(|outcome| format!("[{}]", one_line(outcome)))
}
