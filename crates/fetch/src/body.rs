//! Reading a response body: pieces unpacked as they arrive, wire and unpacked bytes both capped.

use std::io::{self, ErrorKind, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Sent as `Accept-Encoding`; the names [`Decoder::new`] knows.
pub(crate) const ACCEPT_ENCODING: &str = "gzip, br, zstd, deflate";

/// RFC 9659: a zstd stream over HTTP needs a window of at most 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// Grows up to a cap, then fails with [`ErrorKind::FileTooLarge`], whoever writes into it.
#[derive(Debug)]
struct Capped {
    bytes: Vec<u8>,
    cap: u64,
}

impl Write for Capped {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() + piece.len()) as u64 > self.cap {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Unpacks one content coding, piece by piece, into a capped buffer.
pub(crate) struct Decoder(Inner);

enum Inner {
    Identity(Capped),
    Gzip(Box<MultiGzDecoder<Capped>>),
    /// Nothing seen yet of `deflate`, which servers send with and without its zlib header.
    Deflate(Option<Capped>),
    Zlib(Box<ZlibDecoder<Capped>>),
    RawDeflate(Box<DeflateDecoder<Capped>>),
    Brotli(Box<DecompressorWriter<Capped>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Capped>>),
}

/// A coding that was not asked for, or more than one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownCoding;

impl Decoder {
    /// A decoder for the value of `Content-Encoding` that unpacks at most `cap` bytes.
    pub(crate) fn new(coding: &str, cap: u64) -> Result<Self, UnknownCoding> {
        let sink = Capped { bytes: Vec::new(), cap };
        Ok(Self(match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Inner::Identity(sink),
            "gzip" | "x-gzip" => Inner::Gzip(Box::new(MultiGzDecoder::new(sink))),
            "deflate" => Inner::Deflate(Some(sink)),
            "br" => Inner::Brotli(Box::new(DecompressorWriter::new(sink, 8 << 10))),
            "zstd" => {
                let mut decoder =
                    zstd::stream::write::Decoder::new(sink).map_err(|_| UnknownCoding)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(|_| UnknownCoding)?;
                Inner::Zstd(Box::new(decoder))
            }
            _ => return Err(UnknownCoding),
        }))
    }

    /// Takes the next piece. [`ErrorKind::FileTooLarge`] when the cap is reached, any other error
    /// when the data is broken.
    pub(crate) fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        if let Inner::Deflate(sink) = &mut self.0 {
            let (Some(first), Some(sink)) = (piece.first(), sink.take_if(|_| !piece.is_empty()))
            else {
                return Ok(());
            };
            // A zlib header names method 8; a raw stream that begins so is not made in practice.
            self.0 = if first & 0x0f == 8 {
                Inner::Zlib(Box::new(ZlibDecoder::new(sink)))
            } else {
                Inner::RawDeflate(Box::new(DeflateDecoder::new(sink)))
            };
        }
        match &mut self.0 {
            Inner::Identity(sink) => sink.write_all(piece),
            Inner::Gzip(decoder) => decoder.write_all(piece),
            Inner::Deflate(_) => Ok(()),
            Inner::Zlib(decoder) => decoder.write_all(piece),
            Inner::RawDeflate(decoder) => decoder.write_all(piece),
            Inner::Brotli(decoder) => decoder.write_all(piece),
            Inner::Zstd(decoder) => decoder.write_all(piece),
        }
    }

    /// How many bytes have been unpacked.
    pub(crate) fn unpacked(&self) -> usize {
        let sink = match &self.0 {
            Inner::Identity(sink) => Some(sink),
            Inner::Gzip(decoder) => Some(decoder.get_ref()),
            Inner::Deflate(sink) => sink.as_ref(),
            Inner::Zlib(decoder) => Some(decoder.get_ref()),
            Inner::RawDeflate(decoder) => Some(decoder.get_ref()),
            Inner::Brotli(decoder) => Some(decoder.get_ref()),
            Inner::Zstd(decoder) => Some(decoder.get_ref()),
        };
        sink.map_or(0, |sink| sink.bytes.len())
    }

    /// The unpacked bytes; an error when the stream is not complete.
    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        let sink = match self.0 {
            Inner::Identity(sink) => sink,
            Inner::Gzip(decoder) => decoder.finish()?,
            Inner::Deflate(sink) => return Ok(sink.map(|sink| sink.bytes).unwrap_or_default()),
            Inner::Zlib(decoder) => decoder.finish()?,
            Inner::RawDeflate(decoder) => decoder.finish()?,
            Inner::Brotli(mut decoder) => {
                decoder.close()?;
                decoder.into_inner().unwrap_or_else(|sink| sink)
            }
            Inner::Zstd(mut decoder) => {
                decoder.flush()?;
                decoder.into_inner()
            }
        };
        Ok(sink.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpack(coding: &str, packed: &[u8], piece: usize, cap: u64) -> io::Result<Vec<u8>> {
        let mut decoder = Decoder::new(coding, cap).expect("a known coding");
        for piece in packed.chunks(piece) {
            decoder.push(piece)?;
        }
        decoder.finish()
    }

    fn pack(coding: &str, plain: &[u8]) -> Vec<u8> {
        use flate2::{Compression, write};
        match coding {
            "gzip" => {
                let mut encoder = write::GzEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(plain).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = write::ZlibEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(plain).unwrap();
                encoder.finish().unwrap()
            }
            "raw" => {
                let mut encoder = write::DeflateEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(plain).unwrap();
                encoder.finish().unwrap()
            }
            _ => zstd::encode_all(plain, 3).unwrap(),
        }
    }

    /// "the quick brown fox" twenty times, by the reference brotli encoder.
    const BROTLI: &[u8] = include_bytes!("../tests/data/fox.br");

    #[test]
    fn every_coding_unpacks_whatever_the_pieces() {
        let plain = "the quick brown fox ".repeat(20).into_bytes();
        for piece in [1, 3, 4096] {
            for (coding, packer) in
                [("gzip", "gzip"), ("deflate", "zlib"), ("deflate", "raw"), ("zstd", "zstd")]
            {
                let packed = pack(packer, &plain);
                assert_eq!(unpack(coding, &packed, piece, 1000).unwrap(), plain, "{packer}");
            }
            assert_eq!(unpack("br", BROTLI, piece, 1000).unwrap(), plain);
            assert_eq!(unpack("identity", &plain, piece, 1000).unwrap(), plain);
        }
        assert_eq!(unpack("deflate", b"", 1, 10).unwrap(), b"");
    }

    #[test]
    fn the_cap_holds_in_every_coding() {
        let plain = vec![b'x'; 1 << 20];
        for (coding, packer) in
            [("gzip", "gzip"), ("deflate", "zlib"), ("deflate", "raw"), ("zstd", "zstd")]
        {
            let packed = pack(packer, &plain);
            assert!(packed.len() < 5000, "{packer} packs well");
            let kind = unpack(coding, &packed, 512, (1 << 20) - 1).unwrap_err().kind();
            assert_eq!(kind, ErrorKind::FileTooLarge, "{packer}");
            assert_eq!(unpack(coding, &packed, 512, 1 << 20).unwrap().len(), 1 << 20);
        }
        assert_eq!(unpack("br", BROTLI, 16, 399).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(unpack("br", BROTLI, 16, 400).unwrap().len(), 400);
    }

    #[test]
    fn broken_and_cut_streams_are_errors() {
        let plain = "the quick brown fox ".repeat(200).into_bytes();
        for (coding, packer) in [("gzip", "gzip"), ("deflate", "zlib")] {
            let packed = pack(packer, &plain);
            let cut = &packed[..packed.len() - 3];
            assert!(unpack(coding, cut, 4096, 1 << 20).is_err(), "{packer} cut");
        }
        assert!(unpack("br", &BROTLI[..BROTLI.len() - 4], 4096, 1 << 20).is_err());
        for coding in ["gzip", "br", "zstd"] {
            assert!(unpack(coding, &[0x99; 300], 64, 1 << 20).is_err(), "{coding} garbage");
        }
    }

    #[test]
    fn nested_and_unknown_codings_are_not_guessed() {
        for coding in ["gzip, gzip", "compress", "x-unknown"] {
            assert!(Decoder::new(coding, 10).is_err(), "{coding}");
        }
    }
}
