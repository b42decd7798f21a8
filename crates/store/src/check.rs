//! Checks a store as a whole, for the doctor and for tests.

use rusqlite::Connection;

use crate::Result;
use crate::block::{Block, Unpacker};
use crate::core::Core;
use crate::error::StoreError;
use crate::read::Blocks;
use crate::row;

/// Findings that are reported; more say no more.
const LIMIT: usize = 20;

/// Whether the file holds together after all: by what the engine finds, and by each block.
pub(crate) fn is_sound(connection: &Connection) -> Result<bool> {
    if let Some(finding) = faults(connection)?.first() {
        tracing::error!(finding, "the store is damaged");
        return Ok(false);
    }
    let mut unpacker =
        Unpacker::new().map_err(|error| StoreError::io("looking at the blocks", &error))?;
    let mut statement = connection.prepare(&format!("SELECT {} FROM blocks", row::BLOCK))?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let block = row::block(row)?;
        if Block::decode(&block, &mut unpacker).is_none() {
            tracing::error!(block.first, "a block of the store is damaged");
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the engine finds wrong with the file.
fn faults(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({LIMIT})"))?;
    let lines = statement.query_map((), |row| row.get(0))?;
    let mut findings: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    findings.retain(|line| line != "ok");
    Ok(findings)
}

impl Core {
    /// What is wrong; nothing when the store is sound.
    pub(crate) fn check(&self) -> Result<Vec<String>> {
        self.pool.read_afresh(|connection| {
            let mut findings = faults(connection)?;
            if findings.is_empty() {
                self.check_documents(connection, &mut findings)?;
            }
            findings.truncate(LIMIT);
            Ok(findings)
        })
    }

    /// Every chunk of every document is there, and adds up to its view.
    fn check_documents(&self, connection: &Connection, findings: &mut Vec<String>) -> Result<()> {
        let mut orphans = connection
            .prepare("SELECT label FROM labels WHERE document NOT IN (SELECT id FROM documents)")?;
        let mut rows = orphans.query(())?;
        while let Some(row) = rows.next()? {
            findings.push(format!("label {} leads nowhere", row.get::<_, String>(0)?));
        }
        let mut statement = connection.prepare(
            "SELECT id, first, last, view_bytes FROM documents
             WHERE state = 1 AND last IS NOT NULL",
        )?;
        let documents: Vec<(i64, i64, i64, i64)> = statement
            .query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let blocks = Blocks::new(self, connection);
        for (id, first, last, view_bytes) in documents {
            let (mut next, mut bytes) = (first as u64, 0);
            while next <= last as u64 {
                match blocks.of(next) {
                    Ok(Some(block)) if block.document == id as u64 && block.first == next => {
                        bytes += block.text().len() as u64;
                        next = block.last() + 1;
                    }
                    _ => break,
                }
            }
            if next != last as u64 + 1 || bytes != view_bytes as u64 {
                findings.push(format!(
                    "chunks {first}-{last}: {bytes} of {view_bytes} bytes up to chunk {next}"
                ));
            }
            if findings.len() >= LIMIT {
                break;
            }
        }
        Ok(())
    }
}
