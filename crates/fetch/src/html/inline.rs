//! Running text: links, emphasis, code spans, images, formulas.

use url::Url;

use super::{
    characters::longest_run,
    elements::Tag,
    render::Render,
    tree::{Id, Tree},
};

/// Longer targets are trackers or encoded state; their text is kept without them.
const MAX_LINK_BYTES: usize = 300;

/// Begins an inline element; false passes over what is inside it.
pub(super) fn enter(render: &mut Render<'_>, id: Id, tag: Tag) -> bool {
    match tag {
        Tag::Br => render.writer.line_break(),
        Tag::Img => image(render, id),
        Tag::Math => return formula(render, id),
        Tag::A if is_anchor(render.tree, id) => return false,
        Tag::A => {
            render.link_depth += 1;
            render.writer.open();
        }
        Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => {
            render.code_depth += 1;
            render.writer.open();
        }
        Tag::B | Tag::Strong | Tag::Em | Tag::I | Tag::Sup | Tag::Q | Tag::Rt | Tag::Del => {
            render.writer.open();
        }
        _ => {}
    }
    true
}

/// Ends an inline element.
pub(super) fn leave(render: &mut Render<'_>, id: Id, tag: Tag) {
    match tag {
        Tag::A => {
            render.link_depth = render.link_depth.saturating_sub(1);
            let nested = render.code_depth > 0 || render.link_depth > 0;
            let target = if nested { None } else { target(render.tree, id, render.base) };
            link(render, target);
        }
        Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => {
            render.code_depth = render.code_depth.saturating_sub(1);
            let plain = render.code_depth > 0;
            let Some(marked) = render.writer.close() else { return };
            if plain || marked.text().contains('\n') {
                return;
            }
            let ticks = "`".repeat(longest_run(marked.text(), '`') + 1);
            let pad = if marked.text().starts_with('`') || marked.text().ends_with('`') {
                " "
            } else {
                ""
            };
            // Two spans side by side would read as one longer run of ticks.
            let apart = if marked.before() == Some('`') { " " } else { "" };
            marked.wrap(&format!("{apart}{ticks}{pad}"), &format!("{pad}{ticks}"));
        }
        Tag::B | Tag::Strong => emphasis(render, id, "**"),
        Tag::Em | Tag::I => emphasis(render, id, "*"),
        Tag::Del => wrap(render, "~~", "~~"),
        Tag::Q => wrap(render, "\"", "\""),
        Tag::Rt => wrap(render, "(", ")"),
        Tag::Sup => power(render, id),
        _ => {}
    }
}

fn wrap(render: &mut Render<'_>, before: &str, after: &str) {
    let code = render.code_depth > 0;
    if let Some(marked) = render.writer.close()
        && !code
        && !marked.text().contains('\n')
    {
        marked.wrap(before, after);
    }
}

/// Emphasis, unless it is part of a word (then it would cut the word for a search), or a whole
/// heading or cell.
fn emphasis(render: &mut Render<'_>, id: Id, mark: &str) {
    let plain = render.code_depth > 0 || render.writer.is_flat();
    let glued_after = render
        .tree
        .text(render.tree.node(id).next)
        .is_some_and(|text| text.starts_with(char::is_alphanumeric));
    let Some(marked) = render.writer.close() else { return };
    let glued_before = marked.before().is_some_and(|c| c.is_alphanumeric() || c == '*');
    let text = marked.text();
    if !(plain || glued_after || glued_before || text.contains('\n') || text.contains("**")) {
        marked.wrap(mark, mark);
    }
}

/// `10<sup>6</sup>` must not become 106, nor the mark of a footnote a part of its word.
fn power(render: &mut Render<'_>, id: Id) {
    let reference = render.tree.descendants(id).any(|below| render.tree.tag(below) == Some(Tag::A));
    let Some(marked) = render.writer.close() else { return };
    let text = marked.text();
    let glued = marked.before().is_some_and(|c| c.is_alphanumeric() || c == ')');
    if reference {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            marked.wrap("[", "]");
        }
    } else if glued && text.chars().all(|c| c.is_alphanumeric() || "+-−".contains(c)) {
        marked.wrap("^", "");
    }
}

