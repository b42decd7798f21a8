//! The store of one workspace root: the public operations, each handed to the file that does it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::announce::{self, Announced, Announcement};
use crate::background;
use crate::core::Core;
use crate::document::{Chunk, DocumentInfo, KnownFile, NewDocument, Observer, Page, Receipt};
use crate::error::StoreError;
pub(crate) use crate::find::ChunkText;
use crate::find::Together;
use crate::growing::Growing;
use crate::ids::{ChunkId, DocumentId, Location, Span};
use crate::journal::Journal;
use crate::number;
use crate::raw;
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
        const DAY: u64 = 24 * 60 * 60;
        Retention { max_age: Duration::from_secs(30 * DAY), max_bytes: 2 << 30 }
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
    core: Arc<Core>,
    journal: Journal,
}

impl Store {
    /// A store that is opened, and created if need be, on its first use. Touches nothing.
    pub fn new(options: StoreOptions) -> Self {
        let core = Core::new(&options);
        let journal = Journal::new(core.path(), options.retention.max_age);
        Store { core, journal }
    }

    /// Stores a document whole; what it answers is committed.
    ///
    /// Memory stays flat whatever its size. Text over 256 KiB gets its full-text rows within
    /// seconds, behind the caller's back; until then searches scan it.
    pub fn add(
        &self,
        document: NewDocument<'_>,
        bytes: &mut dyn Read,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Receipt> {
        let receipt = self.core.add(&document, bytes, observer)?;
        if self.core.is_due(document.origin, receipt.bytes) {
            background::kick(&self.core);
        }
        Ok(receipt)
    }

    /// Begins to store many documents.
    pub fn writer(&self) -> Result<Writer> {
        Writer::new(&self.core)
    }

    /// Begins a document that is still being produced.
    pub fn begin(&self, document: NewDocument<'_>) -> Result<Growing> {
        Growing::begin(&self.core, &document)
    }

    /// The next number of a family of labels: 17 for `batch:17:…`.
    pub fn next_number(&self, family: &str) -> Result<u64> {
        self.core.write(|transaction| number::reserve(transaction, family, 1))
    }

    /// Where a reference leads. Renews the age of the document it leads to.
    pub fn locate(&self, span: &Span) -> Result<Location> {
        self.core.locate(span)
    }

    /// The chunks `first..=last`, in order and of one document; stops after the one with which the
    /// texts reach `max_text_bytes`.
    pub fn chunks(&self, first: ChunkId, last: ChunkId, max_text_bytes: u64) -> Result<Vec<Chunk>> {
        self.core.chunks(first.0, last.0, max_text_bytes)
    }

    /// The chunk that holds the beginning of a line (from 1) of a document's view.
    pub fn chunk_of_line(&self, document: DocumentId, line: u64) -> Result<Option<ChunkId>> {
        self.core.chunk_of_line(document, line)
    }

    /// A document.
    pub fn document(&self, document: DocumentId) -> Result<Option<DocumentInfo>> {
        self.core.document(document)
    }

    /// The document a label leads to.
    pub fn by_label(&self, label: &str) -> Result<Option<DocumentInfo>> {
        self.core.by_label(label)
    }

    /// The captured bytes of a document, exactly. Flat memory. Reading fails when the document is
    /// removed meanwhile.
    pub fn raw(&self, document: DocumentId) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(raw::reader(&self.core, document)?))
    }

    /// Searches. Pending text that concerns the query is finished or scanned, never passed over.
    pub fn search(&self, query: &Query<'_>) -> Result<Found> {
        self.queries(*query).search(query.text, query.deadline)
    }

    /// The queries of one call, all like this one but for text and deadline. They may be asked side by
    /// side, and share what was read for one of them.
    pub fn queries<'a>(&'a self, like: Query<'a>) -> Queries<'a> {
        Queries {
            core: &self.core,
            like,
            together: Together::default(),
            prepared: AtomicBool::new(false),
        }
    }

    /// The files whose path begins with `prefix`, sorted by path.
    pub fn known_files(&self, prefix: &str) -> Result<Vec<KnownFile>> {
        self.core.known_files(prefix)
    }

    /// Every document, newest first.
    pub fn sources(&self) -> Result<Vec<DocumentInfo>> {
        self.core.sources()
    }

    /// The labels that a source names, as [`Scope::Source`](crate::Scope::Source) has it, oldest first.
    pub fn labels(&self, source: &str) -> Result<Vec<String>> {
        self.core.labels(source)
    }

    /// Removes for good; answers how many labels are gone. References to them answer `gone`. With
    /// everything the journal goes as well.
    pub fn purge(&self, what: Purge<'_>) -> Result<u64> {
        if matches!(what, Purge::All) {
            self.journal
                .remove()
                .map_err(|error| StoreError::io("removing the journal", &error))?;
        }
        self.core.purge(what)
    }

    /// What was called in this root.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Says to other processes what runs here, one line, until the answer is dropped.
    pub fn announce(&self, text: &str) -> Result<Announcement> {
        Announcement::make(self.path(), text)
            .map_err(|error| StoreError::io("announcing a job", &error))
    }

    /// What runs in this root, in whichever process.
    pub fn announced(&self) -> Result<Vec<Announced>> {
        announce::all(self.path()).map_err(|error| StoreError::io("looking for jobs", &error))
    }

    /// Removes run output and pages that are too old or too much.
    pub fn expire(&self) -> Result<Expired> {
        self.core.expire()
    }

    /// Checks the whole file; answers what is wrong with it, nothing when it is sound.
    pub fn check(&self) -> Result<Vec<String>> {
        self.core.check()
    }

    /// Finishes full-text rows until the deadline; `true` when none are left.
    pub fn finish_pending(&self, deadline: Instant) -> Result<bool> {
        self.core.finish_pending(None, deadline)
    }

    /// Something the user should be told: a damaged store was set aside. Told once.
    pub fn notice(&self) -> Option<String> {
        self.core.pool.notice()
    }

    /// A page of the fetch cache.
    pub fn page(&self, url: &str) -> Result<Option<Page>> {
        self.core.page(url)
    }

    /// Remembers a page in the fetch cache.
    pub fn remember_page(&self, page: &Page) -> Result<()> {
        self.core.remember_page(page)
    }

    /// Closes its file and forgets what is cached. The next use opens it again.
    pub fn rest(&self) {
        self.core.pool.rest();
        self.core.cache.rest();
        self.core.sketches.clear();
        self.core.memory.rest();
        self.journal.rest();
    }

    /// Gives back what is only cached, and stays open.
    pub fn slim(&self) {
        self.core.pool.slim();
        self.core.cache.rest();
    }

    /// The file of this store; it need not exist yet.
    pub fn path(&self) -> &Path {
        self.core.path()
    }
}

