//! The fetch cache: which page a URL led to, and with what validators.

use rusqlite::OptionalExtension as _;

use crate::Result;
use crate::core::Core;
use crate::document::Page;
use crate::ids::DocumentId;
use crate::row;

impl Core {
    pub(crate) fn page(&self, url: &str) -> Result<Option<Page>> {
        self.pool.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT url, final_url, etag, last_modified, fetched, document, content_type
                     FROM pages WHERE url = ?1",
                )?
                .query_row([url], |row| {
                    Ok(Page {
                        url: row.get(0)?,
                        final_url: row.get(1)?,
                        etag: row.get(2)?,
                        last_modified: row.get(3)?,
                        fetched: row::time(row.get(4)?),
                        document: DocumentId(row.get::<_, i64>(5)? as u64),
                        content_type: row.get(6)?,
                    })
                })
                .optional()?)
        })
    }

    pub(crate) fn remember_page(&self, page: &Page) -> Result<()> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO pages (url, final_url, etag, last_modified, fetched,
                     document, content_type) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute((
                    &page.url,
                    &page.final_url,
                    &page.etag,
                    &page.last_modified,
                    row::millis(page.fetched),
                    page.document.0 as i64,
                    &page.content_type,
                ))?;
            Ok(())
        })
    }
}
