//! Tells which encoding bytes are in, and whether they are text at all.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes from the first undecodable one that the detector is fed.
const SAMPLE_BYTES: usize = 64 * 1_024;

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
    let Some(first_bad) = counts.first_bad else {
        return Detected::text(UTF_8, 0);
    };
    // Mostly proper multi-byte characters, or nothing but 8-bit escapes: damaged UTF-8.
    if counts.multi >= counts.bad || counts.bad == counts.escapes {
        return Detected::text(UTF_8, 0);
    }
    let start = first_bad.saturating_sub(SAMPLE_BYTES / 4);
    let sample = head.get(start..head.len().min(start + SAMPLE_BYTES)).unwrap_or_default();
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    // A stray byte between signs is damage; beside a letter it is a letter.
    if encoding.is_single_byte() && !counts.beside_letter {
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
    first_bad: Option<usize>,
    /// Bytes that are not UTF-8.
    bad: usize,
    /// Of these, 8-bit control sequence introducers with a sequence behind them.
    escapes: usize,
    /// Proper multi-byte characters.
    multi: usize,
    /// Control characters no text has, NUL included.
    controls: usize,
    nuls: usize,
    /// NULs right behind another one: padding. Lists separate their items by single ones.
    padding: usize,
    /// Some bad byte stands beside an ASCII letter.
    beside_letter: bool,
}

impl Counts {
    fn of(head: &[u8]) -> Self {
        let mut counts = Counts::default();
        let mut at = 0;
        for chunk in head.utf8_chunks() {
            let valid = chunk.valid().as_bytes();
            counts.controls += valid.iter().filter(|&&byte| is_foreign(byte)).count();
            counts.nuls += memchr::memchr_iter(0, valid).count();
            counts.padding += valid.windows(2).filter(|pair| *pair == [0, 0]).count();
            counts.multi += valid.iter().filter(|&&byte| byte >= 0xc0).count();
            at += valid.len();
            let invalid = chunk.invalid();
            // A character cut off by the end of the head is not damage.
            let cut_off = at + invalid.len() == head.len() && invalid.len() < 4 && is_lead(invalid);
            if !invalid.is_empty() && !cut_off {
                counts.first_bad.get_or_insert(at);
                counts.bad += 1;
                let after = head.get(at + invalid.len()..).unwrap_or_default();
                if invalid == [0x9b] && begins_sequence(after) {
                    counts.escapes += 1;
                }
                let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
                counts.beside_letter |= letter(valid.last()) || letter(after.first());
            }
            at += invalid.len();
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
