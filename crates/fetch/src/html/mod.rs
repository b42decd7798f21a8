//! HTML to Markdown: parse inside limits, find the content, write it down.
//!
//! Own conversion over html5ever's parser rather than a converter library, because the result is
//! searched and not rendered: identifiers stay unescaped, code exact, tables unpadded; and because
//! pages are hostile: nothing here recurses, and every step is bounded in nodes, bytes and time.

mod characters;
mod code;
mod elements;
mod inline;
mod language;
mod list;
mod parse;
mod render;
mod select;
mod sink;
mod table;
mod tree;
mod write;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use url::Url;

use self::{
    elements::Tag,
    select::Selection,
    tree::{DOCUMENT, Id, Tree},
};

/// Titles are cut here, in characters.
const MAX_TITLE_CHARS: usize = 200;

/// Frames and shells have few addresses worth naming.
const MAX_NAMED_URLS: usize = 20;

/// A page converted to Markdown.
#[derive(Debug, Clone, Default)]
pub struct Markdown {
    /// The page's title, one line of at most 200 characters.
    pub title: Option<String>,
    /// The Markdown.
    pub text: String,
    /// What the reader should know about the conversion, one line each.
    pub notes: Vec<String>,
}

/// How long a conversion may go on, and whether somebody still waits for it.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    until: Instant,
    stop: Arc<AtomicBool>,
}

impl Budget {
    pub(crate) fn new(until: Instant, stop: Arc<AtomicBool>) -> Self {
        Self { until, stop }
    }

    /// For a caller without a deadline of its own.
    fn generous() -> Self {
        Self::new(Instant::now() + Duration::from_secs(10), Arc::default())
    }

    fn is_spent(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// Converts a page to Markdown; relative links are resolved against `base`. Takes at most about
/// ten seconds whatever the page is; what did not fit is left out and a note says so.
pub fn html_to_markdown(html: &str, base: Option<&Url>) -> Markdown {
    convert(html, base, &Budget::generous())
}

pub(crate) fn convert(html: &str, base: Option<&Url>, budget: &Budget) -> Markdown {
    let parsed = parse::parse(html, budget);
    let tree = &parsed.tree;
    let facts = Facts::of(tree);
    let base = facts.base(base);
    let body = facts.body.unwrap_or(DOCUMENT);
    let selection = select::select(tree, body);
    let mut notes = Vec::new();
    if let Some(percent) = selection.refused_percent {
        notes.push(format!("whole page: its marked main part holds only {percent} % of the text"));
    }
    if selection.everything && !selection.little {
        notes.push("whole page: nearly all of its text is navigation, headers or forms".to_owned());
    }
    let rendered = render::render(tree, &selection, base.as_ref(), budget);
    let mut text = rendered.text;
    if selection.little {
        text = facts.explain(tree, base.as_ref(), text, budget, &mut notes);
    }
    if parsed.cut || rendered.cut {
        notes.push("page cut: it is too large or took too long to convert".to_owned());
    }
    let title = facts.title(tree);
    Markdown { title, text, notes }
}

/// What one walk over the page finds beside its text.
#[derive(Default)]
struct Facts {
    body: Option<Id>,
    title: Option<Id>,
    heading: Option<Id>,
    base: Option<String>,
    scripts: u32,
    refresh: Option<String>,
    frames: Vec<String>,
    without_script: Vec<Id>,
}

impl Facts {
    fn of(tree: &Tree) -> Self {
        let mut facts = Self::default();
        for id in tree.descendants(DOCUMENT) {
            let value = |name| tree.attribute(id, name).map(str::to_owned);
            match tree.tag(id) {
                Some(Tag::Body | Tag::Frameset) if facts.body.is_none() => facts.body = Some(id),
                Some(Tag::Title) if facts.title.is_none() => facts.title = Some(id),
                Some(Tag::H1) if facts.heading.is_none() => facts.heading = Some(id),
                Some(Tag::Base) if facts.base.is_none() => facts.base = value("href"),
                Some(Tag::Script) => facts.scripts += 1,
                Some(Tag::Noscript) if facts.without_script.len() < MAX_NAMED_URLS => {
                    facts.without_script.push(id);
                }
                Some(Tag::Frame | Tag::Iframe) if facts.frames.len() < MAX_NAMED_URLS => {
                    facts.frames.extend(value("src"));
                }
                Some(Tag::Meta)
                    if value("http-equiv")
                        .is_some_and(|kind| kind.eq_ignore_ascii_case("refresh")) =>
                {
                    facts.refresh = value("content");
                }
                _ => {}
            }
        }
        facts
    }

    fn base(&self, page: Option<&Url>) -> Option<Url> {
        let Some(said) = self.base.as_deref() else { return page.cloned() };
        let joined = page.map_or_else(|| Url::parse(said), |page| page.join(said)).ok();
        joined.filter(|url| matches!(url.scheme(), "http" | "https")).or_else(|| page.cloned())
    }

    fn title(&self, tree: &Tree) -> Option<String> {
        [self.title, self.heading]
            .into_iter()
            .flatten()
            .map(|id| tree.line_of_text(id, MAX_TITLE_CHARS))
            .find(|title| !title.is_empty())
    }

    /// Says why there is almost no text, and adds what the page has for such a case.
    fn explain(
        &self,
        tree: &Tree,
        base: Option<&Url>,
        mut text: String,
        budget: &Budget,
        notes: &mut Vec<String>,
    ) -> String {
        let absolute = |target: &str| {
            let url = base.map_or_else(|| Url::parse(target), |base| base.join(target)).ok()?;
            (matches!(url.scheme(), "http" | "https")
                && url.as_str().len() <= 300
                && url.username().is_empty()
                && url.password().is_none())
            .then(|| String::from(url))
        };
        // The address follows `url=`, in quotes or not.
        let refresh = self.refresh.as_deref().and_then(|content| {
            let (name, target) = content.split_once(';')?.1.split_once('=')?;
            name.trim().eq_ignore_ascii_case("url").then_some(())?;
            absolute(target.trim().trim_matches(['"', '\'']))
        });
        let frames: Vec<String> = self.frames.iter().filter_map(|src| absolute(src)).collect();
        if let Some(target) = refresh {
            notes.push(format!("almost no text: the page sends its reader on to {target}"));
        } else if !frames.is_empty() {
            notes.push("almost no text: the page is made of frames, listed in it".to_owned());
            for frame in frames {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&frame);
            }
        } else if self.scripts > 0 {
            notes.push("almost no text: an application shell that needs JavaScript".to_owned());
            for id in &self.without_script {
                let selection =
                    Selection { root: *id, everything: true, refused_percent: None, little: true };
                let more = render::render(tree, &selection, base, budget).text;
                if !more.is_empty() {
                    if !text.is_empty() {
                        text.push_str("\n\n");
                    }
                    text.push_str(&more);
                }
            }
        } else if text.is_empty() {
            notes.push("empty page".to_owned());
        } else {
            notes.push("almost no text".to_owned());
        }
        text
    }
}

#[cfg(test)]
mod tests;
