//! Charsets and compression, from the wire to the text.

use std::io::Write as _;

use quietcontext_fetch::Page;

use super::server::{ok, page_of, response};

const RUSSIAN: &str = "Привет, мир проверка";

/// windows-1251 by hand: А to я are 0xC0 to 0xFF.
fn windows_1251(text: &str) -> Vec<u8> {
    text.chars()
        .map(|c| match c {
            'А'..='я' => (u32::from(c) - 0x410 + 0xc0) as u8,
            c => u8::try_from(u32::from(c)).expect("ASCII"),
        })
        .collect()
}

fn said(page: &Page) -> (&str, bool) {
    (page.charset.as_str(), page.charset_guessed)
}

#[tokio::test]
async fn an_old_page_is_readable_however_it_says_its_charset() {
    let bare = windows_1251(&format!("<html><body><p>{RUSSIAN}</p></body></html>"));
    let page = page_of(ok("text/html", &bare)).await.unwrap();
    assert!(page.text.contains("проверка") && !page.text.contains('\u{fffd}'), "{}", page.text);
    assert_eq!(said(&page), ("windows-1251", true));

    let meta = windows_1251(&format!("<meta charset=windows-1251><p>{RUSSIAN}</p>"));
    let page = page_of(ok("text/html", &meta)).await.unwrap();
    assert!(page.text.contains("проверка"));
    assert_eq!(said(&page), ("windows-1251", false));

    let page = page_of(ok("text/html; charset=\"windows-1251\"", &bare)).await.unwrap();
    assert!(page.text.contains("проверка"));
    assert_eq!(said(&page), ("windows-1251", false));

    let marked = [b"\xef\xbb\xbf", RUSSIAN.as_bytes()].concat();
    let page = page_of(ok("text/plain; charset=koi8-r", &marked)).await.unwrap();
    assert_eq!((page.text.as_str(), said(&page)), (RUSSIAN, ("UTF-8", false)));
}

#[tokio::test]
async fn east_asian_and_wide_charsets_are_read() {
    // Shift_JIS and GBK for the same two characters, 日本.
    let page = page_of(ok("text/plain; charset=Shift_JIS", b"\x93\xfa\x96\x7b")).await.unwrap();
    assert_eq!((page.text.as_str(), said(&page)), ("日本", ("Shift_JIS", false)));
    let page = page_of(ok("text/plain; charset=gb2312", b"\xc8\xd5\xb1\xbe")).await.unwrap();
    assert_eq!((page.text.as_str(), said(&page)), ("日本", ("GBK", false)));
    let page = page_of(ok("text/plain; charset=iso-8859-1", b"caf\xe9 \x80")).await.unwrap();
    assert_eq!((page.text.as_str(), said(&page)), ("café €", ("windows-1252", false)));
    for (charset, little) in [("utf-16", true), ("utf-16le", true), ("utf-16be", false)] {
        let bytes: Vec<u8> = RUSSIAN
            .encode_utf16()
            .flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() })
            .collect();
        let page = page_of(ok(&format!("text/plain; charset={charset}"), bytes)).await.unwrap();
        assert_eq!(page.text, RUSSIAN, "{charset}");
    }
    let html: Vec<u8> =
        format!("\u{feff}<h1>{RUSSIAN}</h1>").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let page = page_of(ok("text/html", html)).await.unwrap();
    assert_eq!((page.text, page.charset), (format!("# {RUSSIAN}"), "UTF-16LE".to_owned()));
}

#[tokio::test]
async fn every_content_coding_arrives_as_text() {
    let plain = format!("{RUSSIAN}. ").repeat(100);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(plain.as_bytes()).unwrap();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(plain.as_bytes()).unwrap();
    let brotli: &[u8] = include_bytes!("../data/fox.br");
    for (coding, packed, expected) in [
        ("gzip", gzip.finish().unwrap(), plain.clone()),
        ("deflate", zlib.finish().unwrap(), plain.clone()),
        ("zstd", zstd::encode_all(plain.as_bytes(), 1).unwrap(), plain.clone()),
        ("br", brotli.to_vec(), "the quick brown fox ".repeat(20)),
    ] {
        let wire = packed.len() as u64;
        let head = format!("200 OK\nContent-Type: text/plain\nContent-Encoding: {coding}");
        let page = page_of(response(&head, packed)).await.unwrap();
        assert_eq!(page.text, expected, "{coding}");
        assert_eq!((page.wire_bytes, page.body_bytes), (wire, expected.len() as u64), "{coding}");
    }
}
