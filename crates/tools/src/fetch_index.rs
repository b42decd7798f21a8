//! `fetch-index`: pages into the store, one line each; no page text in the answer.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use quietcontext_fetch::{
    FetchError, Outcome, Page, Request as FetchRequest, Validators, parse_url,
};
use quietcontext_store::{
    ContentKind, DocumentInfo, Label, NewDocument, Origin, Status, StoreError,
};

use crate::answer::Draft;
use crate::args::fetch_index::{PageArgs, Request};
use crate::budget::{ByteBudget, clip_middle};
use crate::call::Answer;
use crate::context::Context;
use crate::error::ToolError;
use crate::limits;
use crate::pages::Pages;
use crate::render::{self, counted, one_line};
use crate::schedule::Work;
use crate::search::stored_list;
use crate::toolbox::blocking;

/// Longest URL in an answer, in bytes.
const URL_BYTES: usize = 200;

/// What became of one URL: its line, and whether it failed.
#[derive(Debug, Clone)]
struct Line {
    text: String,
    failed: bool,
}

/// Answers `fetch-index`.
pub(crate) async fn fetch_index(
    context: Context,
    mut request: Request,
) -> Result<Answer, ToolError> {
    // Syntax first, for all of them: nothing is fetched when one URL is not a URL.
    let mut urls = Vec::new();
    for page in &request.pages {
        let url =
            parse_url(&page.url).map_err(|error| ToolError::Argument(format!("url: {error}")))?;
        let mut url = url;
        url.set_fragment(None);
        urls.push(url.to_string());
    }
    keep_apart(&mut request.pages, &urls);
    let gate = Arc::new(tokio::sync::Semaphore::new(request.concurrency));
    let mut tasks = tokio::task::JoinSet::new();
    let mut same: HashMap<(String, Option<String>), usize> = HashMap::new();
    for (index, (page, url)) in request.pages.iter().zip(&urls).enumerate() {
        let first = *same.entry((url.clone(), page.source.clone())).or_insert(index);
        if first != index {
            continue;
        }
        let (context, gate) = (context.clone(), Arc::clone(&gate));
        let (page, url, ttl) = (page.clone(), url.clone(), request.ttl);
        tasks.spawn(async move {
            let _permit = gate.acquire_owned().await;
            (index, one(&context, &page, &url, ttl).await)
        });
    }
    let mut lines: HashMap<usize, Line> = HashMap::new();
    let total = tasks.len() as f64;
    while let Some(joined) = tasks.join_next().await {
        match joined {
            Ok((index, line)) => {
                lines.insert(index, line);
                context.progress(lines.len() as f64, Some(total), "fetched");
            }
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(ToolError::Cancelled),
            },
        }
    }
    let ordered: Vec<Line> = request
        .pages
        .iter()
        .zip(&urls)
        .filter_map(|(page, url)| same.get(&(url.clone(), page.source.clone())))
        .filter_map(|index| lines.get(index).cloned())
        .collect();
    blocking(move || Ok(answer(&context, &ordered))).await
}

/// A source that is given to several URLs gets `#2` and so on, as labels of a batch do: no page of a call
/// takes the place of another.
fn keep_apart(pages: &mut [PageArgs], urls: &[String]) {
    let mut named: HashMap<String, Vec<&str>> = HashMap::new();
    for (page, url) in pages.iter_mut().zip(urls) {
        let Some(source) = &mut page.source else { continue };
        let known = named.entry(source.clone()).or_default();
        let place = known.iter().position(|known| known == url).unwrap_or_else(|| {
            known.push(url);
            known.len() - 1
        });
        if place > 0 {
            source.push_str(&format!("#{}", place + 1));
        }
    }
}

fn answer(context: &Context, lines: &[Line]) -> Answer {
    let failed = lines.iter().filter(|line| line.failed).count();
    let all_failed = failed == lines.len();
    let mut draft = Draft::new(ByteBudget::new(limits::RECEIPT_BYTES));
    let needed: usize = lines.iter().map(|line| line.text.len() + 1).sum();
    if all_failed && lines.len() > 1 {
        draft.head(&format!("error: none of {} URLs was indexed", lines.len()));
    }
    if needed <= draft.room() {
        for line in lines {
            draft.line(&line.text);
        }
    } else {
        let list: String = lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
        let totals = format!("{} URLs, {failed} failed", lines.len());
        stored_list(context, &mut draft, "fetch-index", &totals, &list);
        let (bad, good): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.failed);
        for line in bad.into_iter().chain(good) {
            if !draft.line(&line.text) {
                break;
            }
        }
    }
    let mut answer = draft.finish();
    answer.is_error = all_failed;
    answer
}

