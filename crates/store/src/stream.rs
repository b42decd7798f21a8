//! Stores a document of any size with flat memory: one thread reads, decodes and cuts, another one
//! compresses and writes.

use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::Result;
use crate::block::{Packer, Piece};
use crate::chunk::{self, ContentKind, Context, Section};
use crate::core::Core;
use crate::document::{NewDocument, Observer, Origin, Receipt};
use crate::error::StoreError;
use crate::ids::{ChunkId, ChunkRange, DocumentId};
use crate::label;
use crate::lines::Lines;
use crate::number::{self, SPAN};
use crate::prepare::{self, Identity, packing};
use crate::row::{self, DocumentRow, State};
use crate::sketches::{self, Sketched};
use crate::window::{Window, Windows};
use crate::write::{self, Numbers};

/// Documents up to this size are handled whole: their chunkers see all of them.
const WHOLE_BYTES: u64 = 4 << 20;
/// Output of programs is handled in windows anyway.
const WHOLE_RUN_BYTES: u64 = 1 << 20;
/// Bytes read at a time.
const STEP_BYTES: usize = 256 * 1_024;
/// Windows between the threads.
const QUEUE: usize = 2;

impl Core {
    /// Stores a document; what it answers is committed.
    pub(crate) fn add(
        &self,
        new: &NewDocument<'_>,
        bytes: &mut dyn Read,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Receipt> {
        let head = read_head(new, bytes)?;
        if head.is_whole {
            let viewed = prepare::look(new, &head.bytes, observer);
            return self.add_whole(new, viewed);
        }
        self.add_stream(new, head.bytes, bytes, observer)
    }

    /// Stores a document that is too large to be handled whole. `head` holds its first bytes.
    pub(crate) fn add_stream(
        &self,
        new: &NewDocument<'_>,
        head: Vec<u8>,
        bytes: &mut dyn Read,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Receipt> {
        let returns = prepare::returns(new.origin);
        let mut windows = Windows::new(&head, returns);
        windows.push(&head);
        let kind = prepare::kind(new, windows.viewer().view(), windows.rest());
        let mut identity = Identity::new(kind, returns);
        identity.update(&head);
        drop(head);

        let lease = self.lease()?;
        let numbers =
            self.write(|transaction| write::insert_open(transaction, kind, State::Writing, lease))?;
        let generation = self.pool.generation();
        let (sender, receiver) = sync_channel(QUEUE);
        let written = thread::scope(|scope| {
            let writer = scope.spawn(move || self.write_windows(numbers, receiver));
            let producer = Producer {
                new,
                kind,
                sender,
                context: Context::default(),
                command: new.command,
                lines: Lines::default(),
            };
            let produced = producer.run(&mut windows, &mut identity, bytes, observer);
            let written = writer.join().unwrap_or(Err(StoreError::Io {
                step: "writing",
                reason: String::from("the writing thread failed"),
            }));
            Ok((produced?, written?))
        });
        match written {
            Ok((lines, written)) => {
                let digest = identity.finish();
                let mut finish = Finish { numbers, kind, digest, lines, written };
                let receipt = self.finish_stream(new, &windows, &finish)?;
                // Where the same text was there already, these numbers lead nowhere.
                if receipt.range.is_some_and(|range| range.first.0 == numbers.first) {
                    self.sketches.put(generation, std::mem::take(&mut finish.written.sketched));
                }
                Ok(receipt)
            }
            Err(error) => {
                self.abandon(numbers);
                Err(error)
            }
        }
    }

    /// Removes what was written of a document that will not be finished.
    fn abandon(&self, numbers: Numbers) {
        let result =
            self.write(|transaction| match DocumentRow::by_id(transaction, numbers.document)? {
                Some(row) => label::bury_unfinished(transaction, &row),
                None => Ok(()),
            });
        if let Err(error) = result {
            // Its lease ends with this process; then anyone removes it.
            tracing::warn!(%error, "a document that was not finished stays for now");
        }
    }

    fn write_windows(&self, numbers: Numbers, windows: Receiver<Cut>) -> Result<Written> {
        let mut packer = Packer::new().map_err(packing)?;
        packer.sketch(true);
        let mut written = Written::default();
        for cut in windows {
            let mut blocks = Vec::new();
            for section in &cut.sections {
                let text = cut.window.text.get(section.bytes.clone()).unwrap_or_default();
                let piece = Piece { title: &section.title, text };
                blocks.extend(packer.add(piece).map_err(packing)?);
            }
            if cut.is_last {
                blocks.extend(packer.close().map_err(packing)?);
            }
            if packer.chunks() > SPAN {
                return Err(StoreError::TooLarge { limit: SPAN });
            }
            let raw = prepare::raw_parts(&cut.window.raw)?;
            drop(cut);
            self.courtesy.give_way();
            self.pool.let_pass();
            self.carry_over()?;
            written.sketched.extend(sketches::of_blocks(numbers.first, &mut blocks));
            if written.sketched.len() >= sketches::MOST {
                packer.sketch(false);
            }
            self.write(|transaction| {
                write::put_blocks(transaction, numbers, &blocks, false)?;
                written.parts = write::put_raw(transaction, numbers.document, written.parts, &raw)?;
                Ok(())
            })?;
        }
        written.chunks = packer.chunks();
        written.view_bytes = packer.next_start();
        Ok(written)
    }

    /// Makes a written document visible, or drops it when the same bytes are there already.
    fn finish_stream(
        &self,
        new: &NewDocument<'_>,
        windows: &Windows,
        finish: &Finish,
    ) -> Result<Receipt> {
        let Finish { numbers, kind, digest, lines, ref written } = *finish;
        let view = windows.viewer().view();
        let receipt = self.write(|transaction| {
            let shared = write::share(transaction, new, &digest)?;
            let end = numbers.first + SPAN;
            if let Some(receipt) = shared {
                if let Some(row) = DocumentRow::by_id(transaction, numbers.document)? {
                    label::bury(transaction, &row)?;
                }
                // Its blocks are still there for a while: only what lies behind them is given back.
                let used = numbers.first + written.chunks;
                number::give_back(transaction, number::CHUNK, end, used)?;
                return Ok(receipt);
            }
            let used = numbers.first + written.chunks;
            number::give_back(transaction, number::CHUNK, end, used)?;
            let range = (written.chunks > 0)
                .then(|| ChunkRange { first: ChunkId(numbers.first), last: ChunkId(used - 1) });
            transaction
                .prepare_cached(
                    "UPDATE documents SET state = 1, digest = ?2, kind = ?3, first = ?4, last = ?5,
                     reserved = NULL, bytes = ?6, view_bytes = ?7, lines = ?8, encoding = ?9,
                     flags = ?10, raw_from = ?11, owner = NULL WHERE id = ?1",
                )?
                .execute(rusqlite::params![
                    numbers.document as i64,
                    digest,
                    kind.name(),
                    range.map(|range| range.first.0 as i64),
                    range.map(|range| range.last.0 as i64),
                    windows.bytes() as i64,
                    written.view_bytes as i64,
                    lines as i64,
                    view.encoding,
                    row::flags(view),
                    windows.raw_from() as i64,
                ])?;
            if let Some(range) = range {
                let (first, last) = (range.first.0, range.last.0);
                write::put_pending(transaction, numbers.document, first, last)?;
            }
            let label = label::name(transaction, new.label)?;
            let row = label::row_for(new, label.clone(), numbers.document);
            let before = label::attach(transaction, &row)?;
            Ok(Receipt {
                document: DocumentId(numbers.document),
                label,
                range,
                bytes: windows.bytes(),
                lines,
                chunks: written.chunks,
                view,
                status: write::fresh(before),
            })
        })?;
        Ok(receipt)
    }
}

/// The first bytes of a document.
pub(crate) struct Head {
    pub(crate) bytes: Vec<u8>,
    /// These are all.
    pub(crate) is_whole: bool,
}

/// Reads a document, or as much of it as is handled whole.
pub(crate) fn read_head(new: &NewDocument<'_>, bytes: &mut dyn Read) -> Result<Head> {
    let limit = if new.origin == Origin::Run { WHOLE_RUN_BYTES } else { WHOLE_BYTES };
    let mut head = Vec::new();
    let read = bytes.take(limit + 1).read_to_end(&mut head).map_err(StoreError::Source)?;
    Ok(Head { bytes: head, is_whole: read as u64 <= limit })
}

#[derive(Debug, Default)]
struct Written {
    chunks: u64,
    view_bytes: u64,
    parts: u64,
    sketched: Vec<Sketched>,
}

struct Finish {
    numbers: Numbers,
    kind: ContentKind,
    digest: [u8; 32],
    lines: u64,
    written: Written,
}

/// A window and where it is cut.
struct Cut {
    window: Window,
    sections: Vec<Section>,
    is_last: bool,
}

/// Reads, decodes and cuts.
struct Producer<'a> {
    new: &'a NewDocument<'a>,
    kind: ContentKind,
    sender: SyncSender<Cut>,
    context: Context,
    /// Until the first window is cut.
    command: Option<&'a str>,
    lines: Lines,
}

impl Producer<'_> {
    /// Answers the number of lines. Ends early, without an error, when the other thread did.
    fn run(
        mut self,
        windows: &mut Windows,
        identity: &mut Identity,
        bytes: &mut dyn Read,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<u64> {
        let mut step = vec![0; STEP_BYTES];
        loop {
            while let Some(window) = windows.next() {
                if !self.send(window, false, reborrow(&mut observer)) {
                    return Ok(0);
                }
            }
            let read = match bytes.read(&mut step) {
                Ok(0) => break,
                Ok(read) => step.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(StoreError::Source(error)),
            };
            identity.update(read);
            windows.push(read);
        }
        self.send(windows.finish(), true, reborrow(&mut observer));
        Ok(self.lines.count())
    }

    fn send(&mut self, window: Window, is_last: bool, observer: Option<&mut dyn Observer>) -> bool {
        self.lines.see(&window.text, observer);
        let name = self.new.name.or(self.new.path);
        let mut sections = chunk::sections_with(self.kind, name, &window.text, &mut self.context);
        chunk::lead(self.command.take(), &mut sections, &window.text);
        self.sender.send(Cut { window, sections, is_last }).is_ok()
    }
}

fn reborrow<'a>(observer: &'a mut Option<&mut dyn Observer>) -> Option<&'a mut dyn Observer> {
    match observer {
        Some(observer) => Some(&mut **observer),
        None => None,
    }
}
