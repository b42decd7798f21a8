//! What a body is, and its text: declared types, conservative sniffing, refusals.

mod json;
mod sniff;
mod types;

use url::{Host, Url};

use self::{
    sniff::{belied, binary},
    types::{EXTENSIONS, TEXT_TYPES, essence, extension, is_llms_txt, name_hint, parameter},
};

use crate::{
    FetchError, Page, PageKind,
    decode::{self, Inside},
    html::{self, Budget},
};

/// The type of a PDF.
const PDF: &str = "application/pdf";

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

/// Refuses by the declared type alone, before a byte of the body is read.
pub(crate) fn refuse_by_type(header: &str) -> Result<(), FetchError> {
    let essence = essence(header);
    let family = essence.split('/').next().unwrap_or_default();
    let archive = matches!(
        essence.as_str(),
        "application/gzip" | "application/zip" | "application/x-tar" | "application/wasm"
    );
    if matches!(family, "image" | "audio" | "video" | "font" | "model" | "multipart") || archive {
        return Err(FetchError::Unsupported { content_type: essence });
    }
    Ok(())
}

/// Decides what the body is, decodes it and converts it.
pub(crate) fn convert(answer: Answer, budget: &Budget) -> Result<Page, FetchError> {
    let Answer { first, url, content_type: header, etag, last_modified, wire_bytes, body } = answer;
    let body_bytes = body.len() as u64;
    let declared = essence(&header);
    let charset = parameter(&header, "charset");
    let found = binary(&body, charset.as_deref());
    if found == Some(PDF) {
        let other = !matches!(declared.as_str(), "" | PDF);
        let note = other.then(|| format!("sent as {declared}, read as pdf"));
        return Ok(Page {
            url: first.into(),
            final_url: url.into(),
            content_type: PDF.to_owned(),
            kind: PageKind::Pdf,
            title: None,
            text: String::new(),
            pdf: Some(body),
            name_hint: "page.pdf".to_owned(),
            charset: String::new(),
            charset_guessed: false,
            wire_bytes,
            body_bytes,
            etag,
            last_modified,
            notes: note.into_iter().collect(),
        });
    }
    if let Some(found) = found {
        let content_type = match declared.as_str() {
            "" => found.to_owned(),
            declared if declared == found => found.to_owned(),
            declared => format!("{found} (sent as {declared})"),
        };
        return Err(FetchError::Unsupported { content_type });
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
        PageKind::Markdown | PageKind::Csv | PageKind::Pdf | PageKind::Text => Inside::Nothing,
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
        let lines = (kind == PageKind::Json).then(|| json::laid_out(&decoded.text)).flatten();
        (title, lines.unwrap_or(decoded.text))
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
        pdf: None,
        charset: decoded.charset.to_owned(),
        charset_guessed: decoded.guessed,
        wire_bytes,
        body_bytes,
        etag,
        last_modified,
        notes,
    })
}

fn first_heading(text: &str) -> Option<String> {
    let line = text.lines().take(50).find_map(|line| line.strip_prefix("# "))?;
    let title: String = line.trim().chars().filter(|c| !c.is_control()).take(200).collect();
    (!title.is_empty()).then_some(title)
}