/// Fetches and stores one page, or finds it fresh in the cache.
async fn one(context: &Context, page: &PageArgs, url: &str, ttl: Duration) -> Line {
    let failed = |error: &dyn std::fmt::Display| Line {
        text: format!("error: {} · {}", shown(url), one_line(&error.to_string())),
        failed: true,
    };
    let label = page.source.clone().unwrap_or_else(|| url.to_owned());
    let asked = SystemTime::now();
    // Held to the end: who asks for the same URL meanwhile takes what comes of this.
    let _turn = context.root.flights.board(url).await;
    let cached = {
        let (context, url) = (context.clone(), url.to_owned());
        blocking(move || Ok(cached(&context, &url))).await
    };
    let cached = match cached {
        Ok(cached) => cached,
        Err(error) => return failed(&error),
    };
    if let Some((known, document)) = &cached
        && let Ok(age) = SystemTime::now().duration_since(known.fetched)
        && (age < ttl || known.fetched > asked)
    {
        let (context, url) = (context.clone(), url.to_owned());
        let (known, document) = (known.clone(), document.clone());
        let named = blocking(move || named(&context, &url, &label, &known, &document, age)).await;
        return match named {
            Ok(text) => Line { text, failed: false },
            Err(error) => failed(&error),
        };
    }
    let validators = cached.as_ref().and_then(|(known, document)| {
        let (etag, last_modified) = (known.etag.clone(), known.last_modified.clone());
        let usable = etag.is_some() || last_modified.is_some();
        (usable && document.labels.contains(&label)).then_some(Validators { etag, last_modified })
    });
    let request = FetchRequest { url, validators, deadline: context.deadline };
    match context.shared.fetcher.fetch(&request).await {
        Err(error @ FetchError::Refused { .. }) => failed(&error),
        Err(error) => {
            tracing::debug!(?error, "not fetched");
            failed(&error)
        }
        Ok(Outcome::Status { code, reason, final_url, retry_after }) => {
            let mut what = format!("status {code} {reason}, nothing indexed");
            if let Some(wait) = retry_after {
                what.push_str(&format!(", retry after {} s", wait.as_secs()));
            }
            if final_url != url {
                what.push_str(&format!(" (from {})", shown(&final_url)));
            }
            Line { failed: code != 204, ..failed(&what) }
        }
        Ok(Outcome::NotModified { .. }) => {
            let context = context.clone();
            let Some((mut known, document)) = cached else {
                return failed(&"not modified, but not cached");
            };
            let url = url.to_owned();
            let confirmed = blocking(move || {
                known.fetched = SystemTime::now();
                context.root.store.remember_page(&known).map_err(store_failed)?;
                Ok(format!("{} · not modified", cached_line(&url, &document, Duration::ZERO)))
            })
            .await;
            match confirmed {
                Ok(text) => Line { text, failed: false },
                Err(error) => failed(&error),
            }
        }
        Ok(Outcome::Page(fetched)) => {
            let (context, asked) = (context.clone(), url.to_owned());
            let turn = context.queue(Work::Store).await;
            let stored = move || {
                let _turn = turn;
                store(&context, &asked, &label, &fetched)
            };
            match blocking(stored).await {
                Ok(text) => Line { text, failed: false },
                Err(error) => failed(&error),
            }
        }
    }
}

/// The page in the cache and its document, if it is still stored.
fn cached(context: &Context, url: &str) -> Option<(quietcontext_store::Page, DocumentInfo)> {
    let page = context.root.store.page(url).ok().flatten()?;
    let document = context.root.store.document(page.document).ok().flatten()?;
    Some((page, document))
}

