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
        self.write(|transaction| {
            search::purge_terms(transaction, &find::Texts::new(self, transaction))
        })?;
        self.cache.clear();
        self.scrub()?;
        Ok(labels.len() as u64)
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
