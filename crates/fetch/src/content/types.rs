//! Declared types and names: which are text, and what the store's chunkers should take them for.

use url::Url;

use crate::PageKind;

/// Types that are text although they do not say so. The extension tells the store's chunkers.
pub(super) const TEXT_TYPES: &[(&str, PageKind, &str)] = &[
    ("application/ecmascript", PageKind::Text, "js"),
    ("application/graphql", PageKind::Text, "graphql"),
    ("application/javascript", PageKind::Text, "js"),
    ("application/json", PageKind::Json, "json"),
    ("application/jsonl", PageKind::Json, "jsonl"),
    ("application/ndjson", PageKind::Json, "ndjson"),
    ("application/sql", PageKind::Text, "sql"),
    ("application/toml", PageKind::Text, "toml"),
    ("application/typescript", PageKind::Text, "ts"),
    ("application/x-httpd-php", PageKind::Text, "php"),
    ("application/x-javascript", PageKind::Text, "js"),
    ("application/x-ndjson", PageKind::Json, "ndjson"),
    ("application/x-perl", PageKind::Text, "pl"),
    ("application/x-python", PageKind::Text, "py"),
    ("application/x-ruby", PageKind::Text, "rb"),
    ("application/x-sh", PageKind::Text, "sh"),
    ("application/x-tex", PageKind::Text, "tex"),
    ("application/x-yaml", PageKind::Text, "yaml"),
    ("application/xhtml+xml", PageKind::Html, "md"),
    ("application/xml", PageKind::Xml, "xml"),
    ("application/yaml", PageKind::Text, "yaml"),
    ("text/csv", PageKind::Csv, "csv"),
    ("text/html", PageKind::Html, "md"),
    ("text/markdown", PageKind::Markdown, "md"),
    ("text/tab-separated-values", PageKind::Csv, "tsv"),
    ("text/x-markdown", PageKind::Markdown, "md"),
    ("text/xml", PageKind::Xml, "xml"),
];

/// Extensions of a URL's path that say more than `text/plain` or a missing type.
pub(super) const EXTENSIONS: &[(&str, PageKind)] = &[
    ("csv", PageKind::Csv),
    ("json", PageKind::Json),
    ("jsonl", PageKind::Json),
    ("markdown", PageKind::Markdown),
    ("md", PageKind::Markdown),
    ("mdx", PageKind::Markdown),
    ("ndjson", PageKind::Json),
    ("tsv", PageKind::Csv),
];

/// Type and subtype, lower case; empty when the header is not one.
pub(super) fn essence(header: &str) -> String {
    let essence = header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
    };
    match essence.split_once('/') {
        Some((family, rest)) if token(family) && token(rest) && essence.len() <= 120 => essence,
        _ => String::new(),
    }
}

/// The value of a parameter of a header, quotes removed.
pub(super) fn parameter(header: &str, wanted: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"').trim();
        (name.trim().eq_ignore_ascii_case(wanted) && !value.is_empty()).then(|| value.to_owned())
    })
}

/// The extension of the URL's last path segment, lower case.
pub(super) fn extension(url: &Url) -> Option<String> {
    let segment = url.path_segments()?.next_back()?;
    let (stem, extension) = segment.rsplit_once('.')?;
    let plain = !stem.is_empty()
        && (1..=10).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| extension.to_ascii_lowercase())
}

/// `llms.txt` and its kin are Markdown by convention.
pub(super) fn is_llms_txt(url: &Url) -> bool {
    let name = url.path_segments().and_then(|mut path| path.next_back()).unwrap_or_default();
    matches!(name, "llms.txt" | "llms-full.txt" | "llms-small.txt")
}

/// A file name for the store's chunkers. Never the page's own name where that could mislead.
pub(super) fn name_hint(
    kind: PageKind,
    url: &Url,
    path: Option<&str>,
    declared: Option<&str>,
) -> String {
    let extension = match kind {
        PageKind::Html | PageKind::Markdown => "md",
        PageKind::Json | PageKind::Csv => path
            .filter(|path| EXTENSIONS.iter().any(|(name, of)| name == path && *of == kind))
            .or(declared)
            .unwrap_or(if kind == PageKind::Json { "json" } else { "csv" }),
        PageKind::Xml => "xml",
        PageKind::Pdf => "pdf",
        PageKind::Text => {
            let name =
                url.path_segments().and_then(|mut path| path.next_back()).unwrap_or_default();
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-+".contains(&b);
            if path.is_some() && name.len() <= 80 && name.bytes().all(plain) {
                return name.to_owned();
            }
            declared.unwrap_or("txt")
        }
    };
    format!("page.{extension}")
}