fn link(render: &mut Render<'_>, target: Option<String>) {
    let Some(marked) = render.writer.close() else { return };
    let Some(target) = target else { return };
    let text = marked.text();
    if render.headings > 0 {
        render.heading_link = Some((text.to_owned(), target));
    } else if text == target || target.split_once("://").is_some_and(|(_, rest)| rest == text) {
        marked.replace(&target);
    } else if text.contains('\n') || text.trim_start_matches('#').starts_with(' ') {
        // A link around blocks: its text is not one line, so the target follows it.
        marked.append(&format!(" ({target})"));
    } else if target.contains(['(', ')']) {
        marked.wrap("[", &format!("](<{target}>)"));
    } else {
        marked.wrap("[", &format!("]({target})"));
    }
}

/// Where a link leads, absolute; `None` for places on the same page, scripts, mail, and `data:`.
fn target(tree: &Tree, id: Id, base: Option<&Url>) -> Option<String> {
    let href = tree.attribute(id, "href")?.trim();
    if href.is_empty() || href.starts_with('#') {
        return None;
    }
    let url = match base {
        Some(base) => base.join(href).ok()?,
        None => match Url::parse(href) {
            Ok(url) => url,
            // A file without a known address: relative links are kept as they are.
            Err(_) => return relative(href),
        },
    };
    let same_page = base.is_some_and(|base| {
        let mut plain = url.clone();
        plain.set_fragment(None);
        plain == *base
    });
    let credentials = !url.username().is_empty() || url.password().is_some();
    (matches!(url.scheme(), "http" | "https") && !same_page && !credentials)
        .then(|| String::from(url))
        .filter(|url| url.len() <= MAX_LINK_BYTES)
}

fn relative(href: &str) -> Option<String> {
    let plain = href.chars().all(|c| !c.is_whitespace() && !c.is_control() && c != '<' && c != '>');
    (plain && !href.contains("://") && href.len() <= MAX_LINK_BYTES).then(|| href.to_owned())
}

/// The little link beside a heading: a sign, or nothing to read at all.
fn is_anchor(tree: &Tree, id: Id) -> bool {
    if tree.has_class(id, |class| {
        matches!(
            class,
            "headerlink"
                | "anchor"
                | "anchorjs-link"
                | "hash-link"
                | "header-anchor"
                | "heading-anchor"
                | "permalink"
                | "anchor-link"
        )
    }) {
        return !tree.line_of_text(id, 40).chars().any(char::is_alphanumeric)
            || tree.attribute(id, "href").is_some_and(|href| href.starts_with('#'))
                && !is_whole_heading(tree, id);
    }
    // A sign that leads elsewhere on the page: ¶, §, #, ↩, ⓘ.
    tree.attribute(id, "href").is_some_and(|href| href.starts_with('#'))
        && tree.tag_below(id, Tag::Img).is_none()
        && !tree.line_of_text(id, 4).chars().any(char::is_alphanumeric)
}

/// Some generators put a heading's whole text into its anchor.
fn is_whole_heading(tree: &Tree, id: Id) -> bool {
    let mut above = tree.node(id).parent;
    while above != 0 && tree.tag(above).is_some_and(|tag| tag.heading().is_none()) {
        above = tree.node(above).parent;
    }
    above != 0
        && tree.tag(above).is_some_and(|tag| tag.heading().is_some())
        && tree.line_of_text(above, 200) == tree.line_of_text(id, 200)
}

/// Pictures are their description, if they have one.
fn image(render: &mut Render<'_>, id: Id) {
    let Some(alt) = render.tree.attribute(id, "alt").map(str::trim) else { return };
    if !alt.chars().any(char::is_alphanumeric) || alt.len() > 1000 {
        return;
    }
    if render.link_depth > 0 || render.code_depth > 0 {
        render.writer.text(alt);
    } else {
        render.writer.text(&format!("[image: {alt}]"));
    }
}

/// A formula as its source where the page carries it, else as its text.
fn formula(render: &mut Render<'_>, id: Id) -> bool {
    let tree = render.tree;
    let source = tree.descendants(id).find(|below| {
        tree.tag(*below) == Some(Tag::Annotation)
            && tree.attribute(*below, "encoding").is_some_and(|kind| kind.ends_with("tex"))
    });
    let source = source
        .map(|below| tree.line_of_text(below, 2000))
        .or_else(|| tree.attribute(id, "alttext").map(str::to_owned))
        .filter(|source| !source.is_empty());
    match source {
        Some(source) => {
            render.writer.text(&format!("${source}$"));
            false
        }
        None => true,
    }
}
