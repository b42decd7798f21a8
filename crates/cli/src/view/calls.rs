//! The calls: what was called, what it produced and what the agent got.

use std::time::SystemTime;

use quietcontext_tools::CallRecord;

use super::{
    html::Html,
    site::{Asked, Page, Site},
};
use crate::terminal::{
    clock::Local,
    text::{counted, grouped, size},
};

/// Calls on one page.
const SHOWN: usize = 100;

pub(super) fn page(site: &Site, asked: &Asked) -> anyhow::Result<Page> {
    let records = site.wired.toolbox.records(&site.wired.root.path)?;
    let tool = asked.text("tool");
    let wanted: Vec<&CallRecord> =
        records.iter().rev().filter(|record| tool.is_empty() || record.tool == tool).collect();
    let at = asked.page();
    let mut html = Html::default();
    html.raw("<h1>Calls</h1><p class=\"about\">");
    html.text(&counted(wanted.len() as u64, "call")).raw(" noted, newest first. ");
    if !site.wired.journal {
        html.raw("<strong>stats.journal is off: calls are not noted.</strong> ");
    }
    html.raw("<em>Produced</em> is what programs printed, pages brought and files held; <em>answered</em> is what the agent got. Times are local.</p>");
    html.raw("<p class=\"filter\">Tool: ");
    let mut tools: Vec<&str> = records.iter().map(|record| record.tool.as_str()).collect();
    tools.sort_unstable();
    tools.dedup();
    for name in std::iter::once("").chain(tools) {
        html.raw("<a href=\"calls?tool=").query(name).raw("\"");
        if name == tool {
            html.raw(" aria-current=\"true\"");
        }
        html.raw(">").text(if name.is_empty() { "all" } else { name }).raw("</a> ");
    }
    html.raw("</p>");
    let shown: Vec<&CallRecord> = wanted.iter().skip(at * SHOWN).take(SHOWN).copied().collect();
    table(&mut html, &shown);
    html.pager("calls?tool=", tool, at, wanted.len() > (at + 1) * SHOWN);
    Ok(Page::new("Calls", "calls", html))
}

/// Calls as rows.
pub(super) fn table(html: &mut Html, records: &[&CallRecord]) {
    if records.is_empty() {
        html.raw(
            "<p class=\"empty\">No call was noted. Calls appear here as agents make them.</p>",
        );
        return;
    }
    html.raw("<div class=\"wide\"><table><thead><tr><th>When</th><th>Tool</th><th class=\"what\">What</th>");
    html.raw("<th class=\"number\">Produced</th><th class=\"number\">Answered</th><th class=\"number\">Took</th>");
    html.raw("<th>Outcome</th><th>Stored</th></tr></thead><tbody>");
    let today = Local::of(SystemTime::now()).date();
    for record in records {
        let at = Local::of(record.at);
        html.raw("<tr><td class=\"when\">");
        if at.date() != today {
            html.text(&at.date()).raw(" ");
        }
        html.text(&at.time()).raw("</td><td>");
        html.raw(if record.job { "job" } else { "" }).text(if record.job {
            ""
        } else {
            &record.tool
        });
        html.raw("</td><td class=\"what\"><code>").text(&record.summary).raw("</code></td>");
        for bytes in [record.produced, record.answered] {
            html.raw("<td class=\"number\" title=\"").text(&grouped(bytes)).raw(" bytes\">");
            html.text(&size(bytes)).raw("</td>");
        }
        html.raw("<td class=\"number\">").text(&took(record)).raw("</td><td>");
        let state = match record.outcome.as_str() {
            "ok" | "exit 0" => "<span class=\"good\">",
            "running" | "stopped" | "cancelled" => "<span>",
            _ => "<span class=\"bad\">",
        };
        html.raw(state).text(&record.outcome).raw("</span></td><td>");
        reference(html, record.reference.as_deref().unwrap_or_default());
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table></div>");
}

/// `r:7-9` as a link to its document.
pub(super) fn reference(html: &mut Html, reference: &str) {
    let first = reference.trim_start_matches("r:").split('-').next().unwrap_or_default();
    if first.parse::<u64>().is_err() {
        html.text(reference);
        return;
    }
    html.raw("<a class=\"ref\" href=\"document?r=").query(first).raw("#r").query(first);
    html.raw("\">").text(reference).raw("</a>");
}

fn took(record: &CallRecord) -> String {
    let micros = record.duration.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{:.1} s", record.duration.as_secs_f64()),
    }
}
