//! The kinds of content: one row each, with what they are recognised by and how they are cut.

use super::code::CodeLanguage;
use super::sniff;

/// What a text is: picks the way it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentKind {
    /// Source code or configuration, by definition.
    Code(CodeLanguage),
    /// Comma-separated values, by record.
    Csv,
    /// HTML, by heading.
    Html,
    /// JSON, by key path.
    Json,
    /// Output of a program, by block.
    Log,
    /// Markdown, by heading.
    Markdown,
    /// One JSON value a line.
    Ndjson,
    /// Jupyter notebook, by cell.
    Notebook,
    /// Text of a paged document, by page.
    Pages,
    /// Anything else, by paragraph.
    Plain,
    /// reStructuredText, by heading.
    Rst,
    /// Tab-separated values, by record.
    Tsv,
    /// XML, by element.
    Xml,
}

/// Which of the two a searcher may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Source code and data: written for machines.
    Code,
    /// Text for people, and what programs print for people.
    Prose,
}

/// How a kind is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunker {
    Code(CodeLanguage),
    /// With the separator of its fields; none means that the header tells.
    Csv(Option<u8>),
    Html,
    Json,
    Log,
    Markdown,
    Ndjson,
    Notebook,
    Pages,
    Plain,
    Rst,
    Xml,
}

/// One row of [`KINDS`].
#[derive(Debug)]
pub(super) struct KindRow {
    pub(super) kind: ContentKind,
    /// Stored with a document: never change one.
    pub(super) name: &'static str,
    /// File name extensions, lower case, without the dot.
    pub(super) extensions: &'static [&'static str],
    /// Whole file names, lower case.
    pub(super) files: &'static [&'static str],
    /// MIME types, lower case, without parameters.
    pub(super) mimes: &'static [&'static str],
    pub(super) class: Kind,
    pub(super) chunker: Chunker,
}

/// Rows of all that is not code; code has one row for each language in [`super::code`].
#[rustfmt::skip]
pub(super) static KINDS: &[KindRow] = &[
    KindRow { kind: ContentKind::Csv, name: "csv", class: Kind::Code, chunker: Chunker::Csv(None),
        extensions: &["csv"], files: &[], mimes: &["text/csv", "application/csv"] },
    KindRow { kind: ContentKind::Html, name: "html", class: Kind::Prose, chunker: Chunker::Html,
        extensions: &["html", "htm", "xhtml"], files: &[], mimes: &["text/html", "application/xhtml+xml"] },
    KindRow { kind: ContentKind::Json, name: "json", class: Kind::Code, chunker: Chunker::Json,
        extensions: &["json", "jsonc", "json5", "geojson", "webmanifest", "har", "sarif", "avsc", "map"],
        files: &[".babelrc", ".eslintrc", ".prettierrc", "composer.lock", "deno.lock", "flake.lock", "pipfile.lock"],
        mimes: &["application/json", "text/json", "application/ld+json", "application/manifest+json"] },
    KindRow { kind: ContentKind::Log, name: "log", class: Kind::Prose, chunker: Chunker::Log,
        extensions: &["log", "out", "err", "trace", "diff", "patch", "tap"], files: &[],
        mimes: &["text/x-log", "text/x-diff", "text/x-patch"] },
    KindRow { kind: ContentKind::Markdown, name: "markdown", class: Kind::Prose, chunker: Chunker::Markdown,
        extensions: &["md", "markdown", "mdx", "mkd", "mdown", "qmd", "rmd"], files: &[],
        mimes: &["text/markdown", "text/x-markdown"] },
    KindRow { kind: ContentKind::Ndjson, name: "ndjson", class: Kind::Code, chunker: Chunker::Ndjson,
        extensions: &["ndjson", "jsonl", "jsonlines", "ldjson"], files: &[],
        mimes: &["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/json-seq"] },
    KindRow { kind: ContentKind::Notebook, name: "notebook", class: Kind::Code, chunker: Chunker::Notebook,
        extensions: &["ipynb"], files: &[], mimes: &["application/x-ipynb+json"] },
    KindRow { kind: ContentKind::Pages, name: "pages", class: Kind::Prose, chunker: Chunker::Pages,
        extensions: &[], files: &[], mimes: &[] },
    KindRow { kind: ContentKind::Plain, name: "plain", class: Kind::Prose, chunker: Chunker::Plain,
        extensions: &["txt", "text"], files: &[], mimes: &["text/plain"] },
    KindRow { kind: ContentKind::Rst, name: "rst", class: Kind::Prose, chunker: Chunker::Rst,
        extensions: &["rst", "rest"], files: &[], mimes: &["text/x-rst", "text/prs.fallenstein.rst"] },
    KindRow { kind: ContentKind::Tsv, name: "tsv", class: Kind::Code, chunker: Chunker::Csv(Some(b'\t')),
        extensions: &["tsv", "tab"], files: &[], mimes: &["text/tab-separated-values"] },
    KindRow { kind: ContentKind::Xml, name: "xml", class: Kind::Code, chunker: Chunker::Xml,
        extensions: &["xml", "xsd", "xsl", "xslt", "svg", "plist", "rss", "atom", "wsdl", "csproj", "fsproj", "vbproj", "props", "targets", "resx", "xaml", "kml", "gpx", "opml", "pom"],
        files: &[], mimes: &["application/xml", "text/xml", "image/svg+xml", "application/rss+xml", "application/atom+xml"] },
];

