//! A document that is stored while it is still being produced.

use crate::Result;
use crate::document::Receipt;
use crate::error::StoreError;

/// The output of a running job: readable and searchable while it grows.
#[derive(Debug)]
pub struct Growing {
    receipt: Receipt,
}

impl Growing {
    /// What is stored so far.
    pub fn receipt(&self) -> Receipt {
        self.receipt.clone()
    }

    /// Stores more bytes. What the last line end closes is readable when this returns.
    pub fn append(&mut self, _bytes: &[u8]) -> Result<()> {
        Err(StoreError::Missing)
    }

    /// Stores the rest and how the run ended.
    pub fn finish(self, _outcome: &str) -> Result<Receipt> {
        Err(StoreError::Missing)
    }
}
