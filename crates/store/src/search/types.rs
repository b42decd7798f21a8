//! What is asked, what is found, and what search may ask the core.

use std::sync::Arc;
use std::time::Instant;

use super::sketch::Sketch;
use crate::Result;
use crate::block::Block;
use crate::chunk::Kind;
use crate::document::{DocumentInfo, FileStamp, Origin};
use crate::ids::{ChunkId, ChunkRange, DocumentId};
use crate::store::ChunkText;

/// Where to search.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// Everywhere.
    All,
    /// An exact label, a prefix ending in `*`, or a part of a path.
    Source(&'a str),
    /// These documents.
    Documents(&'a [DocumentId]),
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Any string at all.
    pub text: &'a str,
    /// The most hits wanted.
    pub limit: usize,
    /// Where to search.
    pub scope: Scope<'a>,
    /// Only code, or only prose.
    pub kind: Option<Kind>,
    /// Whether hits come with the text around what matched.
    pub snippets: bool,
    /// When to stop and answer with what there is.
    pub deadline: Option<Instant>,
}

impl<'a> Query<'a> {
    /// Asks everything, as long as it takes, for hits with their snippets.
    pub fn new(text: &'a str, limit: usize) -> Self {
        Query { text, limit, scope: Scope::All, kind: None, snippets: true, deadline: None }
    }
}

/// How good the best hit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It covers at least half of what was asked, weighted by rarity.
    Good,
    /// It covers less; at most one hit is given.
    Weak,
    /// Nothing matches.
    NoMatch,
    /// The query holds no word, or the scope no text.
    NothingToSearch,
}

/// One chunk that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The chunk.
    pub chunk: ChunkId,
    /// Its document.
    pub document: DocumentId,
    /// Its title.
    pub title: String,
    /// The label of its document.
    pub source: String,
    /// Other labels with identical text.
    pub also: Vec<String>,
    /// First and last line, from 1.
    pub lines: (u64, u64),
    /// Larger is better; comparable within one answer.
    pub score: f64,
    /// At most [`SNIPPET_CHARS`](crate::SNIPPET_CHARS) of its text around the rarest matched lines, where they were asked for.
    pub snippet: String,
    /// Where the document came from.
    pub origin: Origin,
    /// The path of its file.
    pub path: Option<String>,
    /// The state of its file when it was read.
    pub stamp: Option<FileStamp>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Best first; no chunk twice.
    pub hits: Vec<Hit>,
    /// How good the best one is.
    pub verdict: Verdict,
    /// What could not be searched before the deadline, if anything.
    pub incomplete: Option<String>,
    /// Words asked for that no text has, and the known ones they were taken for slips of.
    pub read_as: Vec<(String, Vec<String>)>,
}

/// A document a scope includes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScopedDocument {
    /// The document.
    pub(crate) document: DocumentId,
    /// Its chunks.
    pub(crate) range: ChunkRange,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What search may ask the core about chunks. Every answer is about live documents only: full-text
/// rows of removed documents may linger for a moment, and `chunk` answers `None` for them.
pub(crate) trait ChunkTexts {
    /// A chunk's title, text and place; decoded blocks are cached.
    fn chunk(&self, id: ChunkId) -> Result<Option<ChunkText>>;
    /// The block that holds a chunk; not cached, since it is one of many that are looked through.
    fn block(&self, chunk: ChunkId) -> Result<Option<Arc<Block>>>;
    /// The sketch of the block that holds a chunk, and its last chunk, where there is one.
    fn sketch(&self, chunk: ChunkId) -> Option<(u64, Arc<Sketch>)>;
    /// A document's facts; cached for the length of one search.
    fn document(&self, id: DocumentId) -> Result<Option<Arc<DocumentInfo>>>;
    /// The documents with text in a scope, by chunk number; `None` for [`Scope::All`].
    fn scope(&self, scope: &Scope<'_>) -> Result<Option<Vec<ScopedDocument>>>;
    /// The first chunks of documents whose path (label, where there is none) ends in this, oldest first,
    /// of those that are wanted, at most so many.
    fn beginnings(&self, path: &str, wanted: &dyn Fn(u64) -> bool, most: usize)
    -> Result<Vec<u64>>;
    /// Whether there is any text at all.
    fn is_empty(&self) -> Result<bool>;
    /// Chunks in a scope that have no full-text rows yet: these must be scanned.
    fn unindexed(&self, scope: &Scope<'_>) -> Result<Vec<ChunkRange>>;
}
