//! What a writer of many documents has to do, and the thread that does it.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use rusqlite::Transaction;

use crate::Result;
use crate::block::Packer;
use crate::core::Core;
use crate::document::{FileStamp, Label, NewDocument};
use crate::label::{self, Reason};
use crate::prepare::{self, Prepared, packing};
use crate::row::{self, DocumentRow, LabelRow};
use crate::search::{self, Expander};
use crate::sketches;
use crate::write::{self, Numbers, is_long};

/// Text whose rows are written in one transaction, unless one document has more: about 5 ms of work.
pub(crate) const TRANSACTION_BYTES: u64 = 128 * 1_024;
/// What a step costs beside its text, as bytes of text.
const STEP_BYTES: u64 = 2 * 1_024;
/// Steps of upkeep between two transactions: as much as one transaction makes due.
const UPKEEP: usize = 2;

/// One thing to do, in the order it was asked for.
#[derive(Debug)]
pub(crate) enum Step {
    Put {
        prepared: Box<Prepared>,
        numbers: Numbers,
        label: LabelRow,
    },
    /// The bytes are those of a document that is there; they are kept in case it goes meanwhile.
    Share {
        document: u64,
        label: LabelRow,
        name: Option<String>,
        bytes: Vec<u8>,
    },
    Forget(String),
    Restamp(String, FileStamp),
}

impl Step {
    /// What it costs, as bytes of text.
    fn cost(&self) -> u64 {
        STEP_BYTES
            + match self {
                Step::Put { prepared, .. } => prepared.view_bytes,
                Step::Share { .. } | Step::Forget(_) | Step::Restamp(..) => 0,
            }
    }
}

/// Whether a transaction may go on with a step after which it has that cost.
fn fits(cost: u64, start: Instant) -> bool {
    cost <= TRANSACTION_BYTES && !is_long(start)
}

/// Writes what comes, in short transactions between which others get their turn.
pub(crate) fn write_steps(core: &Core, batches: Receiver<Vec<Step>>) -> Result<()> {
    let mut packer = Packer::new().map_err(packing)?;
    for batch in batches {
        let mut steps = batch.into_iter().peekable();
        while steps.peek().is_some() {
            core.courtesy.give_way();
            core.pool.let_pass();
            let generation = core.pool.generation();
            let mut written: Vec<Put> = Vec::new();
            core.write(|transaction| {
                let start = Instant::now();
                let mut cost = 0;
                while let Some(step) =
                    steps.next_if(|step| cost == 0 || fits(cost + step.cost(), start))
                {
                    cost += step.cost();
                    written.extend(write_step(transaction, step, &mut packer)?);
                }
                // Last, since other statements would make the engine write out what it has.
                let rows = written.iter().filter_map(|put| {
                    put.prepared.rows.as_ref().map(|rows| (put.first, rows, &*put.path))
                });
                Ok(search::index(transaction, rows)?)
            })?;
            for put in &mut written {
                let sketched = sketches::of_blocks(put.first, &mut put.prepared.blocks);
                core.sketches.put(generation, sketched);
            }
            drop(written);
            for _ in 0..UPKEEP {
                core.courtesy.give_way();
                if !core.upkeep()? {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// A document whose full-text rows are still to be written.
struct Put {
    prepared: Box<Prepared>,
    first: u64,
    path: String,
}

fn write_step(
    transaction: &Transaction<'_>,
    step: Step,
    packer: &mut Packer,
) -> Result<Option<Put>> {
    match step {
        Step::Put { prepared, numbers, label } => {
            write::put(transaction, &prepared, numbers)?;
            label::attach(transaction, &label)?;
            let path = label.path.unwrap_or(label.label);
            return Ok(Some(Put { prepared, first: numbers.first, path }));
        }
        Step::Share { document, label, name, bytes } => {
            let there = DocumentRow::by_id(transaction, document)?;
            if there.is_some_and(|row| row.state.is_visible()) {
                label::attach(transaction, &label)?;
                return Ok(None);
            }
            // It went in the meantime: stored anew.
            let mut new = NewDocument::new(Label::Fixed(&label.label), label.origin);
            new.name = name.as_deref();
            new.path = label.path.as_deref();
            let viewed = prepare::look(&new, &bytes, None);
            let prepared = Box::new(Prepared::new(&new, viewed, packer, &mut Expander::default())?);
            let numbers = write::reserve(transaction, prepared.chunks)?;
            write::put(transaction, &prepared, numbers)?;
            let label = LabelRow { document: numbers.document, ..label };
            label::attach(transaction, &label)?;
            let path = label.path.unwrap_or(label.label);
            return Ok(Some(Put { prepared, first: numbers.first, path }));
        }
        Step::Forget(label) => {
            label::detach(transaction, &label, Reason::Gone)?;
        }
        Step::Restamp(label, stamp) => {
            transaction
                .prepare_cached("UPDATE labels SET stamp = ?2 WHERE label = ?1")?
                .execute((label, row::stamp_bytes(&stamp)))?;
        }
    }
    Ok(None)
}
