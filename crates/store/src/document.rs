//! What is stored and what is told about it: documents, labels, receipts, chunks.

use std::time::SystemTime;

use crate::chunk::ContentKind;
use crate::ids::{ChunkId, ChunkRange, DocumentId};

/// How a document is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label<'a> {
    /// A new label each time: `execute:17`, the number from the store.
    Numbered {
        /// What stands before the number: `execute`, `content`.
        family: &'a str,
    },
    /// This label; given again, it replaces what it led to.
    Fixed(&'a str),
}

/// Where a document came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// What a program printed. Removed by age and size; cut into windows from the first byte.
    Run,
    /// A file, indexed on purpose.
    File,
    /// Text handed over by the caller.
    Content,
    /// A fetched page. Removed by age and size.
    Page,
}

/// A document about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewDocument<'a> {
    /// How it is called.
    pub label: Label<'a>,
    /// Where it came from.
    pub origin: Origin,
    /// A file name or MIME type that picks the chunker when `kind` is absent.
    pub name: Option<&'a str>,
    /// The kind of its content, when known.
    pub kind: Option<ContentKind>,
    /// The state of the file it was read from.
    pub stamp: Option<FileStamp>,
    /// The path of that file, as it is shown.
    pub path: Option<&'a str>,
    /// How its run ended: `exit 0`.
    pub outcome: Option<&'a str>,
    /// What printed it: leads the title of its first chunk, so that the command is found, too.
    pub command: Option<&'a str>,
}

impl<'a> NewDocument<'a> {
    /// A document with that label and origin, and nothing else known about it.
    pub fn new(label: Label<'a>, origin: Origin) -> Self {
        NewDocument {
            label,
            origin,
            name: None,
            kind: None,
            stamp: None,
            path: None,
            outcome: None,
            command: None,
        }
    }
}

/// What tells whether a file changed, as the caller read it from the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub modified_ns: i128,
    /// Change time, nanoseconds since 1970.
    pub changed_ns: i128,
    /// Inode number.
    pub inode: u64,
    /// Device number.
    pub device: u64,
}

/// Sees every line of a document's view while it is stored: in order, once each.
pub trait Observer {
    /// `number` starts at 1; `text` is without its line end. A line over 64 KiB comes in pieces
    /// that carry the same number.
    fn line(&mut self, number: u64, text: &str);
}

/// How the view (what is shown and searched) relates to the captured bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// The encoding the bytes were read in; `None` means UTF-8.
    pub encoding: Option<&'static str>,
    /// Bytes that could not be decoded became U+FFFD.
    pub replaced: bool,
    /// The view is not the bytes themselves; those are kept apart.
    pub differs: bool,
    /// The bytes are not text.
    pub binary: bool,
}

/// What became of a document that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Stored under a label that was free.
    New,
    /// Stored in place of what the label led to.
    Replaced,
    /// The label already led to these very bytes.
    Unchanged,
    /// These very bytes were there already, under this label; both share one text.
    SameAs(String),
}

/// Proof that a document is committed, with the numbers that lead to it.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The document.
    pub document: DocumentId,
    /// Its label.
    pub label: String,
    /// Its chunks; `None` when it is empty.
    pub range: Option<ChunkRange>,
    /// Captured bytes.
    pub bytes: u64,
    /// Lines of the view.
    pub lines: u64,
    /// Chunks.
    pub chunks: u64,
    /// How the view relates to the bytes.
    pub view: View,
    /// What became of it.
    pub status: Status,
}

/// A stored document as one of its labels shows it.
#[derive(Clone, Debug)]
pub struct DocumentInfo {
    /// The document.
    pub id: DocumentId,
    /// The label asked for, else its newest.
    pub label: String,
    /// All labels that lead to it, oldest first.
    pub labels: Vec<String>,
    /// Where it came from.
    pub origin: Origin,
    /// How it was cut.
    pub kind: ContentKind,
    /// Its chunks; `None` while it is empty.
    pub range: Option<ChunkRange>,
    /// Captured bytes.
    pub bytes: u64,
    /// Bytes of the view.
    pub view_bytes: u64,
    /// Lines of the view.
    pub lines: u64,
    /// How the view relates to the bytes.
    pub view: View,
    /// How its run ended.
    pub outcome: Option<String>,
    /// It is still growing.
    pub running: bool,
    /// The state of the file it was read from.
    pub stamp: Option<FileStamp>,
    /// The path of that file.
    pub path: Option<String>,
    /// When it was first stored.
    pub created: SystemTime,
}

/// A stored chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its number.
    pub id: ChunkId,
    /// The document it belongs to.
    pub document: DocumentId,
    /// What it is about: a heading, a definition, a key.
    pub title: String,
    /// Its text, exactly.
    pub text: String,
    /// Its first and last line in the view, from 1.
    pub lines: (u64, u64),
    /// The byte of the view it starts at.
    pub start: u64,
}

/// A file the store holds text of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Its label.
    pub label: String,
    /// Its path, as it was given.
    pub path: String,
    /// Its state when it was read.
    pub stamp: FileStamp,
    /// Its document.
    pub document: DocumentId,
}

/// A fetched page as the fetch cache remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The URL asked for.
    pub url: String,
    /// The URL that answered.
    pub final_url: String,
    /// Its validator, when it gave one.
    pub etag: Option<String>,
    /// Its date, when it gave one.
    pub last_modified: Option<String>,
    /// When it was fetched or confirmed.
    pub fetched: SystemTime,
    /// Its text.
    pub document: DocumentId,
    /// Its content type.
    pub content_type: String,
}
