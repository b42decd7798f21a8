//! What the reader in the box writes and the server reads: frames of a kind, a length and bytes.

use std::io::{self, Read, Write};

/// One piece of what the reader found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// The document's own title.
    Title(String),
    /// The text of the next page.
    Page(String),
    /// The next page could not be read.
    Unreadable,
    /// More than is read of one document: the rest is left.
    Full,
    /// It needs a password.
    Encrypted,
    /// It is no PDF, or beyond repair.
    Damaged,
    /// The end, with the number of pages.
    End(u32),
}

/// Kind and length.
const HEAD_BYTES: usize = 5;
/// Most bytes of one frame that the server takes.
const FRAME_BYTES: usize = 64 << 20;

impl Frame {
    /// Writes it.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let number;
        let (kind, bytes): (u8, &[u8]) = match self {
            Self::Title(text) => (b'T', text.as_bytes()),
            Self::Page(text) => (b'P', text.as_bytes()),
            Self::Unreadable => (b'U', &[]),
            Self::Full => (b'F', &[]),
            Self::Encrypted => (b'C', &[]),
            Self::Damaged => (b'D', &[]),
            Self::End(pages) => {
                number = pages.to_le_bytes();
                (b'E', &number)
            }
        };
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        out.write_all(&[kind])?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(bytes)
    }

    /// Reads the next; `None` at the end, and at whatever is not a whole frame: a reader that died
    /// may have left half of one.
    pub(super) fn read(input: &mut impl Read) -> Option<Self> {
        let mut head = [0; HEAD_BYTES];
        input.read_exact(&mut head).ok()?;
        let [kind, length @ ..] = head;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        if length > FRAME_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        input.take(length as u64).read_to_end(&mut bytes).ok()?;
        if bytes.len() != length {
            return None;
        }
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
        match kind {
            b'T' => text(bytes).map(Self::Title),
            b'P' => text(bytes).map(Self::Page),
            b'U' => Some(Self::Unreadable),
            b'F' => Some(Self::Full),
            b'C' => Some(Self::Encrypted),
            b'D' => Some(Self::Damaged),
            b'E' => Some(Self::End(u32::from_le_bytes(bytes.try_into().ok()?))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_read_back_and_half_of_one_is_the_end() {
        let frames = [
            Frame::Title("A title".into()),
            Frame::Page("text\n".into()),
            Frame::Page(String::new()),
            Frame::Unreadable,
            Frame::Full,
            Frame::Encrypted,
            Frame::Damaged,
            Frame::End(7),
        ];
        let mut bytes = Vec::new();
        for frame in &frames {
            frame.write(&mut bytes).unwrap();
        }
        let mut input = bytes.as_slice();
        let read: Vec<_> = std::iter::from_fn(|| Frame::read(&mut input)).collect();
        assert_eq!(read, frames);
        let mut half = &bytes[..bytes.len() - 1];
        assert_eq!(std::iter::from_fn(|| Frame::read(&mut half)).count(), frames.len() - 1);
        for odd in [&b"P\xff\xff\xff\xff"[..], b"P\x01\0\0\0\xff", b"?\0\0\0\0", b"E\x01\0\0\0x"] {
            assert_eq!(Frame::read(&mut &odd[..]), None, "{odd:?}");
        }
    }
}
