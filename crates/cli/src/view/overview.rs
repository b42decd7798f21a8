//! The first page: sums per day, what runs, what was called last.

use std::time::SystemTime;

use quietcontext_store::Store;
use quietcontext_tools::CallRecord;

use super::{
    calls,
    html::Html,
    site::{Asked, Page, Site},
};
use crate::{
    command::stats::{Stats, Tally},
    terminal::{
        clock,
        text::{age, counted, grouped, size},
    },
};

/// Days of the chart.
const DAYS: u64 = 14;
/// Calls that are shown here; the others are on their own page.
const CALLS: usize = 15;
/// Width of the longest bar.
const BAR: u64 = 100;

pub(super) fn page(site: &Site, _asked: &Asked) -> anyhow::Result<Page> {
    let (toolbox, root) = (&site.wired.toolbox, &site.wired.root.path);
    let records = toolbox.records(root)?;
    let documents = toolbox.with_store(root, Store::sources)?;
    let bytes: u64 = documents.iter().map(|document| document.bytes).sum();
    let stats = Stats::of(&records, clock::last_days(DAYS, SystemTime::now()));
    let mut html = Html::default();
    html.raw("<h1>Overview</h1><dl class=\"figures\"><div><dt>Calls in 14 days</dt><dd>");
    html.text(&grouped(stats.total.calls)).raw("</dd></div><div><dt>Produced</dt><dd>");
    html.text(&size(stats.total.produced)).raw("</dd></div><div><dt>Answered to agents</dt><dd>");
    html.text(&size(stats.total.answered)).raw("</dd></div><div><dt>Stored</dt><dd>");
    html.text(&size(bytes)).raw(" <small>in <a href=\"sources\">");
    html.text(&counted(documents.len() as u64, "source")).raw("</a></small></dd></div></dl>");
    if stats.total.calls > 0 {
        html.raw("<div class=\"two\"><section>");
        days(&mut html, &stats);
        html.raw("</section><section>");
        tools(&mut html, &stats);
        html.raw("</section></div>");
    }
    jobs(&mut html, site)?;
    html.raw("<h2>Latest calls</h2>");
    let latest: Vec<&CallRecord> = records.iter().rev().take(CALLS).collect();
    calls::table(&mut html, &latest);
    if records.len() > CALLS {
        html.raw("<p><a href=\"calls\">All ").text(&counted(records.len() as u64, "call"));
        html.raw(" →</a></p>");
    }
    Ok(Page::new("Overview", "./", html))
}

fn days(html: &mut Html, stats: &Stats) {
    let most = stats.days.values().map(|tally| tally.produced).max().unwrap_or(0);
    html.raw("<h2>By day</h2><div class=\"wide\"><table class=\"days\"><thead><tr><th>Day</th>");
    html.raw("<th class=\"number\">Calls</th><th class=\"number\">Produced</th>");
    html.raw("<th class=\"number\">Answered</th><th class=\"bars\"><span class=\"hidden\">Produced, as a bar</span></th></tr></thead><tbody>");
    let idle = |(_, tally): &(&String, &Tally)| tally.calls == 0;
    for (date, tally) in stats.days.iter().skip_while(idle) {
        html.raw("<tr><td class=\"when\">").text(date).raw("</td><td class=\"number\">");
        html.text(&grouped(tally.calls)).raw("</td>");
        amounts(html, tally);
        // What is there at all is seen.
        let part = |bytes: u64| {
            let share = (u128::from(bytes) * u128::from(BAR) * 10 / u128::from(most.max(1))) as u64;
            if bytes == 0 { 0.0 } else { (share as f64 / 10.0).max(0.4) }
        };
        html.raw("<td class=\"bars\"><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
        html.raw("<rect class=\"produced\" height=\"10\" width=\"").show(part(tally.produced));
        html.raw("\"/><rect class=\"answered\" height=\"10\" width=\"");
        html.show(part(tally.answered.min(tally.produced)));
        html.raw("\"/></svg></td></tr>");
    }
    html.raw(
        "</tbody></table></div><p class=\"legend\"><span class=\"produced\"></span> produced ",
    );
    html.raw("<span class=\"answered\"></span> answered, both as they were measured</p>");
}

fn tools(html: &mut Html, stats: &Stats) {
    html.raw("<h2>By tool</h2><div class=\"wide\"><table><thead><tr><th>Tool</th>");
    html.raw("<th class=\"number\">Calls</th><th class=\"number\">Produced</th>");
    html.raw("<th class=\"number\">Answered</th></tr></thead><tbody>");
    for (tool, tally) in &stats.tools {
        html.raw("<tr><td><a href=\"calls?tool=")
            .query(tool)
            .raw("\">")
            .text(tool)
            .raw("</a></td>");
        html.raw("<td class=\"number\">").text(&grouped(tally.calls)).raw("</td>");
        amounts(html, tally);
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
}

/// The cells of what was produced and what was answered.
fn amounts(html: &mut Html, tally: &Tally) {
    for bytes in [tally.produced, tally.answered] {
        html.raw("<td class=\"number\" title=\"").text(&grouped(bytes)).raw(" bytes\">");
        html.text(&size(bytes)).raw("</td>");
    }
}

fn jobs(html: &mut Html, site: &Site) -> anyhow::Result<()> {
    let (toolbox, root) = (&site.wired.toolbox, &site.wired.root.path);
    let jobs = toolbox.live_jobs(root)?;
    html.raw("<h2>Running jobs</h2>");
    if jobs.is_empty() {
        html.raw("<p class=\"empty\">No background job runs in this root.</p>");
        return Ok(());
    }
    html.raw("<div class=\"wide\"><table><thead><tr><th>Job</th><th>What</th><th class=\"number\">Since</th>");
    html.raw(
        "<th class=\"number\">Printed</th><th>Output</th><th>To stop it</th></tr></thead><tbody>",
    );
    for job in jobs {
        let document = toolbox.with_store(root, |store| store.by_label(&job.label))?;
        let bytes = document.as_ref().map_or(0, |document| document.bytes);
        html.raw("<tr><td>")
            .text(&job.label)
            .raw("</td><td class=\"what\"><code>")
            .text(&job.summary);
        html.raw("</code></td><td class=\"number\">").text(&age(job.since, SystemTime::now()));
        html.raw("</td><td class=\"number\">").text(&size(bytes)).raw("</td><td>");
        if document.is_some_and(|document| document.range.is_some()) {
            calls::reference(html, &format!("r:{}", job.first));
        }
        html.raw("</td><td><code>quietcontext jobs stop ").text(&job.label);
        html.raw("</code></td></tr>");
    }
    html.raw("</tbody></table></div>");
    Ok(())
}
