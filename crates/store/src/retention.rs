//! Keeps the store in bounds: run output and pages go by age and size, the longest unread first.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _};

use crate::Result;
use crate::core::Core;
use crate::label::{self, Reason};
use crate::row;
use crate::store::Expired;

/// Free pages given back to the file system in one transaction: 1 MiB.
const VACUUM_PAGES: i64 = 256;
/// Free pages that are kept for what comes next: 4 MiB.
const SPARE_PAGES: i64 = 1_024;

/// Bytes the store uses, without pages that are free.
pub(crate) fn used_bytes(connection: &Connection) -> Result<u64> {
    let (pages, free, size) = pages(connection)?;
    Ok(((pages - free) * size) as u64)
}

fn pages(connection: &Connection) -> Result<(i64, i64, i64)> {
    let ask = |name: &str| connection.query_row(&format!("PRAGMA {name}"), (), |row| row.get(0));
    Ok((ask("page_count")?, ask("freelist_count")?, ask("page_size")?))
}

impl Core {
    /// Removes one label whose text is too old, or the longest unread one while there is too much.
    pub(crate) fn expire_some(&self) -> Result<Option<Expired>> {
        let oldest_allowed = row::now() - millis(self.retention.max_age);
        let longest_unread: Option<(String, i64)> = self.pool.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT label, used FROM labels WHERE origin IN (0, 3) AND document NOT IN
                     (SELECT id FROM documents WHERE state = 2) ORDER BY used LIMIT 1",
                )?
                .query_row((), |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?)
        })?;
        let Some((label, used)) = longest_unread else { return Ok(None) };
        if used >= oldest_allowed && !self.is_too_much()? {
            return Ok(None);
        }
        let expired = self.write(|transaction| {
            let found: Option<(i64, i64, bool)> = transaction
                .prepare_cached(
                    "SELECT used, view_bytes,
                     1 = (SELECT count(*) FROM labels other WHERE other.document = labels.document)
                     FROM labels JOIN documents ON documents.id = labels.document WHERE label = ?1",
                )?
                .query_row([&label], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()?;
            // It may have been read in between.
            let Some((now_used, bytes, alone)) = found else { return Ok(Expired::default()) };
            if now_used != used {
                return Ok(Expired::default());
            }
            label::detach(transaction, &label, Reason::Expired)?;
            if !alone {
                return Ok(Expired::default());
            }
            Ok(Expired { documents: 1, bytes: bytes as u64 })
        })?;
        if expired.documents > 0 {
            // Its rows free their pages before the next one is judged.
            while self.reap_some()? {}
        }
        Ok(Some(expired))
    }

    /// Whether the store is over its limit. Rows of removed text keep their pages in the index until parts of
    /// it are merged, so that is done first: nothing goes for their sake.
    fn is_too_much(&self) -> Result<bool> {
        let is_over = || Ok(self.pool.read(used_bytes)? > self.retention.max_bytes);
        if !is_over()? {
            return Ok(false);
        }
        while self.upkeep()? {}
        is_over()
    }

    /// Removes everything that is too old or too much.
    pub(crate) fn expire(&self) -> Result<Expired> {
        let mut sum = Expired::default();
        while let Some(expired) = self.expire_some()? {
            sum.documents += expired.documents;
            sum.bytes += expired.bytes;
        }
        self.tidy()?;
        Ok(sum)
    }

    /// Gives free pages back, in steps, beyond what the next documents will need.
    pub(crate) fn tidy(&self) -> Result<()> {
        let mut given = false;
        loop {
            let (count, free, size) = self.pool.read(pages)?;
            let over = count * size > self.retention.max_bytes as i64;
            if free <= SPARE_PAGES && !(over && free > 0) {
                return if given { self.shrink() } else { Ok(()) };
            }
            self.pool.with_writer(|connection| {
                let sql = format!("PRAGMA incremental_vacuum({VACUUM_PAGES})");
                let mut statement = connection.prepare(&sql)?;
                let mut rows = statement.query(())?;
                while rows.next()?.is_some() {}
                Ok(())
            })?;
            if self.pool.read(pages)?.1 >= free {
                return Ok(());
            }
            given = true;
        }
    }

    /// Carries the log over, which is when the file becomes shorter. Waits for nobody.
    fn shrink(&self) -> Result<()> {
        self.pool.with_writer(|connection| {
            Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?)
        })
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2)
}
