//! Which part of a page is its content, decided by how much of the visible text each part holds.

use super::{
    elements::{Flow, Tag},
    tree::{Id, Step, Tree},
};

/// A main part that holds less than this share of the text is not believed.
const SANE_SHARE_PERCENT: u64 = 30;

/// The same for an article inside of a main part: there is less to lose by keeping the latter.
const ARTICLE_SHARE_PERCENT: u64 = 60;

/// Where navigation, header, footer, aside and form hold all but this share, they are the content.
const BARE_SHARE_PERCENT: u64 = 15;

/// Pages with less visible text than this, blanks not counted, are "almost no text".
const LITTLE_TEXT_BYTES: u64 = 120;

/// What [`select`] found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selection {
    /// Convert what is below this node.
    pub(super) root: Id,
    /// Convert navigation, headers, footers, asides and forms too.
    pub(super) everything: bool,
    /// The marked main part held so little that the whole page is converted: its share in percent.
    pub(super) refused_percent: Option<u64>,
    /// There is almost no text on the page.
    pub(super) little: bool,
}

/// Visible text below each node in bytes, blanks not counted.
#[derive(Clone, Copy, Default)]
struct Weight {
    /// Without navigation, headers, footers, asides and forms.
    content: u32,
    /// With them.
    all: u32,
    /// There is a first-level heading in `content`.
    title: bool,
}

/// Whether nobody sees this node, or it is never text.
pub(super) fn is_hidden(tree: &Tree, id: Id) -> bool {
    let Some(tag) = tree.tag(id) else { return false };
    if tag.flow() == Flow::Never {
        return true;
    }
    if tree.attribute(id, "hidden").is_some_and(|value| value != "until-found") {
        return true;
    }
    // Assistive technology is told to skip repeated or decorative text. Never a whole page: some
    // pages hide themselves behind an open dialog.
    if tree.attribute(id, "aria-hidden") == Some("true")
        && !matches!(tag, Tag::Body | Tag::Main | Tag::Article | Tag::Html)
    {
        return true;
    }
    tree.attribute(id, "style").is_some_and(|style| {
        let style: String =
            style.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
        style.contains("display:none") || style.contains("visibility:hidden")
    }) && !matches!(tag, Tag::Body | Tag::Main | Tag::Article | Tag::Html)
}

/// Whether a node frames the content instead of being it. Inside of a main part or an article
/// only navigation does; everything else there belongs to the text.
pub(super) fn is_chrome(tree: &Tree, id: Id, inside_content: bool) -> bool {
    let Some(tag) = tree.tag(id) else { return false };
    let role = tree.attribute(id, "role").unwrap_or_default();
    if tag == Tag::Nav || matches!(role, "navigation" | "search" | "menu" | "menubar" | "toolbar") {
        return true;
    }
    let framing = matches!(tag, Tag::Header | Tag::Footer | Tag::Aside | Tag::Form | Tag::Search)
        || matches!(role, "banner" | "contentinfo" | "complementary");
    framing && !inside_content
}

/// Whether a node marks its inside as content.
pub(super) fn is_content_mark(tree: &Tree, id: Id) -> bool {
    matches!(tree.tag(id), Some(Tag::Main | Tag::Article))
        || matches!(tree.attribute(id, "role"), Some("main" | "article"))
}

/// Finds the content.
pub(super) fn select(tree: &Tree, body: Id) -> Selection {
    let found = weigh(tree, body);
    let page = found.weights[body as usize];
    let mut selection = Selection {
        root: body,
        everything: false,
        refused_percent: None,
        little: u64::from(page.all) < LITTLE_TEXT_BYTES,
    };
    if u64::from(page.content) * 100 < u64::from(page.all) * BARE_SHARE_PERCENT {
        selection.everything = true;
        return selection;
    }
    let weight = |id: Id| found.weights[id as usize];
    let heaviest =
        |ids: &[Id]| ids.iter().copied().max_by_key(|id| (weight(*id).content, u32::MAX - id));
    let percent =
        |id: Id, whole: u32| u64::from(weight(id).content) * 100 / u64::from(whole).max(1);

    let main = heaviest(&found.mains);
    let article = heaviest(&found.articles);
    match (main, article) {
        (Some(main), article) if percent(main, page.content) >= SANE_SHARE_PERCENT => {
            selection.root = main;
            let whole = weight(main);
            if let Some(article) = article.filter(|article| {
                found.articles.len() == 1
                    && tree.is_below(*article, main)
                    && percent(*article, whole.content) >= ARTICLE_SHARE_PERCENT
                    && (weight(*article).title || !whole.title)
            }) {
                selection.root = article;
            }
        }
        (Some(main), _) => {
            selection.refused_percent =
                Some(percent(main, page.content)).filter(|_| !selection.little);
        }
        (None, Some(article))
            if found.articles.len() == 1
                && percent(article, page.content) >= SANE_SHARE_PERCENT
                && (weight(article).title || !page.title) =>
        {
            selection.root = article;
        }
        _ => {}
    }
    selection
}

struct Found {
    weights: Vec<Weight>,
    mains: Vec<Id>,
    /// Outermost articles only: comments below an article are often articles again.
    articles: Vec<Id>,
}

/// One walk: weights are added up when nodes are left.
fn weigh(tree: &Tree, body: Id) -> Found {
    let mut weights = vec![Weight::default(); tree.len()];
    let (mut mains, mut articles) = (Vec::new(), Vec::new());
    let (mut content_depth, mut article_depth) = (0u32, 0u32);
    let mut next = Some(Step::Enter(body));
    while let Some(step) = next {
        next = tree.after(step, body);
        match step {
            Step::Enter(id) => {
                if is_hidden(tree, id) && id != body {
                    next = tree.after(Step::Leave(id), body);
                    continue;
                }
                if let Some(text) = tree.text(id) {
                    let seen =
                        text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count() as u32;
                    weights[id as usize] = Weight { content: seen, all: seen, title: false };
                } else if is_content_mark(tree, id) {
                    content_depth += 1;
                    let role = tree.attribute(id, "role");
                    if tree.tag(id) == Some(Tag::Main) || role == Some("main") {
                        mains.push(id);
                    } else {
                        if article_depth == 0 {
                            articles.push(id);
                        }
                        article_depth += 1;
                    }
                }
            }
            Step::Leave(id) => {
                if is_content_mark(tree, id) {
                    content_depth -= 1;
                    let role = tree.attribute(id, "role");
                    if tree.tag(id) != Some(Tag::Main) && role != Some("main") {
                        article_depth -= 1;
                    }
                }
                let mut own = weights[id as usize];
                own.title |= tree.tag(id) == Some(Tag::H1) && own.content > 0;
                // A header outside of the content that holds the page's title is no mere frame.
                let titled = tree.tag(id) == Some(Tag::Header) && own.title;
                if is_chrome(tree, id, content_depth > 0) && !titled {
                    (own.content, own.title) = (0, false);
                }
                weights[id as usize] = own;
                if id != body {
                    let above = &mut weights[tree.node(id).parent as usize];
                    above.content = above.content.saturating_add(own.content);
                    above.all = above.all.saturating_add(own.all);
                    above.title |= own.title;
                }
            }
        }
    }
    Found { weights, mains, articles }
}
