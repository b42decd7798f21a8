//! From captured bytes to the view: decoding, then cleaning.

mod clean;
mod decode;
mod detect;
mod plain;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use encoding_rs::UTF_8;

pub(crate) use clean::Returns;

use crate::document::View;
use clean::Cleaner;
use decode::Decoder;
use detect::Detected;

/// Bytes decoded at a time: small enough to stay in the processor's cache.
const STEP_BYTES: usize = 64 * 1_024;

/// The view of captured bytes as a program printed them, and how it relates to them.
pub fn clean(bytes: &[u8]) -> (Cow<'_, str>, View) {
    view(bytes, Returns::Redraw)
}

/// The view of a whole document.
pub(crate) fn view(bytes: &[u8], returns: Returns) -> (Cow<'_, str>, View) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !bytes.starts_with(b"\xef\xbb\xbf")
        && plain::plain_run(bytes, returns) == bytes.len()
    {
        return (Cow::Borrowed(text), View::default());
    }
    let mut viewer = Viewer::new(bytes, returns);
    let mut output = String::with_capacity(bytes.len());
    viewer.push(bytes, &mut output);
    viewer.finish(&mut output);
    (Cow::Owned(output), viewer.view())
}

/// Makes the view of a stream of bytes.
#[derive(Debug)]
pub(crate) struct Viewer {
    detected: Detected,
    decoder: Decoder,
    cleaner: Cleaner,
}

impl Viewer {
    /// `head` holds the first bytes of the stream, up to all of them; they are pushed as well.
    pub(crate) fn new(head: &[u8], returns: Returns) -> Self {
        let detected = detect::detect(head);
        let cleaner = Cleaner::new(returns, detected.binary);
        Viewer { detected, decoder: Decoder::new(detected), cleaner }
    }

    /// Adds the view of `bytes` to `output`.
    pub(crate) fn push(&mut self, bytes: &[u8], output: &mut String) {
        for step in bytes.chunks(STEP_BYTES) {
            let cleaner = &mut self.cleaner;
            self.decoder.push(step, false, &mut |text| cleaner.push(text, output));
        }
    }

    /// Adds what was held back.
    pub(crate) fn finish(&mut self, output: &mut String) {
        let cleaner = &mut self.cleaner;
        self.decoder.push(&[], true, &mut |text| cleaner.push(text, output));
        self.cleaner.finish(output);
    }

    /// How the view relates to the bytes so far.
    pub(crate) fn view(&self) -> View {
        View {
            encoding: (self.detected.encoding != UTF_8).then(|| self.detected.encoding.name()),
            replaced: self.decoder.replaced() || self.cleaner.replaced(),
            differs: self.differs(),
            binary: self.detected.binary,
        }
    }

    /// The output differs from the input so far.
    pub(crate) fn differs(&self) -> bool {
        self.decoder.changed() || self.cleaner.changed()
    }

    /// Input that has been seen, changed nothing yet and is not in the output.
    pub(crate) fn held(&self) -> Vec<u8> {
        [self.cleaner.held(), self.decoder.held()].concat()
    }

    /// Where the current line begins in the output: what lies before is final.
    pub(crate) fn line_start(&self) -> usize {
        self.cleaner.line_start()
    }

    /// The caller took `bytes` from the front of the output.
    pub(crate) fn taken(&mut self, bytes: usize) {
        self.cleaner.taken(bytes);
    }

    /// Declares all output so far final: an endless line was cut.
    pub(crate) fn settle(&mut self, length: usize) {
        self.cleaner.settle(length);
    }
}
