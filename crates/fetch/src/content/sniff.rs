//! What the bytes show: binary formats, and declarations that cannot be true.

use crate::{PageKind, decode};

/// How much of a body is looked at to tell what it is.
const SNIFF_BYTES: usize = 8 << 10;

/// First bytes of formats that are not text.
const MAGIC: &[(&[u8], &str)] = &[
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM\x00\x00", "image/bmp"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x7fELF", "application/x-elf"),
    (b"\x00asm", "application/wasm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
];

/// What the body is if it is not text.
pub(super) fn binary(body: &[u8], charset: Option<&str>) -> Option<&'static str> {
    if let Some((_, found)) = MAGIC.iter().find(|(magic, _)| body.starts_with(magic)) {
        return Some(found);
    }
    let box_type = body.get(4..8);
    if box_type == Some(b"ftyp") {
        return Some("video/mp4");
    }
    if body.starts_with(b"RIFF") && matches!(body.get(8..12), Some(b"WEBP" | b"WAVE" | b"AVI ")) {
        return Some("a RIFF container (image, sound or video)");
    }
    let wide = charset.is_some_and(|label| label.to_ascii_lowercase().starts_with("utf-16"))
        || encoding_rs::Encoding::for_bom(body).is_some()
        || decode::utf16_by_zeros(body).is_some();
    if wide {
        return None;
    }
    let head = body.get(..SNIFF_BYTES).unwrap_or(body);
    // Escape is part of some charsets and of terminal output; the other controls are not text.
    let controls = head
        .iter()
        .filter(|byte| matches!(byte, 0x01..=0x07 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f))
        .count();
    (head.contains(&0) || controls * 20 > head.len()).then_some("binary data")
}

/// The kind that the bytes show when the declaration cannot be true.
pub(super) fn belied(
    kind: PageKind,
    declared: bool,
    extension: Option<&str>,
    body: &[u8],
) -> Option<PageKind> {
    let head = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let starts = |prefix: &[u8]| {
        head.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let html = starts(b"<!doctype html") || starts(b"<html") || starts(b"<head>");
    match kind {
        // A source file keeps its own form: `x.txt` that shows HTML is about HTML.
        PageKind::Text if html && !matches!(extension, Some("txt" | "tpl" | "tmpl" | "erb")) => {
            Some(PageKind::Html)
        }
        PageKind::Text if !declared && starts(b"<?xml") => Some(PageKind::Xml),
        PageKind::Json | PageKind::Csv if html => Some(PageKind::Html),
        PageKind::Html => {
            let end = body.trim_ascii_end().last();
            let json =
                matches!((head.first(), end), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')));
            (json && !head.contains(&b'<')).then_some(PageKind::Json)
        }
        _ => None,
    }
}
