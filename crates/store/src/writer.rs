//! Stores many documents in few transactions: how a directory is indexed.
//!
//! The caller's thread decodes, cuts, compresses and expands; another one writes. Numbers are reserved in
//! spans beforehand, so receipts can be made before anything is written.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::Result;
use crate::background;
use crate::block::Packer;
use crate::core::Core;
use crate::document::{FileStamp, Label, NewDocument, Observer, Receipt, Status};
use crate::error::StoreError;
use crate::label;
use crate::number;
use crate::prepare::{self, Prepared, packing};
use crate::row::{DocumentRow, LabelRow};
use crate::search::Expander;
use crate::steps::{Step, write_steps};
use crate::stream;
use crate::write::{self, Numbers};

/// Text handed to the writing thread at once.
const BATCH_BYTES: usize = 1 << 20;
/// Steps handed to the writing thread at once.
const BATCH_STEPS: usize = 256;
/// Chunk numbers reserved at once; what is left is given back.
const CHUNKS: u64 = 4_096;
/// Document numbers reserved at once.
const DOCUMENTS: u64 = 256;

/// Stores many documents; each transaction takes about 10 ms. Receipts given before
/// [`Writer::finish`] returned are not committed yet and must not be shown to anyone.
#[derive(Debug)]
pub struct Writer {
    core: Arc<Core>,
    packer: Packer,
    expander: Expander,
    steps: Vec<Step>,
    bytes: usize,
    chunks: Reserve,
    documents: Reserve,
    /// What this writer did to labels: the document each leads to.
    labels: HashMap<String, Option<u64>>,
    /// Documents that lost a label since the last commit, and maybe their last one.
    shaken: HashSet<u64>,
    /// What this writer stored, by digest, with its label.
    stored: HashMap<[u8; 32], Receipt>,
    sender: Option<SyncSender<Vec<Step>>>,
    thread: Option<JoinHandle<Result<()>>>,
    _bulk: Bulk,
}

/// Says that many documents are being written, until dropped.
#[derive(Debug)]
struct Bulk(Arc<Core>);

impl Drop for Bulk {
    fn drop(&mut self) {
        self.0.courtesy.end_bulk();
    }
}

/// Numbers reserved and not used yet.
#[derive(Clone, Copy, Debug, Default)]
struct Reserve {
    next: u64,
    end: u64,
}

impl Writer {
    pub(crate) fn new(core: &Arc<Core>) -> Result<Self> {
        let (sender, receiver) = sync_channel(1);
        let thread = thread::Builder::new()
            .name(String::from("store writer"))
            .spawn({
                let core = Arc::clone(core);
                move || write_steps(&core, receiver)
            })
            .map_err(|error| StoreError::io("starting a thread", &error))?;
        Ok(Writer {
            core: Arc::clone(core),
            packer: Packer::new().map_err(packing)?,
            expander: Expander::default(),
            steps: Vec::new(),
            bytes: 0,
            chunks: Reserve::default(),
            documents: Reserve::default(),
            labels: HashMap::new(),
            shaken: HashSet::new(),
            stored: HashMap::new(),
            sender: Some(sender),
            thread: Some(thread),
            _bulk: {
                core.courtesy.begin_bulk();
                Bulk(Arc::clone(core))
            },
        })
    }

    /// Stores one document.
    pub fn add(
        &mut self,
        document: NewDocument<'_>,
        bytes: &mut dyn Read,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Receipt> {
        self.core.courtesy.give_way();
        let new = document;
        let head = stream::read_head(&new, bytes)?;
        if !head.is_whole {
            self.flush()?;
            self.settle()?;
            let receipt = self.core.add_stream(&new, head.bytes, bytes, observer)?;
            self.labels.insert(receipt.label.clone(), Some(receipt.document.0));
            return Ok(receipt);
        }
        let label = match new.label {
            Label::Fixed(label) => label.to_owned(),
            Label::Numbered { .. } => {
                self.core.write(|transaction| label::name(transaction, new.label))?
            }
        };
        let viewed = prepare::look(&new, &head.bytes, observer);
        let digest = viewed.digest;
        let led_to = self.leads_to(&label)?;
        let there = self.there(&digest)?;
        if led_to.is_some() && led_to != there.as_ref().map(|there| there.document.0) {
            self.shaken.extend(led_to);
        }
        if let Some(there) = there {
            let status = match led_to {
                Some(document) if document == there.document.0 => Status::Unchanged,
                Some(_) => Status::Replaced,
                None => Status::SameAs(there.label.clone()),
            };
            let row = label::row_for(&new, label.clone(), there.document.0);
            drop(viewed);
            let step = Step::Share {
                document: there.document.0,
                label: row,
                name: new.name.map(str::to_owned),
                bytes: head.bytes,
            };
            self.labels.insert(label.clone(), Some(there.document.0));
            self.push(step, 0)?;
            return Ok(Receipt { label, status, ..there });
        }
        let prepared = Box::new(Prepared::new(&new, viewed, &mut self.packer, &mut self.expander)?);
        let numbers = self.reserve(prepared.chunks)?;
        let status = if led_to.is_some() { Status::Replaced } else { Status::New };
        let receipt = write::receipt_for(&prepared, numbers, label.clone(), status);
        let row = label::row_for(&new, label.clone(), numbers.document);
        self.labels.insert(label, Some(numbers.document));
        self.stored.insert(digest, receipt.clone());
        let bytes = prepared.view_bytes as usize;
        self.push(Step::Put { prepared, numbers, label: row }, bytes)?;
        Ok(receipt)
    }

    /// Removes a label, and its text when no other label leads to it. `false`: no such label.
    pub fn forget(&mut self, label: &str) -> Result<bool> {
        let Some(document) = self.leads_to(label)? else { return Ok(false) };
        self.shaken.insert(document);
        self.labels.insert(label.to_owned(), None);
        self.push(Step::Forget(label.to_owned()), 0)?;
        Ok(true)
    }

    /// Notes that the file behind a label has another stamp but the same bytes. `false`: no such
    /// label.
    pub fn restamp(&mut self, label: &str, stamp: FileStamp) -> Result<bool> {
        if self.leads_to(label)?.is_none() {
            return Ok(false);
        }
        self.push(Step::Restamp(label.to_owned(), stamp), 0)?;
        Ok(true)
    }

    /// Commits the rest.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.settle()?;
        let (chunks, documents) = (self.chunks, self.documents);
        if chunks.next < chunks.end || documents.next < documents.end {
            self.core.write(|transaction| {
                number::give_back(transaction, number::CHUNK, chunks.end, chunks.next)?;
                number::give_back(transaction, number::DOCUMENT, documents.end, documents.next)
            })?;
        }
        background::kick(&self.core);
        Ok(())
    }

