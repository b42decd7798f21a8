//! What a body is, and its text: declared types, conservative sniffing, refusals.

use url::{Host, Url};

use crate::{
    FetchError, Page, PageKind,
    decode::{self, Inside},
    html::{self, Budget},
};

/// How much of a body is looked at to tell what it is.
const SNIFF_BYTES: usize = 8 << 10;

/// A 2xx response, read and unpacked.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) first: Url,
    pub(crate) url: Url,
    pub(crate) content_type: String,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
    pub(crate) wire_bytes: u64,
    pub(crate) body: Vec<u8>,
}

/// Types that are text although they do not say so. The extension tells the store's chunkers.
const TEXT_TYPES: &[(&str, PageKind, &str)] = &[
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
const EXTENSIONS: &[(&str, PageKind)] = &[
    ("csv", PageKind::Csv),
    ("json", PageKind::Json),
    ("jsonl", PageKind::Json),
    ("markdown", PageKind::Markdown),
    ("md", PageKind::Markdown),
    ("mdx", PageKind::Markdown),
    ("ndjson", PageKind::Json),
    ("tsv", PageKind::Csv),
];

/// First bytes of formats that are not text.
const MAGIC: &[(&[u8], &str)] = &[
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM\x00\x00", "image/bmp"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x7fELF", "application/x-elf"),
    (b"\x00asm", "application/wasm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
];

/// Refuses by the declared type alone, before a byte of the body is read.
pub(crate) fn refuse_by_type(header: &str) -> Result<(), FetchError> {
    let essence = essence(header);
    let family = essence.split('/').next().unwrap_or_default();
    let archive = matches!(
        essence.as_str(),
        "application/gzip" | "application/zip" | "application/x-tar" | "application/wasm"
    );
    if matches!(family, "image" | "audio" | "video" | "font" | "model" | "multipart")
        || archive
        || essence == "application/pdf"
    {
        return Err(unsupported(essence));
    }
    Ok(())
}

fn unsupported(content_type: String) -> FetchError {
    let hint = (content_type.starts_with("application/pdf"))
        .then(|| "PDF cannot be read yet: look for the same text as HTML or plain text".to_owned());
    FetchError::Unsupported { content_type, hint }
}

/// Decides what the body is, decodes it and converts it.
pub(crate) fn convert(answer: Answer, budget: &Budget) -> Result<Page, FetchError> {
    let Answer { first, url, content_type: header, etag, last_modified, wire_bytes, body } = answer;
    let body_bytes = body.len() as u64;
    let declared = essence(&header);
    let charset = parameter(&header, "charset");
    if let Some(found) = binary(&body, charset.as_deref()) {
        return Err(unsupported(match declared.as_str() {
            "" => found.to_owned(),
            declared if declared == found => found.to_owned(),
            declared => format!("{found} (sent as {declared})"),
        }));
    }
    let known = TEXT_TYPES.iter().find(|(name, ..)| *name == declared);
    let extension = extension(&url);
    let by_extension = EXTENSIONS.iter().find(|(name, _)| Some(*name) == extension.as_deref());
    let declared_kind = match known {
        Some((_, kind, _)) => Some(*kind),
        None if declared.ends_with("+json") => Some(PageKind::Json),
        None if declared.ends_with("+xml") => Some(PageKind::Xml),
        None => None,
    };
    let mut kind = declared_kind
        .or_else(|| by_extension.map(|(_, kind)| *kind))
        .or_else(|| is_llms_txt(&url).then_some(PageKind::Markdown))
        .unwrap_or(PageKind::Text);
    let mut notes = Vec::new();
    if let Some(actual) = belied(kind, declared_kind.is_some(), extension.as_deref(), &body) {
        if !declared.is_empty() {
            notes.push(format!("sent as {declared}, read as {}", actual.name()));
        }
        kind = actual;
    }
    let inside = match kind {
        PageKind::Html => Inside::Html,
        PageKind::Xml => Inside::Xml,
        PageKind::Json => Inside::Utf8,
        PageKind::Markdown | PageKind::Csv | PageKind::Text => Inside::Nothing,
    };
    let domain = match url.host() {
        Some(Host::Domain(name)) => name.trim_end_matches('.').rsplit('.').next(),
        _ => None,
    };
    let decoded = decode::decode(body, charset.as_deref(), inside, domain);
    notes.extend(decoded.note);
    let (title, text) = if kind == PageKind::Html {
        let markdown = html::convert(&decoded.text, Some(&url), budget);
        notes.extend(markdown.notes);
        (markdown.title, markdown.text)
    } else {
        let title = (kind == PageKind::Markdown).then(|| first_heading(&decoded.text)).flatten();
        if decoded.text.trim().is_empty() {
            notes.push("empty page".to_owned());
        }
        (title, decoded.text)
    };
    let type_extension = known.map(|(.., extension)| *extension);
    Ok(Page {
        name_hint: name_hint(kind, &url, extension.as_deref(), type_extension),
        url: first.into(),
        final_url: url.into(),
        content_type: declared,
        kind,
        title,
        text,
        charset: decoded.charset.to_owned(),
        charset_guessed: decoded.guessed,
        wire_bytes,
        body_bytes,
        etag,
        last_modified,
        notes,
    })
}

/// Type and subtype, lower case; empty when the header is not one.
fn essence(header: &str) -> String {
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
fn parameter(header: &str, wanted: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"').trim();
        (name.trim().eq_ignore_ascii_case(wanted) && !value.is_empty()).then(|| value.to_owned())
    })
}

