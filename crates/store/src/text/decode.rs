//! Decodes a stream of bytes to UTF-8, across buffer borders.

use encoding_rs::{CoderResult, UTF_8};

use super::detect::Detected;

/// Decodes what it is given; what cannot be decoded becomes U+FFFD.
#[derive(Debug)]
pub(crate) struct Decoder {
    how: How,
    /// Bytes of byte order mark still to leave out.
    mark: usize,
    /// The bytes are not text.
    binary: bool,
    changed: bool,
    replaced: bool,
}

#[derive(Debug)]
enum How {
    Utf8 {
        /// The beginning of a character whose rest has not come yet.
        partial: Vec<u8>,
    },
    Foreign(Box<Foreign>),
}

struct Foreign {
    decoder: encoding_rs::Decoder,
    buffer: String,
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.decoder.encoding().name())
    }
}

impl Decoder {
    pub(crate) fn new(detected: Detected) -> Self {
        let how = if detected.encoding == UTF_8 {
            How::Utf8 { partial: Vec::new() }
        } else {
            How::Foreign(Box::new(Foreign {
                decoder: detected.encoding.new_decoder_without_bom_handling(),
                buffer: String::with_capacity(16 * 1_024),
            }))
        };
        Decoder {
            how,
            mark: detected.mark,
            binary: detected.binary,
            changed: false,
            replaced: false,
        }
    }

    /// The output differs from the input.
    pub(crate) fn changed(&self) -> bool {
        self.changed
    }

    /// Something could not be decoded.
    pub(crate) fn replaced(&self) -> bool {
        self.replaced
    }

    /// Input that has been seen and is not in the output yet. Meaningful while nothing changed.
    pub(crate) fn held(&self) -> &[u8] {
        match &self.how {
            How::Utf8 { partial } => partial,
            How::Foreign(_) => &[],
        }
    }

    /// Decodes `bytes`, the last ones of the stream when `last`, and gives the text to `sink`.
    pub(crate) fn push(&mut self, bytes: &[u8], last: bool, sink: &mut dyn FnMut(&str)) {
        let mark = self.mark.min(bytes.len());
        self.mark -= mark;
        self.changed |= mark > 0;
        let bytes = bytes.get(mark..).unwrap_or_default();
        match &mut self.how {
            How::Utf8 { partial } => {
                let held = std::mem::take(partial);
                let rest = self.complete(held, bytes, sink);
                let rest = self.utf8(rest, sink).to_vec();
                if let How::Utf8 { partial } = &mut self.how {
                    *partial = if partial.is_empty() { rest } else { std::mem::take(partial) };
                    if last && !partial.is_empty() {
                        partial.clear();
                        self.bad(b"", sink);
                    }
                }
            }
            How::Foreign(foreign) => {
                let mut rest = bytes;
                self.changed = true;
                loop {
                    foreign.buffer.clear();
                    let Foreign { decoder, buffer } = foreign.as_mut();
                    let (result, read, errors) = decoder.decode_to_string(rest, buffer, last);
                    self.replaced |= errors;
                    sink(buffer);
                    rest = rest.get(read..).unwrap_or_default();
                    if result == CoderResult::InputEmpty {
                        break;
                    }
                }
            }
        }
    }

    /// Completes the character that was cut by the last border; answers what remains of `bytes`.
    fn complete<'a>(
        &mut self,
        mut held: Vec<u8>,
        mut bytes: &'a [u8],
        sink: &mut dyn FnMut(&str),
    ) -> &'a [u8] {
        while !held.is_empty() {
            let Some((&next, rest)) = bytes.split_first() else {
                if let How::Utf8 { partial } = &mut self.how {
                    *partial = held;
                }
                break;
            };
            held.push(next);
            match std::str::from_utf8(&held) {
                Ok(text) => {
                    sink(text);
                    return rest;
                }
                Err(error) if error.error_len().is_none() => bytes = rest,
                Err(_) => {
                    // The new byte does not belong to it and is read again.
                    held.pop();
                    self.bad(&held, sink);
                    return bytes;
                }
            }
        }
        bytes
    }

    /// Decodes whole characters; answers the beginning of one that is cut by the end.
    fn utf8<'a>(&mut self, bytes: &'a [u8], sink: &mut dyn FnMut(&str)) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok("") => return &[],
                Ok(text) => {
                    sink(text);
                    return &[];
                }
                Err(error) => error,
            };
            let (valid, after) = rest.split_at_checked(error.valid_up_to()).unwrap_or((rest, &[]));
            if !valid.is_empty() {
                sink(std::str::from_utf8(valid).unwrap_or_default());
            }
            let Some(length) = error.error_len() else {
                return after;
            };
            let (invalid, after) = after.split_at_checked(length).unwrap_or((after, &[]));
            self.bad(invalid, sink);
            rest = after;
        }
    }

    fn bad(&mut self, invalid: &[u8], sink: &mut dyn FnMut(&str)) {
        self.changed = true;
        if !self.binary
            && let &[byte @ (0x90 | 0x9b..=0x9d)] = invalid
        {
            // An 8-bit control introducer: the cleaner knows it as a character.
            sink(char::from(byte).encode_utf8(&mut [0; 4]));
            return;
        }
        self.replaced = true;
        sink("\u{fffd}");
    }
}
