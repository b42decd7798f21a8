//! Searches over real stores: what must be found first, whatever the query looks like.

mod cases;
mod legal;
mod scopes;
mod traces;

use std::path::PathBuf;

use tempfile::TempDir;

use crate::{
    DocumentId, Found, Label, NewDocument, Origin, Query, Retention, Scope, Store, StoreOptions,
};

/// A store of its own folder.
pub(super) struct Shelf {
    folder: TempDir,
    store: Store,
}

impl Shelf {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(StoreOptions {
            directory: folder.path().to_owned(),
            root: PathBuf::from("/work"),
            retention: Retention::default(),
        });
        Shelf { folder, store }
    }

    /// A store with these files.
    fn with(files: &[(&str, &str)]) -> Self {
        let shelf = Shelf::new();
        for (path, text) in files {
            shelf.add(path, text);
        }
        shelf
    }

    fn add(&self, path: &str, text: &str) -> DocumentId {
        let document = NewDocument {
            name: Some(path),
            path: Some(path),
            ..NewDocument::new(Label::Fixed(path), Origin::File)
        };
        self.store.add(document, &mut text.as_bytes(), None).unwrap().document
    }

    fn find(&self, text: &str) -> Found {
        self.find_in(text, Scope::All)
    }

    fn find_in(&self, text: &str, scope: Scope<'_>) -> Found {
        self.store.search(&Query { scope, ..Query::new(text, 10) }).unwrap()
    }

    /// The sources of the hits, best first.
    fn sources(&self, text: &str) -> Vec<String> {
        self.find(text).hits.into_iter().map(|hit| hit.source).collect()
    }

    /// The source of the best hit.
    fn first(&self, text: &str) -> Option<String> {
        self.sources(text).into_iter().next()
    }
}
