//! One document: its chunks in order, with their line numbers, as they are stored and searched.

use std::time::SystemTime;

use hyper::StatusCode;
use quietcontext_store::{Chunk, ChunkId, ChunkRange, DocumentInfo, Location};
use quietcontext_tools::Reference;

use super::{
    html::Html,
    site::{Asked, Page, Site},
    sources,
};
use crate::terminal::text::{age, counted, grouped, size};

/// Chunks on one page.
const CHUNKS: u64 = 20;
/// Text on one page, in bytes; the chunk with which it is reached is the last.
const PAGE_BYTES: u64 = 200_000;
/// Text of one chunk that is shown, in bytes: one line may be as long as the document.
const CHUNK_BYTES: usize = 64 << 10;

pub(super) fn page(site: &Site, asked: &Asked) -> anyhow::Result<Page> {
    let missing = |text: &str| Ok(Page::problem(StatusCode::NOT_FOUND, text));
    let Some(number) = asked.number("r") else {
        return missing("A document is shown by the number of one of its chunks.");
    };
    let Ok(reference) = Reference::parse(&format!("r:{number}")) else {
        return missing("That is no number of a chunk.");
    };
    let (toolbox, root) = (&site.wired.toolbox, &site.wired.root.path);
    let located = toolbox.with_store(root, |store| store.locate(&reference.span()))?;
    let document = match located {
        Location::Live { document, .. } => document,
        Location::Replaced { by: Some(by) } => {
            return missing(&format!("r:{number} was replaced; its source is now r:{by}."));
        }
        Location::Replaced { by: None } => return missing("It was replaced, by nothing."),
        Location::Gone => return missing("It was removed."),
        Location::Expired => return missing("It was too old and is gone."),
        _ => return missing("There is no such chunk in this root."),
    };
    let Some(range) = document.range else { return missing("The document is empty.") };
    let from = first_of_page(range, number);
    let last = ChunkId((from + CHUNKS - 1).min(range.last.0));
    let chunks = toolbox.with_store(root, |store| store.chunks(ChunkId(from), last, PAGE_BYTES))?;
    let mut html = Html::default();
    head(&mut html, &document, range);
    let next = chunks.last().map_or(range.last.0, |chunk| chunk.id.0) + 1;
    links(&mut html, range, from, next);
    for chunk in &chunks {
        section(&mut html, chunk);
    }
    links(&mut html, range, from, next);
    Ok(Page::new(document.label.clone(), "sources", html))
}

/// Where the page begins on which a chunk stands.
fn first_of_page(range: ChunkRange, number: u64) -> u64 {
    let first = range.first.0;
    first + number.saturating_sub(first) / CHUNKS * CHUNKS
}

fn head(html: &mut Html, document: &DocumentInfo, range: ChunkRange) {
    html.raw("<h1 class=\"label\">").text(&document.label).raw("</h1><p class=\"about\">");
    html.raw(sources::kind(document.origin)).raw(" · ").text(&counted(document.bytes, "byte"));
    html.raw(" (").text(&size(document.bytes)).raw(") · ");
    html.text(&counted(document.lines, "line")).raw(" · ");
    html.text(&counted(range.last.0 - range.first.0 + 1, "chunk")).raw(" · <code>r:").show(range);
    html.raw("</code> · ").text(&age(document.created, SystemTime::now())).raw(" old");
    let outcome = if document.running { Some("running") } else { document.outcome.as_deref() };
    if let Some(outcome) = outcome {
        html.raw(" · ").text(outcome);
    }
    if document.view.binary {
        html.raw(" · not text, shown as text where it is");
    } else if document.view.differs {
        html.raw(" · shown without what steers a terminal");
    }
    if document.labels.len() > 1 {
        html.raw(" · also ");
        for label in document.labels.iter().filter(|label| **label != document.label).take(5) {
            html.raw("<code>").text(label).raw("</code> ");
        }
    }
    html.raw("</p><p class=\"about\">Whole and exactly: <code>quietcontext cat r:").show(range);
    html.raw("</code></p>");
}

fn links(html: &mut Html, range: ChunkRange, from: u64, next: u64) {
    if from <= range.first.0 && next > range.last.0 {
        return;
    }
    html.raw("<p class=\"pages\">");
    if from > range.first.0 {
        html.raw("<a href=\"document?r=").show(range.first).raw("\">⇤ begin</a> ");
        html.raw("<a rel=\"prev\" href=\"document?r=")
            .show(from.saturating_sub(CHUNKS).max(range.first.0));
        html.raw("\">← before</a> ");
    }
    html.raw("<span>chunks ").text(&grouped(from - range.first.0 + 1)).raw("–");
    html.text(&grouped(next - range.first.0)).raw(" of ");
    html.text(&grouped(range.last.0 - range.first.0 + 1)).raw("</span> ");
    if next <= range.last.0 {
        html.raw("<a rel=\"next\" href=\"document?r=").show(next).raw("\">after →</a> ");
        html.raw("<a href=\"document?r=").show(range.last).raw("#r").show(range.last);
        html.raw("\">end ⇥</a>");
    }
    html.raw("</p>");
}

/// A chunk with its number, title and lines.
fn section(html: &mut Html, chunk: &Chunk) {
    html.raw("<section class=\"chunk\" id=\"r")
        .show(chunk.id)
        .raw("\"><h2><a href=\"#r")
        .show(chunk.id);
    html.raw("\">r:").show(chunk.id).raw("</a> ").text(&chunk.title);
    html.raw(" <small>lines ").show(chunk.lines.0).raw("–").show(chunk.lines.1);
    html.raw(" · ").text(&counted(chunk.text.len() as u64, "byte")).raw("</small></h2>");
    lines(html, &chunk.text, chunk.lines.0, &[]);
    html.raw("</section>");
}

/// Text beside the numbers of its lines.
pub(super) fn lines(html: &mut Html, text: &str, first: u64, words: &[String]) {
    let mut end = text.len().min(CHUNK_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (shown, rest) = text.split_at(end);
    html.raw("<div class=\"lines\" tabindex=\"0\"><pre class=\"gutter\" aria-hidden=\"true\">");
    for (line, _) in shown.lines().enumerate() {
        html.show(first + line as u64).raw("\n");
    }
    html.raw("</pre><pre class=\"text\">").marked(shown, words).raw("</pre></div>");
    if !rest.is_empty() {
        html.raw("<p class=\"about\">… ").text(&counted(rest.len() as u64, "byte"));
        html.raw(" more in this chunk</p>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_stands_on_one_page() {
        let range = ChunkRange { first: ChunkId(100), last: ChunkId(160) };
        for (number, wanted) in [(100, 100), (119, 100), (120, 120), (160, 160), (145, 140)] {
            assert_eq!(first_of_page(range, number), wanted, "{number}");
        }
    }

    #[test]
    fn a_line_as_long_as_a_document_is_cut_and_said() {
        let mut html = Html::default();
        lines(&mut html, &"é".repeat(100_000), 7, &[]);
        let page = html.finish();
        assert!(page.len() < 70_000 && page.contains("more in this chunk"), "{}", page.len());
        assert!(page.contains(">7\n</pre>"));
    }
}
