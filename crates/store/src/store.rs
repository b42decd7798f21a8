//! The store of one workspace root: the public operations, each handed to the file that does it.

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::Result;
use crate::document::{Chunk, DocumentInfo, KnownFile, NewDocument, Observer, Page, Receipt};
use crate::error::StoreError;
use crate::growing::Growing;
use crate::ids::{ChunkId, DocumentId, Location, Span};
use crate::search::{Found, Query};
use crate::writer::Writer;

/// How long run output and fetched pages are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// The longest they are kept unread.
    pub max_age: Duration,
    /// The most bytes the store's file may have; the oldest are removed first.
    pub max_bytes: u64,
}

impl Default for Retention {
    /// 30 days, 2 GiB.
    fn default() -> Self {
        Retention { max_age: Duration::from_secs(30 * 24 * 3_600), max_bytes: 2 << 30 }
    }
}

/// Where a store lies and whose it is.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The data folder; made with mode 0700 on first use.
    pub directory: PathBuf,
    /// The canonical workspace root; names the file and seeds the numbering.
    pub root: PathBuf,
    /// How long run output and fetched pages are kept.
    pub retention: Retention,
}

/// What to purge.
#[derive(Clone, Copy, Debug)]
pub enum Purge<'a> {
    /// Everything.
    All,
    /// A label, a prefix ending in `*`, or a part of a path.
    Source(&'a str),
}

/// What retention removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Documents.
    pub documents: u64,
    /// Bytes of their text.
    pub bytes: u64,
}

/// The store of one workspace root.
#[derive(Debug)]
pub struct Store {
    _options: StoreOptions,
}

/// A chunk's title, text and place, borrowed from a cached block.
#[derive(Clone, Debug)]
pub(crate) struct ChunkText {
    chunk: Chunk,
}

impl ChunkText {
    /// Its document.
    pub(crate) fn document(&self) -> DocumentId {
        self.chunk.document
    }
    /// Its title.
    pub(crate) fn title(&self) -> &str {
        &self.chunk.title
    }
    /// Its text.
    pub(crate) fn body(&self) -> &str {
        &self.chunk.text
    }
    /// Its first and last line, from 1.
    pub(crate) fn lines(&self) -> (u64, u64) {
        self.chunk.lines
    }
}

impl Store {
    /// A store that is opened, and created if need be, on its first use. Touches nothing.
    pub fn new(options: StoreOptions) -> Self {
        Store { _options: options }
    }

    /// Stores a document whole; what it answers is committed.
    pub fn add(
        &self,
        _document: NewDocument<'_>,
        _bytes: &mut dyn Read,
        _observer: Option<&mut dyn Observer>,
    ) -> Result<Receipt> {
        Err(StoreError::Missing)
    }

    /// Begins to store many documents.
    pub fn writer(&self) -> Result<Writer> {
        Err(StoreError::Missing)
    }

    /// Begins a document that is still being produced.
    pub fn begin(&self, _document: NewDocument<'_>) -> Result<Growing> {
        Err(StoreError::Missing)
    }

    /// The next number of a family of labels: 17 for `batch:17:…`.
    pub fn next_number(&self, _family: &str) -> Result<u64> {
        Err(StoreError::Missing)
    }

    /// Where a reference leads.
    pub fn locate(&self, _span: &Span) -> Result<Location> {
        Err(StoreError::Missing)
    }

    /// The chunks `first..=last`, in order; stops after the one that reaches `max_text_bytes`.
    pub fn chunks(
        &self,
        _first: ChunkId,
        _last: ChunkId,
        _max_text_bytes: u64,
    ) -> Result<Vec<Chunk>> {
        Err(StoreError::Missing)
    }

    /// The chunk that holds the beginning of a line of a document.
    pub fn chunk_of_line(&self, _document: DocumentId, _line: u64) -> Result<Option<ChunkId>> {
        Err(StoreError::Missing)
    }

    /// A document.
    pub fn document(&self, _document: DocumentId) -> Result<Option<DocumentInfo>> {
        Err(StoreError::Missing)
    }

    /// The document a label leads to.
    pub fn by_label(&self, _label: &str) -> Result<Option<DocumentInfo>> {
        Err(StoreError::Missing)
    }

    /// The captured bytes of a document, exactly.
    pub fn raw(&self, _document: DocumentId) -> Result<Box<dyn Read + Send>> {
        Err(StoreError::Missing)
    }

    /// Searches. Pending text that concerns the query is finished or scanned, never passed over.
    pub fn search(&self, _query: &Query<'_>) -> Result<Found> {
        Err(StoreError::Missing)
    }

    /// The files whose path begins with `prefix`, sorted by path.
    pub fn known_files(&self, _prefix: &str) -> Result<Vec<KnownFile>> {
        Err(StoreError::Missing)
    }

    /// Every document, newest first.
    pub fn sources(&self) -> Result<Vec<DocumentInfo>> {
        Err(StoreError::Missing)
    }

    /// Removes for good; answers how many labels are gone.
    pub fn purge(&self, _what: Purge<'_>) -> Result<u64> {
        Err(StoreError::Missing)
    }

    /// Removes run output and pages that are too old or too much.
    pub fn expire(&self) -> Result<Expired> {
        Err(StoreError::Missing)
    }

    /// Checks the whole file; answers what is wrong with it, nothing when it is sound.
    pub fn check(&self) -> Result<Vec<String>> {
        Err(StoreError::Missing)
    }

    /// Finishes full-text rows until the deadline; `true` when none are left.
    pub fn finish_pending(&self, _deadline: Instant) -> Result<bool> {
        Err(StoreError::Missing)
    }

    /// Something the user should be told once: a damaged store was set aside.
    pub fn notice(&self) -> Option<String> {
        None
    }

    /// A page of the fetch cache.
    pub fn page(&self, _url: &str) -> Result<Option<Page>> {
        Err(StoreError::Missing)
    }

    /// Remembers a page in the fetch cache.
    pub fn remember_page(&self, _page: &Page) -> Result<()> {
        Err(StoreError::Missing)
    }
}
