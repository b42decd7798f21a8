//! `FILE_CONTENT`: the input file's decoded text, staged for the loaders.
//!
//! The text is read through the descriptor that was checked, at its own offsets, so that standard
//! input stays unread and no name is opened a second time.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::error::ExecError;

/// Most bytes of file that `FILE_CONTENT` may hold.
pub const CONTENT_LIMIT_BYTES: u64 = 64 * 1024 * 1024;

const PIECE_BYTES: usize = 64 * 1024;

/// Whether the language can hold NUL in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nul {
    Allowed,
    Refused,
}

/// Writes the file's text as UTF-8 to `target`. A byte order mark decides for UTF-16 and is left
/// out; what cannot be decoded becomes U+FFFD.
pub(crate) fn stage(file: &File, target: &Path, nul: Nul) -> Result<(), ExecError> {
    let input = |step| move |source| ExecError::Input { step, source };
    let bytes = file.metadata().map_err(input("look at its size"))?.len();
    if bytes > CONTENT_LIMIT_BYTES {
        return Err(ExecError::FileContentTooLarge { bytes, limit_bytes: CONTENT_LIMIT_BYTES });
    }
    let staging = |source| ExecError::Staging { step: "write the file's text", source };
    let out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(target)
        .map_err(staging)?;
    let mut out = BufWriter::with_capacity(PIECE_BYTES, out);
    let mut decoder = None;
    let mut buffer = vec![0; PIECE_BYTES];
    let mut at = 0;
    loop {
        let n = fill(file, &mut buffer, at).map_err(input("read it"))?;
        at += n as u64;
        if at > CONTENT_LIMIT_BYTES {
            // It grew meanwhile.
            return Err(ExecError::FileContentTooLarge {
                bytes: at,
                limit_bytes: CONTENT_LIMIT_BYTES,
            });
        }
        let mut skip = 0;
        let decoder = decoder.get_or_insert_with(|| {
            let (made, mark_bytes) = Decoder::for_start(&buffer[..n]);
            skip = mark_bytes;
            made
        });
        let text = decoder.decode(&buffer[skip..n], n < PIECE_BYTES);
        if nul == Nul::Refused && text.contains('\0') {
            return Err(ExecError::FileContentNul);
        }
        out.write_all(text.as_bytes()).map_err(staging)?;
        if n < PIECE_BYTES {
            return out.flush().map_err(staging);
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match file.read_at(&mut buffer[n..], at + n as u64) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n)
}

/// Decodes piece by piece; what a piece cuts in two is kept for the next.
struct Decoder {
    encoding: Encoding,
    rest: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Encoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

impl Decoder {
    /// The decoder for a file that starts so, and how long its byte order mark is.
    fn for_start(bytes: &[u8]) -> (Self, usize) {
        let (encoding, mark_bytes) = match bytes {
            [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
            [0xFF, 0xFE, ..] => (Encoding::Utf16Little, 2),
            [0xFE, 0xFF, ..] => (Encoding::Utf16Big, 2),
            _ => (Encoding::Utf8, 0),
        };
        (Self { encoding, rest: Vec::new() }, mark_bytes)
    }

    fn decode(&mut self, bytes: &[u8], last: bool) -> String {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let whole = if last { all.len() } else { self.whole(&all) };
        self.rest = all.split_off(whole);
        match self.encoding {
            Encoding::Utf8 => match String::from_utf8(all) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            },
            Encoding::Utf16Little => decode_utf16(&all, u16::from_le_bytes),
            Encoding::Utf16Big => decode_utf16(&all, u16::from_be_bytes),
        }
    }

    /// How many of the bytes are whole characters.
    fn whole(&self, bytes: &[u8]) -> usize {
        let unit = |at: usize| match self.encoding {
            Encoding::Utf16Big => u16::from_be_bytes([bytes[at], bytes[at + 1]]),
            _ => u16::from_le_bytes([bytes[at], bytes[at + 1]]),
        };
        if !matches!(self.encoding, Encoding::Utf8) {
            let even = bytes.len() & !1;
            let cut = even >= 2 && (0xD800..0xDC00).contains(&unit(even - 2));
            return if cut { even - 2 } else { even };
        }
        // A character that began within the last three bytes and needs more than are there.
        for back in 1..=bytes.len().min(3) {
            let at = bytes.len() - back;
            let needs = match bytes[at] {
                0xF0..=0xF7 => 4,
                0xE0..=0xEF => 3,
                0xC0..=0xDF => 2,
                0x80..=0xBF => continue,
                _ => 1,
            };
            return if needs > back { at } else { bytes.len() };
        }
        bytes.len()
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let pairs = bytes.chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let decoded = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    decoded.chain(odd.then_some(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn staged(bytes: &[u8], nul: Nul) -> Result<String, ExecError> {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("source");
        std::fs::write(&source, bytes).unwrap();
        let target = directory.path().join("content");
        stage(&File::open(source).unwrap(), &target, nul)?;
        Ok(std::fs::read_to_string(target).unwrap())
    }

    proptest! {
        #[test]
        fn pieces_decode_like_the_whole(bytes in prop::collection::vec(
            prop_oneof![Just(b'a'), Just(0xE4), Just(0xB8), Just(0xAD), any::<u8>()], 0..60),
            cut in 0usize..60, start in 0usize..3) {
            let (mut decoder, _) = Decoder::for_start(match start {
                0 => b"ab",
                1 => &[0xFF, 0xFE],
                _ => &[0xFE, 0xFF],
            });
            let cut = cut.min(bytes.len());
            let mut text = decoder.decode(&bytes[..cut], false);
            text += &decoder.decode(&bytes[cut..], true);
            let whole = decoder.decode(&bytes, true);
            prop_assert_eq!(text, whole);
        }
    }

    #[test]
    fn characters_across_a_piece_survive() {
        let mut text = "x".repeat(PIECE_BYTES - 1);
        text.push_str("中文\r\n");
        assert_eq!(staged(text.as_bytes(), Nul::Refused).unwrap(), text);
    }

    #[test]
    fn byte_order_marks_decide_and_go() {
        assert_eq!(staged(b"\xEF\xBB\xBFa", Nul::Refused).unwrap(), "a");
        assert_eq!(staged(b"\xFF\xFEa\0\x2D\x4E", Nul::Refused).unwrap(), "a中");
        assert_eq!(staged(b"\xFE\xFF\0a\x4E\x2D", Nul::Refused).unwrap(), "a中");
        assert_eq!(staged(b"a\xFFb", Nul::Refused).unwrap(), "a\u{FFFD}b");
        assert_eq!(staged(b"", Nul::Refused).unwrap(), "");
    }

    #[test]
    fn nul_is_refused_where_it_cannot_be_held() {
        assert_eq!(staged(b"a\0b", Nul::Allowed).unwrap(), "a\0b");
        let error = staged(b"a\0b", Nul::Refused).unwrap_err();
        assert!(error.to_string().contains("FILE_PATH"), "{error}");
    }

    #[test]
    fn over_the_limit_the_line_names_the_way_out() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create_new(directory.path().join("big")).unwrap();
        file.set_len(CONTENT_LIMIT_BYTES + 1).unwrap();
        let error = stage(&file, &directory.path().join("content"), Nul::Allowed).unwrap_err();
        assert!(matches!(error, ExecError::FileContentTooLarge { bytes: 67_108_865, .. }));
        assert!(error.to_string().contains("FILE_PATH"), "{error}");
    }
}
