//! Reads rows of documents and labels, and writes the codes they hold.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use encoding_rs::Encoding;
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::Result;
use crate::block::BlockRow;
use crate::chunk::ContentKind;
use crate::document::{DocumentInfo, FileStamp, Origin, View};
use crate::ids::{ChunkId, ChunkRange, DocumentId};

/// Where a document stands. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Being written; nobody was told of it.
    Writing = 0,
    /// Complete.
    Live = 1,
    /// Readable and still growing.
    Growing = 2,
    /// Removed; its rows go in steps.
    Dead = 3,
}

impl State {
    fn read(code: i64) -> State {
        match code {
            0 => State::Writing,
            1 => State::Live,
            2 => State::Growing,
            _ => State::Dead,
        }
    }

    /// Whether readers may see it.
    pub(crate) fn is_visible(self) -> bool {
        matches!(self, State::Live | State::Growing)
    }
}

/// A row of `documents`.
#[derive(Clone, Debug)]
pub(crate) struct DocumentRow {
    pub(crate) id: u64,
    pub(crate) state: State,
    pub(crate) kind: ContentKind,
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) view_bytes: u64,
    pub(crate) lines: u64,
    pub(crate) view: View,
    pub(crate) raw_from: u64,
    pub(crate) owner: Option<String>,
    pub(crate) created: i64,
    pub(crate) reserved: Option<u64>,
}

/// Columns of `blocks` as [`block`] reads them.
pub(crate) const BLOCK: &str = "first, document, count, start, line, heads, text";

/// Reads the columns [`BLOCK`].
pub(crate) fn block<'a>(row: &'a Row<'_>) -> rusqlite::Result<BlockRow<'a>> {
    let number = |index| row.get::<_, i64>(index).map(|number| number as u64);
    let blob = |index| row.get_ref(index)?.as_blob().map_err(rusqlite::Error::from);
    Ok(BlockRow {
        first: number(0)?,
        document: number(1)?,
        count: number(2)?,
        start: number(3)?,
        line: number(4)?,
        heads: blob(5)?,
        text: blob(6)?,
    })
}

const DOCUMENT: &str = "id, state, kind, first, last, bytes, view_bytes, lines, encoding, flags,
    raw_from, owner, created, reserved";

const REPLACED: i64 = 1;
const DIFFERS: i64 = 2;
const BINARY: i64 = 4;

/// The flags a view is stored as.
pub(crate) fn flags(view: View) -> i64 {
    i64::from(view.replaced) * REPLACED
        + i64::from(view.differs) * DIFFERS
        + i64::from(view.binary) * BINARY
}

impl DocumentRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let number = |index| row.get::<_, i64>(index).map(|number| number as u64);
        let optional = |index| {
            row.get::<_, Option<i64>>(index).map(|number| number.map(|number| number as u64))
        };
        let flags: i64 = row.get(9)?;
        let encoding = row.get_ref(8)?.as_str_or_null()?;
        Ok(DocumentRow {
            id: number(0)?,
            state: State::read(row.get(1)?),
            kind: ContentKind::parse(row.get_ref(2)?.as_str()?).unwrap_or(ContentKind::Plain),
            first: optional(3)?,
            last: optional(4)?,
            bytes: number(5)?,
            view_bytes: number(6)?,
            lines: number(7)?,
            view: View {
                encoding: encoding
                    .and_then(|label| Encoding::for_label(label.as_bytes()))
                    .map(Encoding::name),
                replaced: flags & REPLACED != 0,
                differs: flags & DIFFERS != 0,
                binary: flags & BINARY != 0,
            },
            raw_from: number(10)?,
            owner: row.get(11)?,
            created: row.get(12)?,
            reserved: optional(13)?,
        })
    }

    /// The document with that number, in whatever state.
    pub(crate) fn by_id(connection: &Connection, id: u64) -> Result<Option<Self>> {
        Ok(connection
            .prepare_cached(&format!("SELECT {DOCUMENT} FROM documents WHERE id = ?1"))?
            .query_row([id as i64], Self::read)
            .optional()?)
    }

    /// A complete document with that digest.
    pub(crate) fn by_digest(connection: &Connection, digest: &[u8]) -> Result<Option<Self>> {
        Ok(connection
            .prepare_cached(&format!(
                "SELECT {DOCUMENT} FROM documents WHERE digest = ?1 AND state = 1 LIMIT 1"
            ))?
            .query_row([digest], Self::read)
            .optional()?)
    }

    /// Its chunks; `None` when it has none.
    pub(crate) fn range(&self) -> Option<ChunkRange> {
        Some(ChunkRange { first: ChunkId(self.first?), last: ChunkId(self.last?) })
    }

    /// Its number of chunks.
    pub(crate) fn chunks(&self) -> u64 {
        self.range().map_or(0, |range| range.last.0 - range.first.0 + 1)
    }
}