/// All rows: [`KINDS`] and the languages.
pub(super) fn rows() -> impl Iterator<Item = &'static KindRow> {
    KINDS.iter().chain(super::code::ROWS)
}

/// The row of a kind.
fn row(kind: ContentKind) -> Option<&'static KindRow> {
    rows().find(|row| row.kind == kind)
}

/// How a kind is cut.
pub(super) fn chunker(kind: ContentKind) -> Chunker {
    row(kind).map_or(Chunker::Plain, |row| row.chunker)
}

impl ContentKind {
    /// The kind by file name or URL, else MIME type, else the first bytes of the text (a few KiB
    /// are enough). Names that say little, such as `notes.txt`, are decided by the text.
    pub fn detect(name: Option<&str>, mime: Option<&str>, head: &str) -> Self {
        let named = name.and_then(by_name);
        let typed = || mime.and_then(by_mime);
        match named.or_else(typed) {
            Some(Self::Plain) | None => sniff::sniff(head),
            Some(kind) => kind,
        }
    }

    /// Code or prose.
    pub fn class(self) -> Kind {
        row(self).map_or(Kind::Prose, |row| row.class)
    }

    /// Whether it is data or configuration: its keys are names somebody may look for.
    pub(crate) fn is_data(self) -> bool {
        use CodeLanguage::{Ini, Toml, Yaml};
        matches!(self, Self::Json | Self::Ndjson | Self::Code(Ini | Toml | Yaml))
    }

    /// The name it is stored under; [`ContentKind::parse`] reads it back.
    pub fn name(self) -> &'static str {
        row(self).map_or("plain", |row| row.name)
    }

    /// The kind with that stored name.
    pub fn parse(name: &str) -> Option<Self> {
        rows().find(|row| row.name == name).map(|row| row.kind)
    }
}

/// The kind of a file by the last part of its name, in any case.
fn by_name(name: &str) -> Option<ContentKind> {
    let name = match name.find("://") {
        // Of a URL only the path counts.
        Some(scheme) => {
            let path = name.get(scheme + 3..)?.split(['?', '#']).next()?;
            path.split_once('/')?.1
        }
        None => name,
    };
    let file = name.rsplit(['/', '\\']).next()?.to_ascii_lowercase();
    if let Some(row) = rows().find(|row| row.files.contains(&file.as_str())) {
        return Some(row.kind);
    }
    let (stem, extension) = file.rsplit_once('.')?;
    if let Some(row) = rows().find(|row| row.extensions.contains(&extension)) {
        return Some(row.kind);
    }
    // Rotated logs and kept copies: app.log.1, page.md.bak, Dockerfile.dev.
    let rotated = extension.bytes().all(|byte| byte.is_ascii_digit());
    if rotated || matches!(extension, "bak" | "orig" | "old" | "tmp" | "in" | "example" | "sample")
    {
        return by_name(stem);
    }
    rows().find(|row| row.files.contains(&stem)).map(|row| row.kind)
}

/// The kind of a MIME type, also by its suffix (`application/problem+json`).
fn by_mime(mime: &str) -> Option<ContentKind> {
    let mime = mime.split(';').next()?.trim().to_ascii_lowercase();
    let known = rows().find(|row| row.mimes.contains(&mime.as_str())).map(|row| row.kind);
    known.or_else(|| match mime.rsplit_once('+')?.1 {
        "json" => Some(ContentKind::Json),
        "xml" => Some(ContentKind::Xml),
        _ => None,
    })
}
