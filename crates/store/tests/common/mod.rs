//! What the store's tests share.
#![allow(dead_code, reason = "each test binary uses some of it")]

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use quietcontext_store::{
    ChunkId, DocumentId, Label, NewDocument, Origin, Receipt, Retention, Store, StoreOptions,
};

pub(crate) fn store_in(folder: &Path) -> Store {
    store_with(folder, Retention::default())
}

pub(crate) fn store_with(folder: &Path, retention: Retention) -> Store {
    Store::new(StoreOptions { directory: folder.join("data"), root: folder.to_owned(), retention })
}

pub(crate) fn run(store: &Store, bytes: &[u8]) -> Receipt {
    let new = NewDocument::new(Label::Numbered { family: "execute" }, Origin::Run);
    store.add(new, &mut &bytes[..], None).unwrap()
}

pub(crate) fn content(store: &Store, label: &str, bytes: &[u8]) -> Receipt {
    let new = NewDocument::new(Label::Fixed(label), Origin::Content);
    store.add(new, &mut &bytes[..], None).unwrap()
}

/// The concatenation of a document's chunks.
pub(crate) fn view(store: &Store, document: DocumentId) -> String {
    let info = store.document(document).unwrap().unwrap();
    let Some(range) = info.range else { return String::new() };
    let chunks = store.chunks(range.first, range.last, u64::MAX).unwrap();
    assert_eq!(chunks.first().unwrap().id, range.first);
    assert_eq!(chunks.last().unwrap().id, range.last);
    let mut text = String::new();
    for (chunk, id) in chunks.iter().zip(range.first.0..) {
        assert_eq!(chunk.id, ChunkId(id));
        assert_eq!(chunk.start, text.len() as u64);
        assert!(chunk.text.len() <= 2_048, "{}", chunk.text.len());
        text.push_str(&chunk.text);
    }
    assert_eq!(text.len() as u64, info.view_bytes);
    text
}

pub(crate) fn raw(store: &Store, document: DocumentId) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.raw(document).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Waits for a condition.
pub(crate) fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::yield_now();
    }
}