/// A row of `labels`.
#[derive(Clone, Debug)]
pub(crate) struct LabelRow {
    pub(crate) label: String,
    pub(crate) document: u64,
    pub(crate) origin: Origin,
    pub(crate) path: Option<String>,
    pub(crate) stamp: Option<FileStamp>,
    pub(crate) outcome: Option<String>,
    /// Milliseconds since 1970.
    pub(crate) used: i64,
}

pub(crate) const LABEL: &str = "label, document, origin, path, stamp, outcome, used";

impl LabelRow {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(LabelRow {
            label: row.get(0)?,
            document: row.get::<_, i64>(1)? as u64,
            origin: origin(row.get(2)?),
            path: row.get(3)?,
            stamp: row.get::<_, Option<Vec<u8>>>(4)?.and_then(|bytes| read_stamp(&bytes)),
            outcome: row.get(5)?,
            used: row.get(6)?,
        })
    }

    pub(crate) fn by_label(connection: &Connection, label: &str) -> Result<Option<Self>> {
        Ok(connection
            .prepare_cached(&format!("SELECT {LABEL} FROM labels WHERE label = ?1"))?
            .query_row([label], Self::read)
            .optional()?)
    }

    /// All labels of a document, oldest first.
    pub(crate) fn of_document(connection: &Connection, document: u64) -> Result<Vec<Self>> {
        let sql = format!("SELECT {LABEL} FROM labels WHERE document = ?1 ORDER BY id");
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map([document as i64], Self::read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

/// What is told about a document under one of its labels, the newest when none is named.
pub(crate) fn info(row: &DocumentRow, labels: Vec<LabelRow>, asked: Option<&str>) -> DocumentInfo {
    let index = asked.and_then(|asked| labels.iter().position(|label| label.label == asked));
    let label = index.map_or_else(|| labels.last(), |index| labels.get(index)).cloned();
    DocumentInfo {
        id: DocumentId(row.id),
        label: label.as_ref().map(|label| label.label.clone()).unwrap_or_default(),
        origin: label.as_ref().map_or(Origin::Content, |label| label.origin),
        stamp: label.as_ref().and_then(|label| label.stamp),
        path: label.as_ref().and_then(|label| label.path.clone()),
        outcome: label.and_then(|label| label.outcome),
        labels: labels.into_iter().map(|label| label.label).collect(),
        kind: row.kind,
        range: row.range(),
        bytes: row.bytes,
        view_bytes: row.view_bytes,
        lines: row.lines,
        view: row.view,
        running: row.state == State::Growing,
        created: time(row.created),
    }
}

/// The code an origin is stored as.
pub(crate) fn origin_code(origin: Origin) -> i64 {
    match origin {
        Origin::Run => 0,
        Origin::File => 1,
        Origin::Content => 2,
        Origin::Page => 3,
    }
}

fn origin(code: i64) -> Origin {
    match code {
        0 => Origin::Run,
        1 => Origin::File,
        3 => Origin::Page,
        _ => Origin::Content,
    }
}

/// The bytes a stamp is stored as.
pub(crate) fn stamp_bytes(stamp: &FileStamp) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(56);
    bytes.extend(stamp.size.to_le_bytes());
    bytes.extend(stamp.modified_ns.to_le_bytes());
    bytes.extend(stamp.changed_ns.to_le_bytes());
    bytes.extend(stamp.inode.to_le_bytes());
    bytes.extend(stamp.device.to_le_bytes());
    bytes
}

pub(crate) fn read_stamp(bytes: &[u8]) -> Option<FileStamp> {
    let mut rest = bytes;
    Some(FileStamp {
        size: u64::from_le_bytes(front(&mut rest)?),
        modified_ns: i128::from_le_bytes(front(&mut rest)?),
        changed_ns: i128::from_le_bytes(front(&mut rest)?),
        inode: u64::from_le_bytes(front(&mut rest)?),
        device: u64::from_le_bytes(front(&mut rest)?),
    })
}

fn front<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (front, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*front)
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    millis(SystemTime::now())
}

pub(crate) fn millis(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

pub(crate) fn time(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.max(0) as u64)
}
