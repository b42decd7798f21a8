//! What is stored: every source, newest first.

use std::time::SystemTime;

use quietcontext_store::{DocumentInfo, Origin, Store};

use super::{
    calls,
    html::Html,
    site::{Asked, Page, Site},
};
use crate::terminal::text::{age, counted, grouped, size};

/// Sources on one page.
const SHOWN: usize = 200;

pub(super) fn page(site: &Site, asked: &Asked) -> anyhow::Result<Page> {
    let documents = site.wired.toolbox.with_store(&site.wired.root.path, Store::sources)?;
    let part = asked.text("part");
    let lower = part.to_lowercase();
    let matches = |document: &&DocumentInfo| {
        part.is_empty() || document.labels.iter().any(|label| label.to_lowercase().contains(&lower))
    };
    let wanted: Vec<&DocumentInfo> = documents.iter().filter(matches).collect();
    let at = asked.page();
    let bytes: u64 = wanted.iter().map(|document| document.bytes).sum();
    let mut html = Html::default();
    html.raw("<h1>Sources</h1><form class=\"search\" action=\"sources\"><label for=\"part\">Part of a name</label>");
    html.raw("<input id=\"part\" name=\"part\" type=\"search\" value=\"").text(part);
    html.raw("\"><button>Show</button></form><p class=\"about\">");
    html.text(&counted(wanted.len() as u64, "source")).raw(", ").text(&size(bytes));
    html.raw(", newest first.</p>");
    if wanted.is_empty() {
        html.raw("<p class=\"empty\">Nothing is stored here. Runs, files and pages appear as agents store them; ");
        html.raw("<code>quietcontext index docs</code> stores a folder.</p>");
        return Ok(Page::new("Sources", "sources", html));
    }
    html.raw("<div class=\"wide\"><table><thead><tr><th>Source</th><th>Kind</th><th class=\"number\">Size</th>");
    html.raw("<th class=\"number\">Lines</th><th class=\"number\">Age</th><th>Reference</th></tr></thead><tbody>");
    let now = SystemTime::now();
    for document in wanted.iter().skip(at * SHOWN).take(SHOWN) {
        html.raw("<tr><td class=\"what\">");
        link(&mut html, document);
        let outcome = if document.running { Some("running") } else { document.outcome.as_deref() };
        if let Some(outcome) = outcome {
            html.raw(" <small>").text(outcome).raw("</small>");
        }
        html.raw("</td><td>").raw(kind(document.origin));
        html.raw("</td><td class=\"number\" title=\"")
            .text(&grouped(document.bytes))
            .raw(" bytes\">");
        html.text(&size(document.bytes)).raw("</td><td class=\"number\">");
        html.text(&grouped(document.lines)).raw("</td><td class=\"number\">");
        html.text(&age(document.created, now)).raw("</td><td>");
        if let Some(range) = document.range {
            calls::reference(&mut html, &format!("r:{range}"));
        }
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table></div>");
    html.pager("sources?part=", part, at, wanted.len() > (at + 1) * SHOWN);
    Ok(Page::new("Sources", "sources", html))
}

fn link(html: &mut Html, document: &DocumentInfo) {
    match document.range {
        Some(range) => {
            html.raw("<a href=\"document?r=").show(range.first).raw("\">").text(&document.label);
            html.raw("</a>");
        }
        None => {
            html.text(&document.label).raw(" <small>empty</small>");
        }
    }
}

/// Where a document came from, in a word.
pub(super) fn kind(origin: Origin) -> &'static str {
    match origin {
        Origin::Run => "run",
        Origin::File => "file",
        Origin::Content => "text",
        Origin::Page => "page",
    }
}
