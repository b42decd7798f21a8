//! Stores many documents in few transactions: how a directory is indexed.

use std::io::Read;

use crate::Result;
use crate::document::{FileStamp, NewDocument, Observer, Receipt};
use crate::error::StoreError;

/// Stores many documents; each transaction takes at most about 50 ms. Receipts given before
/// [`Writer::finish`] returned are not committed yet and must not be shown to anyone.
#[derive(Debug)]
pub struct Writer {
    _private: (),
}

impl Writer {
    /// Stores one document.
    pub fn add(
        &mut self,
        _document: NewDocument<'_>,
        _bytes: &mut dyn Read,
        _observer: Option<&mut dyn Observer>,
    ) -> Result<Receipt> {
        Err(StoreError::Missing)
    }

    /// Removes a label, and its text when no other label leads to it. `false`: no such label.
    pub fn forget(&mut self, _label: &str) -> Result<bool> {
        Err(StoreError::Missing)
    }

    /// Notes that the file behind a label has another stamp but the same bytes.
    pub fn restamp(&mut self, _label: &str, _stamp: FileStamp) -> Result<bool> {
        Err(StoreError::Missing)
    }

    /// Commits the rest.
    pub fn finish(self) -> Result<()> {
        Err(StoreError::Missing)
    }
}
