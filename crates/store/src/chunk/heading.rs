//! Headings of documents (Markdown, reStructuredText, HTML): their text and the paths they make.

use std::ops::Range;

use super::{Context, Step, Titled, title};

/// A heading that was found: where, how deep, and what it says.
#[derive(Debug)]
pub(super) struct Heading {
    pub(super) at: usize,
    pub(super) level: u32,
    pub(super) label: String,
}

/// Gives each range the path of headings that holds at its start, and the headings joined into it.
pub(super) fn breadcrumbs(
    ranges: Vec<Range<usize>>,
    headings: Vec<Heading>,
    context: &mut Context,
) -> Vec<Titled> {
    let trail = &mut context.trail;
    let mut headings = headings.into_iter().peekable();
    let mut out = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut crumbs = String::new();
        let mut more: Vec<String> = Vec::new();
        let mut found = false;
        while let Some(heading) = headings.next_if(|heading| heading.at < range.end) {
            let depth = trail.last().map_or(0, |step| step.level);
            if found && heading.level <= depth {
                // A neighbour joined because it is small: its own name is enough.
                more.push(heading.label.clone());
            }
            trail.retain(|step| step.level < heading.level);
            trail.push(Step { level: heading.level, label: heading.label });
            if more.is_empty() {
                crumbs = path(trail);
            }
            found = true;
        }
        if !found {
            crumbs = path(trail);
        }
        let names = std::iter::once(crumbs.as_str()).chain(more.iter().map(String::as_str));
        out.push((range, title::join(names, ", ")));
    }
    out
}

/// The path of headings; a long one keeps its end, which says most.
fn path(trail: &[Step]) -> String {
    let mut shown = trail;
    loop {
        let crumbs = title::join(shown.iter().map(|step| step.label.as_str()), " > ");
        let whole = shown.iter().map(|step| step.label.chars().count() + 3).sum::<usize>();
        match shown {
            [_, rest @ ..] if !rest.is_empty() && whole > title::TITLE_CHARS + 3 => shown = rest,
            _ => return crumbs,
        }
    }
}

/// The text of a heading without its markup: tags, emphasis, link targets, closing marks, `{#id}`.
pub(super) fn label(bytes: &[u8]) -> String {
    let line = title::clean_bytes(bytes, title::TITLE_CHARS * 2);
    let line = line.trim_end_matches('#').trim_end();
    let line = match line.rfind("{#") {
        Some(at) if line.ends_with('}') => line.get(..at).unwrap_or(line).trim_end(),
        _ => line,
    };
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..).unwrap_or_default();
        rest = match character {
            '<' if after.starts_with(|next: char| next.is_ascii_alphabetic() || next == '/') => {
                // A tag; `<T>` in a heading about types is kept.
                match after.find('>') {
                    Some(end) if is_tag(after.get(..end).unwrap_or_default()) => {
                        after.get(end + 1..).unwrap_or_default()
                    }
                    _ => {
                        plain.push(character);
                        after
                    }
                }
            }
            ']' if after.starts_with('(') => match after.find(')') {
                Some(end) => after.get(end + 1..).unwrap_or_default(),
                None => after,
            },
            '[' if after.contains("](") => after,
            '`' => after,
            '*' if after.starts_with('*') || plain.ends_with('*') => after,
            _ => {
                plain.push(character);
                after
            }
        };
    }
    title::clean(&plain, title::TITLE_CHARS)
}

/// Whether the inside of `<…>` is an HTML tag rather than a type parameter.
fn is_tag(inside: &str) -> bool {
    let name = inside.trim_start_matches('/');
    let name = name.split([' ', '/']).next().unwrap_or_default().to_ascii_lowercase();
    let heading = matches!(name.as_bytes(), [b'h', b'1'..=b'6']);
    heading
        || matches!(
            name.as_str(),
            "a" | "b"
                | "i"
                | "em"
                | "code"
                | "img"
                | "br"
                | "span"
                | "strong"
                | "sub"
                | "sup"
                | "small"
                | "kbd"
                | "u"
                | "div"
                | "center"
                | "font"
                | "p"
        )
}
