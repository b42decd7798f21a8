//! Tells which encoding bytes are in, and whether they are text at all.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes from the first undecodable one that the detector is fed.
const SAMPLE_BYTES: usize = 64 * 1_024;

/// So many bytes in a row that are not UTF-8 are a word in an alphabet of its own.
const WORD_BYTES: usize = 4;

/// What was found out from the first bytes of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detected {
    /// How to decode it.
    pub(crate) encoding: &'static Encoding,
    /// Bytes of byte order mark to leave out.
    pub(crate) mark: usize,
    /// Not text.
    pub(crate) binary: bool,
}

impl Detected {
    fn text(encoding: &'static Encoding, mark: usize) -> Self {
        Detected { encoding, mark, binary: false }
    }
}

/// Looks at the first bytes of a document, up to all of them.
pub(crate) fn detect(head: &[u8]) -> Detected {
    if let Some((encoding, mark)) = Encoding::for_bom(head) {
        return Detected::text(encoding, mark);
    }
    if let Some(encoding) = unmarked_utf16(head) {
        return Detected::text(encoding, 0);
    }
    let counts = Counts::of(head);
    if counts.is_binary(head.len()) {
        return Detected { encoding: UTF_8, mark: 0, binary: true };
    }
    // Mostly proper characters, in all or line by line, or nothing but 8-bit escapes: damaged UTF-8.
    if counts.multi >= counts.bad || counts.sound >= counts.damaged || counts.bad == counts.escapes
    {
        return Detected::text(UTF_8, 0);
    }
    let start = counts.first_damaged.unwrap_or_default().saturating_sub(SAMPLE_BYTES / 4);
    let sample = head.get(start..head.len().min(start + SAMPLE_BYTES)).unwrap_or_default();
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    // A stray byte between signs is damage; in a word it is a letter.
    if encoding.is_single_byte() && !counts.in_word {
        return Detected::text(UTF_8, 0);
    }
    Detected::text(encoding, 0)
}

/// UTF-16 without a mark: text in it is full of NULs, all on one side.
fn unmarked_utf16(head: &[u8]) -> Option<&'static Encoding> {
    let sample = head.get(..head.len().min(4_096)).unwrap_or_default();
    if sample.len() < 4 {
        return None;
    }
    let (mut even, mut odd) = (0, 0);
    for pair in sample.chunks_exact(2) {
        even += usize::from(pair.first() == Some(&0));
        odd += usize::from(pair.get(1) == Some(&0));
    }
    let pairs = sample.len() / 2;
    match (even, odd) {
        (0, odd) if odd * 10 >= pairs * 7 => Some(UTF_16LE),
        (even, 0) if even * 10 >= pairs * 7 => Some(UTF_16BE),
        _ => None,
    }
}

#[derive(Debug, Default)]
struct Counts {
    /// Bytes that are not UTF-8.
    bad: usize,
    /// Of these, 8-bit control sequence introducers with a sequence behind them.
    escapes: usize,
    /// Proper multi-byte characters.
    multi: usize,
    /// Of these, the ones in lines without bad bytes. Pairs of letters of another encoding now and
    /// then look proper, hardly ever all of a line.
    sound: usize,
    /// Lines that have bad bytes and may be text of another encoding: no control characters.
    damaged: usize,
    /// Where the first of these begins.
    first_damaged: Option<usize>,
    /// Control characters no text has, NUL included.
    controls: usize,
    nuls: usize,
    /// NULs right behind another one: padding. Lists separate their items by single ones.
    padding: usize,
    /// Some bad byte stands beside an ASCII letter, or with others as long as a word.
    in_word: bool,
}

impl Counts {
    fn of(head: &[u8]) -> Self {
        let (mut counts, mut at) = (Counts::default(), 0);
        for line in head.split_inclusive(|&byte| byte == b'\n') {
            counts.add(at, line, at + line.len() == head.len());
            at += line.len();
        }
        counts
    }

    /// Adds the line at `start`; `last` when it ends the head.
    fn add(&mut self, start: usize, line: &[u8], last: bool) {
        let of_line = Counts::of_line(line, last);
        if of_line.bad == 0 {
            self.sound += of_line.multi;
        } else if of_line.controls == of_line.nuls {
            self.damaged += 1;
            self.first_damaged.get_or_insert(start);
            self.in_word |= of_line.in_word;
        }
        self.bad += of_line.bad;
        self.escapes += of_line.escapes;
        self.multi += of_line.multi;
        self.controls += of_line.controls;
        self.nuls += of_line.nuls;
        self.padding += of_line.padding;
    }

    fn of_line(line: &[u8], last: bool) -> Self {
        let (mut counts, mut at, mut row) = (Counts::default(), 0, 0);
        for chunk in line.utf8_chunks() {
            let valid = chunk.valid().as_bytes();
            counts.controls += valid.iter().filter(|&&byte| is_foreign(byte)).count();
            counts.nuls += memchr::memchr_iter(0, valid).count();
            counts.padding += valid.windows(2).filter(|pair| *pair == [0, 0]).count();
            counts.multi += valid.iter().filter(|&&byte| byte >= 0xc0).count();
            let invalid = chunk.invalid();
            at += valid.len() + invalid.len();
            // A character cut off by the end of the head is not damage.
            let cut_off = last && at == line.len() && invalid.len() < 4 && is_lead(invalid);
            if !invalid.is_empty() && !cut_off {
                counts.bad += 1;
                let after = line.get(at..).unwrap_or_default();
                counts.escapes += usize::from(invalid == [0x9b] && begins_sequence(after));
                let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
                row = if valid.is_empty() { row + 1 } else { 1 };
                counts.in_word |=
                    letter(valid.last()) || letter(after.first()) || row == WORD_BYTES;
            }
        }
        counts
    }

    fn is_binary(&self, length: usize) -> bool {
        self.controls * 20 > length && (self.bad * 20 > length || self.padding * 10 > length)
            || (self.nuls > 0 && self.bad * 10 > length)
    }
}

fn is_foreign(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, 0x07..=0x0d | 0x1b))
}

fn is_lead(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|&byte| byte >= 0xc2)
}

/// Parameters and a final byte, as after CSI.
fn begins_sequence(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .find(|byte| !(0x20..=0x3f).contains(*byte))
        .is_some_and(|byte| (0x40..=0x7e).contains(byte))
}
