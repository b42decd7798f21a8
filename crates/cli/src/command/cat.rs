//! `cat`: a stored document, or the part of one that a reference names, without any limit.

use std::io::{self, Write};

use anyhow::{anyhow, bail};
use quietcontext_store::{ChunkId, ChunkRange, DocumentInfo, Location, Store};
use quietcontext_tools::Reference;

use crate::{
    config::Flags,
    terminal::{Exit, Problem, look::Look, text},
    wire,
};

/// Text that is held at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Prints what a reference or a label names.
pub(crate) fn run(flags: &Flags, what: &str, raw: bool) -> Result<Exit, Problem> {
    let person = Look::stdout().person;
    if raw && person {
        return Err(Problem::usage(anyhow!(
            "--raw gives bytes that a terminal would obey: send them to a file or a pipe"
        )));
    }
    let wired = wire::wire(flags)?;
    wired.toolbox.with_store(&wired.root.path, |store| {
        let mut out = io::stdout().lock();
        let part = find(store, what)?;
        if raw {
            write_raw(store, &part, &mut out)?;
        } else {
            write_text(store, &part, person, &mut out)?;
        }
        out.flush()?;
        Ok(Exit::Fine)
    })
}

/// A part of a document.
struct Part {
    document: DocumentInfo,
    /// The chunks and the bytes of the first that are left out; `None` in an empty document.
    chunks: Option<(ChunkId, u64, ChunkId)>,
}

fn find(store: &Store, what: &str) -> anyhow::Result<Part> {
    let reference = match Reference::parse(what) {
        Ok(reference) => reference,
        Err(error) => {
            return labelled(store, what)?.ok_or_else(|| {
                anyhow!("{error}; no source is called that either: quietcontext sources lists them")
            });
        }
    };
    match store.locate(&reference.span())? {
        Location::Live { document, first, skip, last } => {
            Ok(Part { document: *document, chunks: Some((first, skip, last)) })
        }
        Location::Replaced { by: Some(by) } => bail!("{reference} replaced, now r:{by}"),
        Location::Replaced { by: None } => bail!("{reference} replaced, now empty"),
        Location::Gone => bail!("{reference} gone"),
        Location::Expired => bail!("{reference} expired"),
        Location::Crosses { end } => bail!("{reference} leaves its document, which ends at {end}"),
        Location::SkipBeyond { len } => bail!("{reference} begins behind its chunk's {len} bytes"),
        // A label may look like a number.
        Location::Unknown => {
            labelled(store, what)?.ok_or_else(|| anyhow!("{reference} unknown in this root"))
        }
    }
}

fn labelled(store: &Store, label: &str) -> anyhow::Result<Option<Part>> {
    Ok(store.by_label(label)?.map(|document| {
        let chunks = document.range.map(|range| (range.first, 0, range.last));
        Part { document, chunks }
    }))
}

fn write_raw(store: &Store, part: &Part, out: &mut impl Write) -> anyhow::Result<()> {
    if let Some((first, skip, last)) = part.chunks
        && (skip != 0 || part.document.range != Some(ChunkRange { first, last }))
    {
        bail!("--raw gives whole documents, and this is a part of {}", part.document.label);
    }
    io::copy(&mut store.raw(part.document.id)?, out)?;
    Ok(())
}

fn write_text(
    store: &Store,
    part: &Part,
    person: bool,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Some((mut next, skip, last)) = part.chunks else { return Ok(()) };
    let mut skip = usize::try_from(skip)?;
    while next <= last {
        let chunks = store.chunks(next, last, PIECE_BYTES)?;
        let Some(end) = chunks.last() else {
            bail!("the document changed while it was read");
        };
        next = ChunkId(end.id.0 + 1);
        for chunk in &chunks {
            let text = chunk.text.get(std::mem::take(&mut skip)..).unwrap_or_default();
            if person {
                out.write_all(text::clean(text).as_bytes())?;
            } else {
                out.write_all(text.as_bytes())?;
            }
        }
    }
    Ok(())
}
