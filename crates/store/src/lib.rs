//! Keeps text: chunks it, compresses it, indexes it, finds it again. The only crate that opens SQLite.
//!
//! The crate is synchronous and blocking, prints nothing, reads no environment and never opens a
//! user's file: it gets bytes and file stamps, and hands back references that stay valid as long as
//! the store does. One [`Store`] belongs to one workspace root; any number of processes may share
//! its file.

mod background;
mod block;
mod cache;
mod check;
mod chunk;
mod core;
mod document;
mod error;
mod find;
mod gate;
mod growing;
mod ids;
mod label;
mod lease;
mod lines;
mod listing;
mod number;
mod open;
mod pages;
mod pending;
mod pool;
mod prepare;
mod purge;
mod raw;
mod read;
mod retention;
mod row;
mod schema;
mod search;
mod store;
mod stream;
mod text;
mod window;
mod write;
mod writer;

pub use chunk::{ContentKind, Kind};
pub use document::{
    Chunk, DocumentInfo, FileStamp, KnownFile, Label, NewDocument, Observer, Origin, Page, Receipt,
    Status, View,
};
pub use error::StoreError;
pub use growing::Growing;
pub use ids::{ChunkId, ChunkRange, DocumentId, Last, Location, Span};
pub use search::{Found, Hit, Query, Scope, Verdict};
pub use store::{Expired, Purge, Retention, Store, StoreOptions};
pub use text::clean;
pub use writer::Writer;

/// What the operations of this crate answer.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
