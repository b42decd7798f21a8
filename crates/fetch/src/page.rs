//! What is asked of a fetch, and what comes back.

use std::time::{Duration, Instant};

/// One URL to fetch. Dropping the future of [`crate::Fetcher::fetch`] cancels it.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The URL as the caller got it; its fragment is not sent.
    pub url: &'a str,
    /// From an earlier fetch of the same URL, to make the request conditional.
    pub validators: Option<Validators>,
    /// When the fetch must have ended, whatever the limits say.
    pub deadline: Instant,
}

/// Response headers that let a later fetch ask "has it changed?".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    /// The `ETag` header as sent.
    pub etag: Option<String>,
    /// The `Last-Modified` header as sent.
    pub last_modified: Option<String>,
}

/// What the server answered.
#[derive(Debug)]
pub enum Outcome {
    /// 304: what the caller has is current.
    NotModified {
        /// The URL that answered, after redirects.
        final_url: String,
    },
    /// A page with text.
    Page(Box<Page>),
    /// Any other status, 204 included: not content, nothing to index.
    Status {
        /// The HTTP status.
        code: u16,
        /// The registered reason phrase (`Not Found`), never the server's own words.
        reason: &'static str,
        /// The URL that answered, after redirects.
        final_url: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
}

/// A page as text. All strings that come from headers or titles are one line.
#[derive(Debug, Clone)]
pub struct Page {
    /// The URL asked for, normalised, without its fragment.
    pub url: String,
    /// The URL that answered, after redirects.
    pub final_url: String,
    /// Type and subtype as sent, lower case, without parameters; empty when none was sent.
    pub content_type: String,
    /// What the body was taken for.
    pub kind: PageKind,
    /// The page's title, if it has one.
    pub title: Option<String>,
    /// The text to index: Markdown for HTML, the decoded body for everything else.
    pub text: String,
    /// The body of a PDF, whose text is for somebody else to read; [`Self::text`] is empty then.
    pub pdf: Option<Vec<u8>>,
    /// A file name that lets the store pick its chunker: `page.md`, `data.json`, `main.rs`.
    pub name_hint: String,
    /// The charset used to decode the body (`UTF-8`, `windows-1251`, …).
    pub charset: String,
    /// The charset was detected, not declared.
    pub charset_guessed: bool,
    /// Bytes of the body as sent.
    pub wire_bytes: u64,
    /// Bytes of the body after decompression.
    pub body_bytes: u64,
    /// The `ETag` header as sent.
    pub etag: Option<String>,
    /// The `Last-Modified` header as sent.
    pub last_modified: Option<String>,
    /// What the reader should know: `empty page`, `almost no text: an application shell`, ….
    pub notes: Vec<String>,
}

/// What a body was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageKind {
    /// HTML or XHTML, converted to Markdown.
    Html,
    /// Markdown as it is.
    Markdown,
    /// JSON or newline-delimited JSON as it is.
    Json,
    /// XML, RSS, Atom as it is.
    Xml,
    /// Comma- or tab-separated values as they are.
    Csv,
    /// A PDF, not converted here.
    Pdf,
    /// Any other text as it is.
    Text,
}

impl PageKind {
    /// The kind in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "markdown",
            Self::Json => "json",
            Self::Xml => "xml",
            Self::Csv => "csv",
            Self::Pdf => "pdf",
            Self::Text => "text",
        }
    }
}