    /// The document a label leads to, with what this writer has not committed yet.
    fn leads_to(&self, label: &str) -> Result<Option<u64>> {
        if let Some(own) = self.labels.get(label) {
            return Ok(*own);
        }
        let row = self.core.pool.read(|connection| LabelRow::by_label(connection, label))?;
        Ok(row.map(|row| row.document))
    }

    /// The document with that digest.
    fn there(&mut self, digest: &[u8; 32]) -> Result<Option<Receipt>> {
        let found = match self.stored.get(digest) {
            Some(own) => Some(own.clone()),
            None => self.committed(digest)?,
        };
        match found {
            Some(found) if self.shaken.contains(&found.document.0) => {
                // Only the commit shows whether it is still there.
                self.flush()?;
                self.settle()?;
                self.shaken.clear();
                self.stored.clear();
                self.committed(digest)
            }
            found => Ok(found),
        }
    }

    fn committed(&self, digest: &[u8; 32]) -> Result<Option<Receipt>> {
        self.core.pool.read(|connection| {
            let Some(row) = DocumentRow::by_digest(connection, digest)? else { return Ok(None) };
            let labels = LabelRow::of_document(connection, row.id)?;
            let label = labels.into_iter().next().map(|row| row.label).unwrap_or_default();
            Ok(Some(write::receipt_of(&row, label, Status::Unchanged)))
        })
    }

    fn reserve(&mut self, chunks: u64) -> Result<Numbers> {
        if self.chunks.end - self.chunks.next < chunks || self.documents.next == self.documents.end
        {
            let (left, size) = (self.chunks, CHUNKS.max(chunks));
            (self.chunks, self.documents) = self.core.write(|transaction| {
                number::give_back(transaction, number::CHUNK, left.end, left.next)?;
                let first = number::reserve(transaction, number::CHUNK, size)?;
                let document = number::reserve(transaction, number::DOCUMENT, DOCUMENTS)?;
                Ok((
                    Reserve { next: first, end: first + size },
                    Reserve { next: document, end: document + DOCUMENTS },
                ))
            })?;
        }
        let numbers = Numbers { document: self.documents.next, first: self.chunks.next };
        self.documents.next += 1;
        self.chunks.next += chunks;
        Ok(numbers)
    }

    fn push(&mut self, step: Step, bytes: usize) -> Result<()> {
        self.steps.push(step);
        self.bytes += bytes;
        if self.bytes >= BATCH_BYTES || self.steps.len() >= BATCH_STEPS {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        // Each batch brings its words itself: one before it may fail, or be purged.
        self.expander.forget();
        let steps = std::mem::take(&mut self.steps);
        let Some(sender) = &self.sender else { return Err(stopped()) };
        if sender.send(steps).is_err() {
            // The thread ended: with an error.
            return self.settle().and(Err(stopped()));
        }
        Ok(())
    }

    /// Waits until everything handed over is committed.
    fn settle(&mut self) -> Result<()> {
        drop(self.sender.take());
        let result = match self.thread.take() {
            Some(thread) => thread.join().unwrap_or_else(|_| Err(stopped())),
            None => return Err(stopped()),
        };
        result?;
        let (sender, receiver) = sync_channel(1);
        let core = Arc::clone(&self.core);
        let thread = thread::Builder::new()
            .name(String::from("store writer"))
            .spawn(move || write_steps(&core, receiver))
            .map_err(|error| StoreError::io("starting a thread", &error))?;
        (self.sender, self.thread) = (Some(sender), Some(thread));
        Ok(())
    }
}

fn stopped() -> StoreError {
    StoreError::Io { step: "writing", reason: String::from("the writer had failed before") }
}
