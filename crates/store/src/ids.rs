//! Numbers of chunks and documents, ranges and spans of them, and where a span leads.

use std::fmt;

use crate::document::DocumentInfo;

/// The number of one stored chunk: durable, decimal, never used twice in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(pub u64);

impl fmt::Display for ChunkId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The number of one stored document; never used twice in a store, never shown to anyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(pub u64);

/// Consecutive chunks, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkRange {
    /// The first chunk.
    pub first: ChunkId,
    /// The last chunk, at least `first`.
    pub last: ChunkId,
}

impl fmt::Display for ChunkRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(formatter, "{}", self.first)
        } else {
            write!(formatter, "{}-{}", self.first, self.last)
        }
    }
}

/// Where a [`Span`] ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// With its first chunk.
    One,
    /// With this chunk.
    At(ChunkId),
    /// With the last chunk its document has at this moment.
    End,
}

/// A reference as it was asked for: `N[@B][-[M]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The chunk it begins in.
    pub first: ChunkId,
    /// Bytes of that chunk's text to leave out.
    pub skip: u64,
    /// Where it ends.
    pub last: Last,
}

/// Where a [`Span`] leads.
#[derive(Clone, Debug)]
pub enum Location {
    /// Stored text.
    Live {
        /// The document it lies in.
        document: Box<DocumentInfo>,
        /// The chunk it begins in.
        first: ChunkId,
        /// Bytes of that chunk's text to leave out; at most its length.
        skip: u64,
        /// The chunk it ends with.
        last: ChunkId,
    },
    /// The label was given to other text since.
    Replaced {
        /// Where the label leads now; `None` when the newer text is empty.
        by: Option<ChunkRange>,
    },
    /// Removed: purged, or its file was deleted and forgotten.
    Gone,
    /// Removed by age or size.
    Expired,
    /// Never given by this store.
    Unknown,
    /// The span leaves the document it begins in.
    Crosses {
        /// The last chunk of that document.
        end: ChunkId,
    },
    /// `skip` lies beyond the first chunk's text.
    SkipBeyond {
        /// Bytes of that text.
        len: u64,
    },
}