/// A page of the cache under the label that was asked for, which it may not have yet.
fn named(
    context: &Context,
    url: &str,
    label: &str,
    known: &quietcontext_store::Page,
    document: &DocumentInfo,
    age: Duration,
) -> Result<String, ToolError> {
    let mut line = cached_line(url, document, age);
    if document.labels.iter().any(|known| known == label) {
        return Ok(line);
    }
    let mut text = context.root.store.raw(document.id).map_err(store_failed)?;
    let copy = NewDocument {
        kind: Some(document.kind),
        ..NewDocument::new(Label::Fixed(label), Origin::Page)
    };
    let receipt = context.root.store.add(copy, &mut text, None).map_err(store_failed)?;
    let page = quietcontext_store::Page { document: receipt.document, ..known.clone() };
    context.root.store.remember_page(&page).map_err(store_failed)?;
    line.push_str(&format!(" · as {}", clip_middle(&render::source(label), 80)));
    if receipt.status == Status::Replaced {
        line.push_str(" · replaced");
    }
    Ok(line)
}

fn cached_line(url: &str, document: &DocumentInfo, age: Duration) -> String {
    let mut parts = vec![shown(url), counted(document.bytes, "byte")];
    parts.extend(document.range.map(render::range));
    if !age.is_zero() {
        parts.push(format!("cached {}", ago(age)));
    }
    parts.join(" · ")
}

/// `3 h`, `12 min`, `40 s`.
fn ago(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

fn store(context: &Context, asked: &str, label: &str, page: &Page) -> Result<String, ToolError> {
    let mut document = NewDocument::new(Label::Fixed(label), Origin::Page);
    document.name = Some(&page.name_hint);
    let pages = page.pdf.as_deref().map(|bytes| pages(context, bytes)).transpose()?;
    let text = pages.as_ref().map_or(&page.text, |pages| &pages.text);
    document.kind = pages.is_some().then_some(ContentKind::Pages);
    let receipt =
        context.root.store.add(document, &mut text.as_bytes(), None).map_err(store_failed)?;
    context.meter.produced(page.body_bytes);
    context.meter.stored(&receipt);
    context
        .root
        .store
        .remember_page(&quietcontext_store::Page {
            url: asked.to_owned(),
            final_url: page.final_url.clone(),
            etag: page.etag.clone(),
            last_modified: page.last_modified.clone(),
            fetched: SystemTime::now(),
            document: receipt.document,
            content_type: page.content_type.clone(),
        })
        .map_err(store_failed)?;
    let mut parts = vec![shown(asked)];
    if page.final_url != asked {
        parts.push(format!("from {}", shown(&page.final_url)));
    }
    parts.push(if page.content_type.is_empty() {
        page.kind.name().to_owned()
    } else {
        clip_middle(&one_line(&page.content_type), 60)
    });
    if page.pdf.is_none() && !page.charset.eq_ignore_ascii_case("utf-8") {
        let guessed = if page.charset_guessed { " (guessed)" } else { "" };
        parts.push(format!("{}{guessed}", one_line(&page.charset)));
    }
    parts.push(format!(
        "{}, {}",
        counted(receipt.bytes, "byte"),
        counted(receipt.chunks, "section")
    ));
    parts.extend(receipt.range.map(render::range));
    if label != asked {
        parts.push(format!("as {}", clip_middle(&render::source(label), 80)));
    }
    if receipt.status == Status::Replaced {
        parts.push("replaced".to_owned());
    }
    let notes = pages.iter().flat_map(|pages| &pages.notes).chain(&page.notes);
    parts.extend(notes.map(|note| one_line(note)));
    Ok(parts.join(" · "))
}

/// The pages of a fetched PDF, read from a file that has no name.
fn pages(context: &Context, bytes: &[u8]) -> Result<Pages, ToolError> {
    let kept = context.shared.executor.scratch_file().and_then(|mut file| {
        file.write_all(bytes)?;
        Ok(file)
    });
    let file = kept.map_err(|error| ToolError::Failed(format!("the PDF was not kept: {error}")))?;
    Pages::read(context, &file)
}

fn shown(url: &str) -> String {
    clip_middle(&one_line(url), URL_BYTES)
}

fn store_failed(error: StoreError) -> ToolError {
    ToolError::Failed(format!("fetched but not stored: {error}"))
}
