//! Keeps text: chunks it, compresses it, indexes it, finds it again. The only crate that opens SQLite.
//!
//! The crate is synchronous and blocking, prints nothing, reads no environment and never opens a
//! user's file: it gets bytes and file stamps, and hands back references that stay valid as long as
//! the store does. One [`Store`] belongs to one workspace root; any number of processes may share
//! its file.
//!
//! How it hangs together: `text` makes the view of captured bytes, `chunk` cuts it, `block` packs
//! the pieces, `write` (whole documents), `stream` (large ones), `steps` (many) and `growing` put
//! them into the file; `label` leads to them and buries what nothing leads to; `read`, `raw` and
//! `find` get them out; `search` owns the full-text tables. `pool` and `gate` hold the connections,
//! `background` does what nobody waits for, `upkeep` merges lists in small steps, `courtesy` lets searches
//! go first and `queue` those who wait to write. `journal` and
//! `announce` are files beside the store: what was called, and what runs in some process now.
//!
//! What always holds (each has its test in `tests/`):
//! 1. A receipt is given after its commit; a kill at any point takes nothing that was told of.
//! 2. The chunks of a document, joined, are its view; the raw bytes are the captured ones.
//! 3. A number leads to the same text for ever, or says what became of it.
//! 4. No transaction is meant to take more than about 20 ms, and no reader waits for one.
//! 5. Text without full-text rows is searched all the same.

mod announce;
mod background;
mod block;
mod cache;
mod check;
mod chunk;
mod core;
mod courtesy;
mod document;
mod error;
mod find;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod gate;
mod growing;
mod ids;
mod journal;
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
mod queue;
mod raw;
mod read;
mod retention;
mod row;
mod schema;
mod search;
mod sketches;
mod steps;
mod store;
mod stream;
mod tail;
mod text;
mod turn;
mod upkeep;
mod window;
mod write;
mod writer;

pub use announce::{Announced, Announcement};
pub use chunk::{ContentKind, Kind};
pub use document::{
    Chunk, DocumentInfo, FileStamp, KnownFile, Label, NewDocument, Observer, Origin, Page, Receipt,
    Status, View,
};
pub use error::StoreError;
pub use growing::Growing;
pub use ids::{ChunkId, ChunkRange, DocumentId, Last, Location, Span};
pub use journal::Journal;
pub use search::{Found, Hit, Query, SNIPPET_CHARS, Scope, Verdict};
pub use store::{Expired, Purge, Queries, Retention, Store, StoreOptions};
pub use text::clean;
pub use writer::Writer;

/// What the operations of this crate answer.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