/// What the body is if it is not text.
fn binary(body: &[u8], charset: Option<&str>) -> Option<&'static str> {
    if let Some((_, found)) = MAGIC.iter().find(|(magic, _)| body.starts_with(magic)) {
        return Some(found);
    }
    let box_type = body.get(4..8);
    if box_type == Some(b"ftyp") {
        return Some("video/mp4");
    }
    if body.starts_with(b"RIFF") && matches!(body.get(8..12), Some(b"WEBP" | b"WAVE" | b"AVI ")) {
        return Some("a RIFF container (image, sound or video)");
    }
    let wide = charset.is_some_and(|label| label.to_ascii_lowercase().starts_with("utf-16"))
        || encoding_rs::Encoding::for_bom(body).is_some()
        || decode::utf16_by_zeros(body).is_some();
    if wide {
        return None;
    }
    let head = body.get(..SNIFF_BYTES).unwrap_or(body);
    // Escape is part of some charsets and of terminal output; the other controls are not text.
    let controls = head
        .iter()
        .filter(|byte| matches!(byte, 0x01..=0x07 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f))
        .count();
    (head.contains(&0) || controls * 20 > head.len()).then_some("binary data")
}

/// The kind that the bytes show when the declaration cannot be true.
fn belied(
    kind: PageKind,
    declared: bool,
    extension: Option<&str>,
    body: &[u8],
) -> Option<PageKind> {
    let head = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let starts = |prefix: &[u8]| {
        head.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let html = starts(b"<!doctype html") || starts(b"<html") || starts(b"<head>");
    match kind {
        // A source file keeps its own form: `x.txt` that shows HTML is about HTML.
        PageKind::Text if html && !matches!(extension, Some("txt" | "tpl" | "tmpl" | "erb")) => {
            Some(PageKind::Html)
        }
        PageKind::Text if !declared && starts(b"<?xml") => Some(PageKind::Xml),
        PageKind::Json | PageKind::Csv if html => Some(PageKind::Html),
        PageKind::Html => {
            let end = body.trim_ascii_end().last();
            let json =
                matches!((head.first(), end), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')));
            (json && !head.contains(&b'<')).then_some(PageKind::Json)
        }
        _ => None,
    }
}

/// The extension of the URL's last path segment, lower case.
fn extension(url: &Url) -> Option<String> {
    let segment = url.path_segments()?.next_back()?;
    let (stem, extension) = segment.rsplit_once('.')?;
    let plain = !stem.is_empty()
        && (1..=10).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| extension.to_ascii_lowercase())
}

/// `llms.txt` and its kin are Markdown by convention.
fn is_llms_txt(url: &Url) -> bool {
    let name = url.path_segments().and_then(|mut path| path.next_back()).unwrap_or_default();
    matches!(name, "llms.txt" | "llms-full.txt" | "llms-small.txt")
}

/// A file name for the store's chunkers. Never the page's own name where that could mislead.
fn name_hint(kind: PageKind, url: &Url, path: Option<&str>, declared: Option<&str>) -> String {
    let extension = match kind {
        PageKind::Html | PageKind::Markdown => "md",
        PageKind::Json | PageKind::Csv => path
            .filter(|path| EXTENSIONS.iter().any(|(name, of)| name == path && *of == kind))
            .or(declared)
            .unwrap_or(if kind == PageKind::Json { "json" } else { "csv" }),
        PageKind::Xml => "xml",
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

fn first_heading(text: &str) -> Option<String> {
    let line = text.lines().take(50).find_map(|line| line.strip_prefix("# "))?;
    let title: String = line.trim().chars().filter(|c| !c.is_control()).take(200).collect();
    (!title.is_empty()).then_some(title)
}
