//! Lists what is stored: files for freshness, sources for people.

use crate::Result;
use crate::core::Core;
use crate::document::{DocumentInfo, KnownFile};
use crate::ids::DocumentId;
use crate::read::visible;
use crate::row;

impl Core {
    pub(crate) fn known_files(&self, prefix: &str) -> Result<Vec<KnownFile>> {
        self.pool.read(|connection| {
            // Text sorts by its bytes, so a prefix is a range; no character follows U+10FFFF.
            let mut statement = connection.prepare_cached(
                "SELECT label, path, stamp, document FROM labels
                 WHERE path >= ?1 AND path < ?1 || char(1114111) AND stamp IS NOT NULL
                 ORDER BY path",
            )?;
            let mut rows = statement.query([prefix])?;
            let mut files = Vec::new();
            while let Some(row) = rows.next()? {
                let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
                let Some(stamp) = row::read_stamp(bytes) else { continue };
                files.push(KnownFile {
                    label: row.get(0)?,
                    path: row.get(1)?,
                    stamp,
                    document: DocumentId(row.get::<_, i64>(3)? as u64),
                });
            }
            Ok(files)
        })
    }

    pub(crate) fn sources(&self) -> Result<Vec<DocumentInfo>> {
        self.pool.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id FROM documents WHERE state IN (1, 2) ORDER BY id DESC",
            )?;
            let ids: Vec<i64> =
                statement.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let mut sources = Vec::with_capacity(ids.len());
            for id in ids {
                if let Some(row) = visible(connection, id as u64)? {
                    sources.push(self.info(connection, &row, None)?);
                }
            }
            Ok(sources)
        })
    }
}
