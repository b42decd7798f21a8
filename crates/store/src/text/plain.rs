//! Finds out quickly how much of a text needs no cleaning.

use super::clean::Returns;

/// How many bytes at the front hold no control but line feed and tab (and what a file keeps).
/// `bytes` are valid UTF-8.
pub(super) fn plain_run(bytes: &[u8], returns: Returns) -> usize {
    const BLOCK: usize = 32;
    let mut at = 0;
    loop {
        // Blocks without any suspect are passed by a loop the compiler turns into vector code.
        while let Some(block) = bytes.get(at..at + BLOCK)
            && !block.iter().fold(false, |any, &byte| any | suspect(byte))
        {
            at += BLOCK;
        }
        let end = bytes.len().min(at + BLOCK);
        while at < end {
            let byte = bytes.get(at).copied().unwrap_or_default();
            let kept = returns == Returns::Keep && matches!(byte, b'\r' | 0x0b | 0x0c);
            if suspect(byte) && !kept {
                if byte == 0xc2 && bytes.get(at + 1).is_some_and(|&next| next >= 0xa0) {
                    at += 1;
                } else {
                    return at;
                }
            }
            at += 1;
        }
        if at >= bytes.len() {
            return bytes.len();
        }
    }
}

/// A control character, or the first byte of one (U+0080 to U+009F begin with C2).
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "without branches it becomes vector code")]
fn suspect(byte: u8) -> bool {
    (byte < 0x20) & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f) | (byte == 0xc2)
}
