//! The program that reads a PDF: from standard input to frames on standard output.

use std::io::{Read as _, Write as _};

use super::frame::Frame;
use super::interpret::{Found, Unread, read};

/// Most text of one document, in bytes; the rest is left and that is said.
const TEXT_BYTES: usize = 32 << 20;
/// Most pages of one document.
const PAGES: u32 = 20_000;

/// Reads and writes. Every page is written before the next is begun, so that what was read before a
/// crash is kept. `false` when nothing could be read or written at all.
pub(crate) fn run() -> bool {
    let mut bytes = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut bytes).is_err() {
        return false;
    }
    let mut out = std::io::stdout().lock();
    let mut write = |frame: &Frame| frame.write(&mut out).and_then(|()| out.flush()).is_ok();
    let (mut text_bytes, mut pages) = (0, 0);
    let mut full = false;
    let done = read(bytes, &mut |found| {
        let frame = match found {
            Found::Title(title) => return write(&Frame::Title(title)),
            Found::Page(text) => Frame::Page(text),
            Found::Unreadable => Frame::Unreadable,
        };
        if let Frame::Page(text) = &frame {
            text_bytes += text.len();
        }
        full = text_bytes > TEXT_BYTES || pages >= PAGES;
        if full {
            return false;
        }
        pages += 1;
        write(&frame)
    });
    if full {
        write(&Frame::Full);
    }
    write(&match done {
        Ok(pages) => Frame::End(pages),
        Err(Unread::Encrypted) => Frame::Encrypted,
        Err(Unread::Damaged) => Frame::Damaged,
    })
}
