//! A search: the answer exactly as an agent gets it, beside the passages it leads to.

use std::sync::Arc;

use hyper::StatusCode;
use quietcontext_store::{Chunk, Location};
use quietcontext_tools::{Call, Reference, Tool};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    calls, document,
    html::Html,
    site::{Asked, Page, Site},
};
use crate::terminal::text::counted;

/// Passages that are shown whole.
const PASSAGES: usize = 20;

pub(super) async fn page(site: Arc<Site>, asked: Asked) -> anyhow::Result<Page> {
    let question = asked.text("q").to_owned();
    let source = asked.text("source").to_owned();
    let brief = asked.text("brief") == "on";
    let mut html = Html::default();
    html.raw("<h1>Search</h1>");
    form(&mut html, &question, &source, brief);
    if question.is_empty() {
        html.raw("<p class=\"about\">Left stands the answer that an agent gets, byte for byte; right the passages it leads to, whole.</p>");
        return Ok(Page::new("Search", "search", html));
    }
    let mut arguments = Map::new();
    arguments.insert("queries".to_owned(), json!([question]));
    arguments.insert("preview".to_owned(), Value::from(!brief));
    if !source.is_empty() {
        arguments.insert("source".to_owned(), source.clone().into());
    }
    let limit = asked.number("limit").filter(|limit| (1..=20).contains(limit));
    if let Some(limit) = limit {
        arguments.insert("limit".to_owned(), limit.into());
    }
    let call = Call {
        root: site.wired.root.path.clone(),
        tool: Tool::Search,
        arguments,
        cancel: CancellationToken::new(),
        progress: None,
    };
    // Whoever looks is no agent: this is not noted.
    let answer = site.wired.toolbox.call_unnoted(call).await;
    let text = answer.text.as_str().to_owned();
    let passages = {
        let (site, numbers) = (Arc::clone(&site), references(&text));
        tokio::task::spawn_blocking(move || passages(&site, &numbers)).await??
    };
    let words: Vec<String> = question
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() > 2)
        .map(str::to_lowercase)
        .collect();
    html.raw("<div class=\"beside\"><section><h2>The agent's answer <small>");
    html.text(&counted(text.len() as u64, "byte"))
        .raw("</small></h2><pre class=\"answer\" tabindex=\"0\">");
    html.text(&text).raw("</pre></section><section><h2>The passages <small>");
    let bytes = passages.iter().map(|(chunk, _)| chunk.text.len() as u64).sum();
    html.text(&counted(passages.len() as u64, "passage")).raw(", ").text(&counted(bytes, "byte"));
    html.raw("</small></h2>");
    for (chunk, label) in &passages {
        html.raw("<article><h3>");
        calls::reference(&mut html, &format!("r:{}", chunk.id));
        html.raw(" ").text(&chunk.title).raw(" <small>").text(label).raw(" lines ");
        html.show(chunk.lines.0).raw("–").show(chunk.lines.1).raw("</small></h3>");
        document::lines(&mut html, &chunk.text, chunk.lines.0, &words);
        html.raw("</article>");
    }
    if passages.is_empty() {
        html.raw("<p class=\"empty\">The answer leads to none.</p>");
    }
    html.raw("</section></div>");
    let mut page = Page::new(question, "search", html);
    if answer.is_error {
        page.status = StatusCode::BAD_REQUEST;
    }
    Ok(page)
}

fn form(html: &mut Html, question: &str, source: &str, brief: bool) {
    html.raw("<form class=\"search\" action=\"search\"><label for=\"q\">Question</label>");
    html.raw("<input id=\"q\" name=\"q\" type=\"search\" required value=\"").text(question);
    html.raw("\"");
    if question.is_empty() {
        html.raw(" autofocus");
    }
    html.raw("><label for=\"source\">in</label><input id=\"source\" name=\"source\" placeholder=\"every source\" value=\"");
    html.text(source).raw("\"><label class=\"check\"><input type=\"checkbox\" name=\"brief\"");
    if brief {
        html.raw(" checked");
    }
    html.raw("> titles only</label><button>Search</button></form>");
}

/// The numbers an answer leads to, in its order. Stored text may begin a line like that as well:
/// then a passage more is shown.
fn references(answer: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for line in answer.lines() {
        let number = line.strip_prefix("[r:").and_then(|rest| rest.split_once(']')?.0.parse().ok());
        if let Some(number) = number.filter(|number| !found.contains(number)) {
            found.push(number);
        }
    }
    found.truncate(PASSAGES);
    found
}

fn passages(site: &Site, numbers: &[u64]) -> anyhow::Result<Vec<(Chunk, String)>> {
    let (toolbox, root) = (&site.wired.toolbox, &site.wired.root.path);
    let mut passages = Vec::new();
    for number in numbers {
        let Ok(reference) = Reference::parse(&format!("r:{number}")) else { continue };
        let found: anyhow::Result<_> = toolbox.with_store(root, |store| {
            let Location::Live { document, first, .. } = store.locate(&reference.span())? else {
                return Ok(None);
            };
            let chunk = store.chunks(first, first, 1)?.into_iter().next();
            Ok(chunk.map(|chunk| (chunk, document.label)))
        });
        passages.extend(found?);
    }
    Ok(passages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passages_of_an_answer_are_those_of_its_result_lines() {
        let answer = "query: x\n[r:7] a (b:L1-2)\ntext [r:9]\n[r:8] c (d:L3-4)\n[r:7] again\n[r:x]";
        assert_eq!(references(answer), [7, 8]);
    }
}
