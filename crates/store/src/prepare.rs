//! Turns the bytes of a whole document into what is written: view, sections, blocks.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use crate::Result;
use crate::block::{Packed, Packer, Piece};
use crate::chunk::{self, ContentKind, Section};
use crate::document::{NewDocument, Observer, Origin, View};
use crate::error::StoreError;
use crate::lines::Lines;
use crate::search::{Expander, Rows};
use crate::text::{self, Returns};
use crate::write::INLINE_BYTES;

/// The most bytes of a document that the detector of its kind looks at.
const HEAD_BYTES: usize = 8 * 1_024;

/// What a lone carriage return means in a document of that origin.
pub(crate) fn returns(origin: Origin) -> Returns {
    match origin {
        Origin::Run => Returns::Redraw,
        Origin::File | Origin::Content | Origin::Page => Returns::Keep,
    }
}

/// The kind of a document.
pub(crate) fn kind(new: &NewDocument<'_>, view: View, text: &str) -> ContentKind {
    if let Some(kind) = new.kind {
        return kind;
    }
    if view.binary {
        return ContentKind::Plain;
    }
    if new.origin == Origin::Run {
        return ContentKind::Log;
    }
    let head = text.get(..text.floor_char_boundary(HEAD_BYTES)).unwrap_or_default();
    let hint = new.name.or(new.path);
    let mime = hint.filter(|hint| is_mime(hint));
    let name = hint.filter(|hint| !is_mime(hint)).or(new.path);
    ContentKind::detect(name, mime, head)
}

fn is_mime(hint: &str) -> bool {
    hint.split_once('/').is_some_and(|(family, rest)| {
        matches!(family, "text" | "application" | "image" | "audio" | "video" | "message")
            && !rest.contains('/')
    })
}

/// Identifies a text and the way it is shown: the digest of the bytes, with the kind and what a
/// carriage return means.
#[derive(Clone, Debug)]
pub(crate) struct Identity(Sha256);

impl Identity {
    pub(crate) fn new(kind: ContentKind, returns: Returns) -> Self {
        let mode: &[u8] = if returns == Returns::Redraw { b"\0run\0" } else { b"\0text\0" };
        Identity(Sha256::new().chain_update(kind.name()).chain_update(mode))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Where the captured bytes are kept apart from the view.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawParts {
    /// Up to this byte they equal the view.
    pub(crate) from: u64,
    /// Parts from there on: their lengths and their compressed bytes.
    pub(crate) parts: Vec<(u64, Vec<u8>)>,
}

/// Bytes in one part of what is kept apart.
const PART_BYTES: usize = 256 * 1_024;

/// Compresses captured bytes in parts.
pub(crate) fn raw_parts(bytes: &[u8]) -> Result<Vec<(u64, Vec<u8>)>> {
    bytes
        .chunks(PART_BYTES)
        .map(|part| Ok((part.len() as u64, zstd::bulk::compress(part, 1).map_err(packing)?)))
        .collect()
}

pub(crate) fn packing(error: std::io::Error) -> StoreError {
    StoreError::io("compressing", &error)
}

/// A whole document, not yet cut: enough to tell whether the store has it already.
#[derive(Debug)]
pub(crate) struct Viewed<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) text: Cow<'a, str>,
    pub(crate) view: View,
    pub(crate) kind: ContentKind,
    pub(crate) digest: [u8; 32],
    pub(crate) lines: u64,
}

/// Makes the view of a whole document and shows its lines to the observer.
pub(crate) fn look<'a>(
    new: &NewDocument<'_>,
    bytes: &'a [u8],
    observer: Option<&mut dyn Observer>,
) -> Viewed<'a> {
    let (text, view) = text::view(bytes, returns(new.origin));
    let kind = kind(new, view, &text);
    let mut identity = Identity::new(kind, returns(new.origin));
    identity.update(bytes);
    let mut lines = Lines::default();
    lines.see(&text, observer);
    Viewed { bytes, view, kind, digest: identity.finish(), lines: lines.count(), text }
}

/// A whole document, ready to be written.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Its full-text rows, unless it is too large for the transaction that stores it.
    pub(crate) rows: Option<Rows>,
    /// Its number of chunks.
    pub(crate) chunks: u64,
    /// Bytes of its view.
    pub(crate) view_bytes: u64,
    pub(crate) blocks: Vec<Packed>,
    pub(crate) raw: RawParts,
    pub(crate) view: View,
    pub(crate) kind: ContentKind,
    pub(crate) digest: [u8; 32],
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
}

impl Prepared {
    /// Cuts and packs a document.
    pub(crate) fn new(
        new: &NewDocument<'_>,
        viewed: Viewed<'_>,
        packer: &mut Packer,
        expander: &mut Expander,
    ) -> Result<Self> {
        let name = new.name.or(new.path);
        let mut sections = chunk::sections(viewed.kind, name, &viewed.text);
        chunk::lead(new.command, &mut sections, &viewed.text);
        packer.sketch(viewed.text.len() > INLINE_BYTES);
        packer.restart(0, 0, 1);
        let mut blocks = Vec::new();
        for section in &sections {
            let text = viewed.text.get(section.bytes.clone()).unwrap_or_default();
            blocks.extend(packer.add(Piece { title: &section.title, text }).map_err(packing)?);
        }
        blocks.extend(packer.close().map_err(packing)?);
        let text = &*viewed.text;
        let titled = |section: &'_ Section| text.get(section.bytes.clone()).unwrap_or_default();
        let rows = (text.len() <= INLINE_BYTES).then(|| {
            let chunks = sections.iter().map(|section| (&*section.title, titled(section)));
            Rows::new(expander, chunks)
        });
        let raw = if viewed.view.differs {
            let from = common(viewed.bytes, viewed.text.as_bytes());
            let apart = viewed.bytes.get(from..).unwrap_or_default();
            RawParts { from: from as u64, parts: raw_parts(apart)? }
        } else {
            RawParts { from: viewed.bytes.len() as u64, parts: Vec::new() }
        };
        Ok(Prepared {
            rows,
            chunks: sections.len() as u64,
            view_bytes: viewed.text.len() as u64,
            blocks,
            raw,
            view: viewed.view,
            kind: viewed.kind,
            digest: viewed.digest,
            bytes: viewed.bytes.len() as u64,
            lines: viewed.lines,
        })
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