/// See [`Store::queries`].
#[derive(Debug)]
pub struct Queries<'a> {
    core: &'a Arc<Core>,
    like: Query<'a>,
    together: Together,
    /// What was pending is finished, or it is too much.
    prepared: AtomicBool,
}

impl Queries<'_> {
    /// Searches. The answer is that of [`Store::search`] unless the store changes meanwhile; then it is
    /// about any state since the first query.
    pub fn search(&self, text: &str, deadline: Option<Instant>) -> Result<Found> {
        if !self.prepared.load(Ordering::Relaxed) {
            self.core.prepare_search(deadline)?;
            self.prepared.store(true, Ordering::Relaxed);
        }
        self.core.search(&self.together, &Query { text, deadline, ..self.like })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.core.background.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Label, Origin};

    #[test]
    fn all_bulk_work_gives_way_to_a_search() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(StoreOptions {
            directory: folder.path().join("data"),
            root: folder.path().to_owned(),
            retention: Retention::default(),
        });
        let text = "the wombat sleeps in its burrow\n".repeat(40_000);
        let courtesy = &store.core.courtesy;
        let small = NewDocument::new(Label::Fixed("small"), Origin::Content);
        let searching = courtesy.search();
        store.add(small, &mut &text.as_bytes()[..4_096], None).unwrap();
        assert_eq!(courtesy.put_off(), 0, "what a call waits for is no bulk work");
        // Full-text rows behind the caller's back.
        let large = NewDocument::new(Label::Fixed("large"), Origin::Content);
        store.add(large, &mut text.as_bytes(), None).unwrap();
        let end = Instant::now() + Duration::from_mins(1);
        while courtesy.put_off() == 0 {
            assert!(Instant::now() < end, "rows were written beside a search");
            std::thread::yield_now();
        }
        // Many documents.
        assert!(store.finish_pending(end).unwrap());
        let before = courtesy.put_off();
        let mut writer = store.writer().unwrap();
        let file = NewDocument::new(Label::Fixed("file"), Origin::File);
        writer.add(file, &mut &text.as_bytes()[..8_192], None).unwrap();
        writer.finish().unwrap();
        assert!(courtesy.put_off() >= before + 2);
        // An output of any size.
        let before = courtesy.put_off();
        let output = NewDocument::new(Label::Fixed("output"), Origin::Run);
        store.add(output, &mut text.as_bytes(), None).unwrap();
        assert!(courtesy.put_off() > before);
        drop(searching);
        assert!(store.finish_pending(end).unwrap());
    }
}
