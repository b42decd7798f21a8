//! Removes for good: no word of what was purged is left in the file, its log or its shared index.

use std::time::{Duration, Instant};

use crate::Result;
use crate::core::Core;
use crate::error::StoreError;
use crate::find;
use crate::label::{self, Reason};
use crate::search;
use crate::store::Purge;

/// Labels removed in one transaction.
const STEP: usize = 64;
/// Left between two steps: time for another process to get its turn.
const GAP: Duration = Duration::from_millis(2);
/// How often the vocabulary is made without holding others up.
const ATTEMPTS: usize = 3;
/// How long to wait for readers that still see the old state.
const PATIENCE: Duration = Duration::from_secs(10);

impl Core {
    /// Answers how many labels are gone.
    pub(crate) fn purge(&self, what: Purge<'_>) -> Result<u64> {
        let labels = self.pool.read(|connection| match what {
            Purge::All => find::matching(connection, "*"),
            Purge::Source(source) => find::matching(connection, source),
        })?;
        for step in labels.chunks(STEP) {
            self.write(|transaction| {
                for row in step {
                    label::detach(transaction, &row.label, Reason::Gone)?;
                }
                Ok(())
            })?;
        }
        while self.reap_some()? {}
        if matches!(what, Purge::All) {
            self.write(|transaction| {
                transaction.execute("DELETE FROM pages", ())?;
                transaction.execute("DELETE FROM tombstones WHERE first > last", ())?;
                Ok(())
            })?;
        }
        self.forget_words()?;
        self.cache.clear();
        self.sketches.clear();
        self.scrub()?;
        Ok(labels.len() as u64)
    }

    /// Leaves no trace of removed words in the full-text tables. What takes long is done in steps, or
    /// before the transaction that needs it, so that others get their turn.
    fn forget_words(&self) -> Result<()> {
        let mut first = true;
        while self.write(|transaction| Ok(search::merge_step(transaction, first)?))? {
            first = false;
            std::thread::sleep(GAP);
        }
        for _ in 0..ATTEMPTS {
            let vocabulary = self.pool.read(|connection| {
                let known = find::Known::default();
                search::Vocabulary::read(connection, &find::Texts::new(self, connection, &known))
            })?;
            let replaced = self.write(|transaction| {
                search::merge_all(transaction)?;
                vocabulary.replace(transaction)
            })?;
            if replaced {
                return Ok(());
            }
        }
        // Somebody writes all the time: now they wait.
        self.write(|transaction| {
            search::merge_all(transaction)?;
            let known = find::Known::default();
            let texts = find::Texts::new(self, transaction, &known);
            search::Vocabulary::read(transaction, &texts)?.replace(transaction).map(drop)
        })
    }

    /// Rewrites the file, so that no page keeps remains of rows it once held, and empties the log.
    fn scrub(&self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        self.pool.with_writer(|connection| {
            connection.execute_batch("VACUUM")?;
            loop {
                let busy: bool =
                    connection
                        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))?;
                if !busy {
                    return Ok(());
                }
                if Instant::now() > end {
                    return Err(StoreError::Locked { seconds: PATIENCE.as_secs() });
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        })
    }
}
