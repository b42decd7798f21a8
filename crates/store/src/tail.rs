//! The chunks at the end of a growing document: the block that is not full, and its open chunk.

use crate::Result;
use crate::block::{Packed, Packer, Piece};
use crate::chunk::{self, ContentKind, Context, Section};
use crate::document::NewDocument;
use crate::prepare::packing;

/// An open chunk of this size is closed when more text comes.
const CLOSE_BYTES: usize = 1_200;

/// Cuts what comes so that no chunk ever moves.
#[derive(Debug)]
pub(crate) struct Tail {
    name: Option<String>,
    /// What prints it.
    command: Option<String>,
    kind: ContentKind,
    context: Context,
    packer: Packer,
    /// Titles and texts of the block that is not full yet; the last one is the open chunk.
    chunks: Vec<(String, String)>,
    /// Where that block begins: chunks, bytes and lines before it.
    begins: (u64, u64, u64),
}

impl Tail {
    pub(crate) fn new(kind: ContentKind, new: &NewDocument<'_>) -> Result<Self> {
        Ok(Tail {
            name: new.name.or(new.path).map(str::to_owned),
            command: new.command.map(str::to_owned),
            kind,
            context: Context::default(),
            packer: Packer::new().map_err(packing)?,
            chunks: Vec::new(),
            begins: (0, 0, 1),
        })
    }

    /// Chunks of the document so far.
    pub(crate) fn count(&self) -> u64 {
        self.begins.0 + self.chunks.len() as u64
    }

    /// Chunks that will not change any more.
    pub(crate) fn closed(&self) -> u64 {
        self.count() - u64::from(!self.chunks.is_empty())
    }

    /// Bytes of the document so far.
    pub(crate) fn bytes(&self) -> u64 {
        let open: usize = self.chunks.iter().map(|(_, text)| text.len()).sum();
        self.begins.1 + open as u64
    }

    /// Adds whole lines.
    pub(crate) fn cut(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let name = self.name.as_deref();
        if let Some((_, open)) = self.chunks.last()
            && open.len() < CLOSE_BYTES
        {
            let joined = format!("{open}{text}");
            let mut context = self.context.clone();
            let mut sections = chunk::sections_with(self.kind, name, &joined, &mut context);
            let command = self.command.as_deref().filter(|_| self.count() == 1);
            chunk::lead(command, &mut sections, &joined);
            // Cut earlier than before, the open chunk would lose text that was told of.
            if sections.first().is_some_and(|section| section.bytes.end >= open.len()) {
                self.chunks.pop();
                self.extend(sections, &joined);
                return;
            }
        }
        let mut sections = chunk::sections_with(self.kind, name, text, &mut self.context);
        let command = self.command.as_deref().filter(|_| self.count() == 0);
        chunk::lead(command, &mut sections, text);
        self.extend(sections, text);
    }

    fn extend(&mut self, sections: Vec<Section>, text: &str) {
        for section in sections {
            let body = text.get(section.bytes).unwrap_or_default().to_owned();
            self.chunks.push((section.title, body));
        }
    }

    /// Packs the block that is not full, and full ones before it; answers whether the last one of
    /// these is open.
    pub(crate) fn pack(&mut self) -> Result<(Vec<Packed>, bool)> {
        let (ordinal, start, line) = self.begins;
        self.packer.restart(ordinal, start, line);
        let mut blocks = Vec::new();
        let mut full = 0;
        for (index, (title, text)) in self.chunks.iter().enumerate() {
            if let Some(block) = self.packer.add(Piece { title, text }).map_err(packing)? {
                blocks.push(block);
                full = index + 1;
                self.begins =
                    (self.packer.chunks(), self.packer.next_start(), self.packer.next_line());
            }
        }
        self.chunks.drain(..full);
        let open = self.packer.close().map_err(packing)?;
        let is_open = open.is_some();
        blocks.extend(open);
        Ok((blocks, is_open))
    }
}
