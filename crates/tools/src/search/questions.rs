//! Questions: every query gets its line, every passage is shown once, previews go first when room is short.

use std::cmp::Reverse;
use std::collections::HashSet;

use quietcontext_store::{
    ChunkId, Found, Hit, Label, NewDocument, Origin, Queries, Query, Scope, StoreError, Verdict,
};

use crate::answer::Draft;
use crate::args::search::QueryArgs;
use crate::budget::{ByteBudget, cut, cut_at_line};
use crate::call::Answer;
use crate::context::Context;
use crate::error::ToolError;
use crate::freshness::{self, Freshness};
use crate::helpers;
use crate::limits;
use crate::render::{self, one_line, place};

/// What one query found, as lines.
struct Answered {
    /// The query, and what the engine says of the results.
    head: Vec<String>,
    /// Chunk, line and preview of each.
    results: Vec<(ChunkId, String, String)>,
}

/// The answer to one query, not yet fitted into the room there is.
struct Block {
    lines: Vec<String>,
    /// Previews by the index of the line they follow.
    previews: Vec<(usize, String)>,
}

/// Answers every query with its line and its results.
pub(super) fn answer(context: &Context, args: &QueryArgs) -> Result<Answer, ToolError> {
    let scope = match &args.source {
        Some(source) => Scope::Source(source),
        None => Scope::All,
    };
    let query = Query {
        scope,
        kind: args.kind,
        snippets: args.preview,
        deadline: Some(context.deadline),
        ..Query::new("", args.limit)
    };
    if context.root.may_have_changed() {
        freshness::sweep(context);
    }
    let mut shown = Shown::default();
    let mut blocks = Vec::new();
    let together = context.root.store.queries(query);
    // Long ones take longer: begun last, one of them would keep one thread alone.
    let mut queries: Vec<(usize, &String)> = args.queries.iter().enumerate().collect();
    queries.sort_by_key(|(_, text)| Reverse(text.len()));
    let found = helpers::together(queries.len(), |number| {
        let (asked, text) = *queries.get(number)?;
        let searched = || fresh(context, &together, &Query { text, ..query });
        let found = context.check_cancelled().and_then(|()| searched());
        Some((asked, found.map(|found| answered(text, &found))))
    });
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_by_key(|(asked, _)| *asked);
    for (_, found) in found {
        blocks.push(block(found?, &mut shown, args.preview));
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
    pub read_as: Vec<(String, Vec<String>)>,
}

/// Searches, as one of the queries of a call that are all like this one. Where a file behind a hit has
/// changed, it is indexed again and the search repeated; before it is said that nothing matches, all known
/// files are looked at.
pub(crate) fn fresh(
    context: &Context,
    together: &Queries<'_>,
    query: &Query<'_>,
) -> Result<Results, ToolError> {
    let searched = Query { text: cut(query.text, limits::QUERY_BYTES), ..*query };
    let was_swept = context.swept.get().is_some();
    let mut found: Found =
        together.search(searched.text, searched.deadline).map_err(could_not_search)?;
    let outputs_only = matches!(query.scope, Scope::Documents(_));
    let missed = found.verdict != Verdict::Good && !outputs_only && !was_swept;
    if freshness::refresh(context, &found.hits) || (missed && freshness::sweep(context)) {
        // Alone: what the others read is not true any more.
        found = context.root.store.search(&searched).map_err(could_not_search)?;
    }
    let check = |hit: Hit| Checked { freshness: freshness::of(context, &hit), hit };
    let checked = found.hits.into_iter().map(check).collect();
    let beyond = (searched.text.len() < query.text.len())
        .then(|| format!("the query beyond {} bytes", render::grouped(limits::QUERY_BYTES as u64)));
    let incomplete = match (found.incomplete, beyond) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    };
    Ok(Results { checked, verdict: found.verdict, incomplete, read_as: found.read_as })
}

fn could_not_search(error: StoreError) -> ToolError {
    tracing::warn!(?error, "search failed");
    ToolError::Failed(format!("could not search: {error}"))
}

fn answered(text: &str, found: &Results) -> Answered {
    let mut head = vec![query_line(text)];
    head.extend(verdict_line(found, text));
    let result = |Checked { hit, freshness }: &Checked| {
        let (mut line, preview) = hit_lines(hit, found.verdict);
        line.push_str(freshness.mark());
        (hit.chunk, line, preview)
    };
    Answered { head, results: found.checked.iter().map(result).collect() }
}

fn block(found: Answered, shown: &mut Shown, preview: bool) -> Block {
    let mut block = Block { lines: found.head, previews: Vec::new() };
    let mut seen = Vec::new();
    for (chunk, line, snippet) in found.results {
        if !shown.0.insert(chunk) {
            seen.push(format!("r:{chunk}"));
            continue;
        }
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
pub(crate) fn verdict_line(found: &Results, text: &str) -> Option<String> {
    let verdict = match found.verdict {
        Verdict::Good => slips(&found.read_as),
        // The question is one; there is no text in the scope it was put to.
        Verdict::NothingToSearch if text.chars().any(char::is_alphanumeric) => {
            Some("no match: nothing there to search".to_owned())
        }
        Verdict::Weak => Some("no good match".to_owned()),
        Verdict::NoMatch => Some("no match".to_owned()),
        Verdict::NothingToSearch => Some("nothing to search for".to_owned()),
    };
    match (&found.incomplete, verdict) {
        (Some(what), Some(verdict)) => Some(format!("{verdict}; not searched: {}", one_line(what))),
        (Some(what), None) => Some(format!("not searched: {}", one_line(what))),
        (None, verdict) => verdict,
    }
}

/// What was searched in place of words that no text has: without it, results for another word would
/// seem to be for the one that was asked for.
fn slips(read_as: &[(String, Vec<String>)]) -> Option<String> {
    let (asked, read): (Vec<_>, Vec<_>) =
        read_as.iter().take(SLIPS).map(|(word, known)| (word.as_str(), known.join(", "))).unzip();
    (!asked.is_empty()).then(|| format!("no {}; read as {}", asked.join(", "), read.join(", ")))
}

/// Words of one query of which it is said that they were taken for slips.
const SLIPS: usize = 3;

/// The result line of a hit, and its preview. Of what is no good match a few lines are enough to see that.
pub(crate) fn hit_lines(hit: &Hit, verdict: Verdict) -> (String, String) {
    let place = place(&hit.title, &hit.source, hit.lines, &hit.also);
    let lines = if verdict == Verdict::Weak { limits::WEAK_LINES } else { usize::MAX };
    let shown: usize = hit.snippet.split_inclusive('\n').take(lines).map(str::len).sum();
    let preview = hit.snippet.get(..shown).unwrap_or_default();
    (format!("[r:{}] {place}", hit.chunk), preview.to_owned())
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
            let range = receipt.range.map(render::range).unwrap_or_default();
            format!("[{totals} · all lines as {} · {range}]", receipt.label)
        }
        Err(error) => {
            format!("[{totals} · {}]", crate::execute::not_stored(&error).trim_matches(['[', ']']))
        }
    };
    draft.head(&line);
}
