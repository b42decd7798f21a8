//! Bytes to text: which charset, and whether it was declared or guessed.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How far into a page a `<meta>` or an XML declaration is looked for; the standard says 1,024.
const PRESCAN_BYTES: usize = 4096;

/// How much the detector sees. A charset shows itself early.
const DETECT_BYTES: usize = 1 << 20;

/// A body as text.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) charset: &'static str,
    pub(crate) guessed: bool,
    /// What the reader should know.
    pub(crate) note: Option<String>,
}

/// Where a declaration inside the body may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    /// `<meta charset>` or an XML declaration.
    Html,
    /// An XML declaration.
    Xml,
    /// Nowhere, and the format is defined as UTF-8.
    Utf8,
    /// Nowhere.
    Nothing,
}

/// Decodes a body. In this order: byte order mark, `charset` of the header, declaration inside,
/// UTF-8 when it is that without a fault, detection. `top_level_domain` tips the detection.
pub(crate) fn decode(
    bytes: Vec<u8>,
    header: Option<&str>,
    inside: Inside,
    top_level_domain: Option<&str>,
) -> Decoded {
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        return with(encoding, bytes, mark, false, None);
    }
    let declared = header
        .and_then(|label| Encoding::for_label_no_replacement(label.as_bytes()))
        .or_else(|| declared_inside(&bytes, inside))
        .or((inside == Inside::Utf8).then_some(UTF_8));
    let Some(declared) = declared else {
        let encoding = guess(&bytes, top_level_domain);
        let ascii = encoding == UTF_8 && bytes.is_ascii();
        return with(encoding, bytes, 0, !ascii, None);
    };
    // Pages that say UTF-8 and are not: a byte or two is damage, more is another charset.
    if declared == UTF_8 && mostly_not_utf8(&bytes) {
        let encoding = guess(&bytes, top_level_domain);
        let note = format!("declared UTF-8, read as {}", encoding.name());
        return with(encoding, bytes, 0, true, Some(note));
    }
    with(declared, bytes, 0, false, None)
}

fn with(
    encoding: &'static Encoding,
    bytes: Vec<u8>,
    skip: usize,
    guessed: bool,
    note: Option<String>,
) -> Decoded {
    let charset = encoding.name();
    // Valid UTF-8, the common case, is moved and not copied.
    let (text, faulty) = if encoding == UTF_8 && skip == 0 {
        match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        }
    } else {
        let rest = bytes.get(skip..).unwrap_or_default();
        let (text, faulty) = encoding.decode_without_bom_handling(rest);
        (text.into_owned(), faulty)
    };
    let faults = || format!("bytes that are not {charset} were replaced by U+FFFD");
    let note = note.or_else(|| faulty.then(faults));
    Decoded { text, charset, guessed, note }
}

fn guess(bytes: &[u8], top_level_domain: Option<&str>) -> &'static Encoding {
    // Before UTF-8: a zero is valid there too.
    if let Some(encoding) = utf16_by_zeros(bytes) {
        return encoding;
    }
    if std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let head = bytes.get(..DETECT_BYTES).unwrap_or(bytes);
    detector.feed(head, head.len() == bytes.len());
    let domain = top_level_domain
        .map(str::to_ascii_lowercase)
        .filter(|domain| domain.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
    let guess = detector.guess(domain.as_deref().map(str::as_bytes), Utf8Detection::Deny);
    if guess == UTF_8 { WINDOWS_1252 } else { guess }
}

/// UTF-16 without a mark: text in Latin script has a zero in every other byte.
pub(crate) fn utf16_by_zeros(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..1024).unwrap_or(bytes);
    let pairs = head.len() / 2;
    if pairs < 4 {
        return None;
    }
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    if odd * 10 > pairs * 7 && even * 50 < pairs {
        Some(UTF_16LE)
    } else if even * 10 > pairs * 7 && odd * 50 < pairs {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// More than one fault in 500 bytes, and more than two.
fn mostly_not_utf8(bytes: &[u8]) -> bool {
    let head = bytes.get(..DETECT_BYTES).unwrap_or(bytes);
    let faults = head.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    faults > 2 && faults * 500 > head.len()
}

fn declared_inside(bytes: &[u8], inside: Inside) -> Option<&'static Encoding> {
    let head = bytes.get(..PRESCAN_BYTES).unwrap_or(bytes);
    let encoding = match inside {
        Inside::Html => xml_declaration(head).or_else(|| meta(head)),
        Inside::Xml => xml_declaration(head),
        Inside::Utf8 | Inside::Nothing => None,
    }?;
    // The declaration was read as ASCII, so the page cannot be what it says.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

fn xml_declaration(head: &[u8]) -> Option<&'static Encoding> {
    let rest = head.trim_ascii_start().strip_prefix(b"<?xml")?;
    let end = rest.iter().position(|byte| *byte == b'>')?;
    attribute(rest.get(..end)?, b"encoding")
}

/// `<meta charset=x>` and `<meta http-equiv=Content-Type content="text/html; charset=x">`: in
/// both, what follows the first `charset=` within the tag. Comments are skipped.
fn meta(head: &[u8]) -> Option<&'static Encoding> {
    let mut rest = head;
    loop {
        let start = rest.iter().position(|byte| *byte == b'<')?;
        rest = rest.get(start + 1..)?;
        if let Some(comment) = rest.strip_prefix(b"!--") {
            let end = comment.windows(3).position(|three| three == b"-->")?;
            rest = comment.get(end + 3..)?;
        } else if rest.len() > 5 && rest.get(..4)?.eq_ignore_ascii_case(b"meta") {
            let end = rest.iter().position(|byte| *byte == b'>')?;
            let tag = rest.get(4..end)?;
            if tag.first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'/')
                && let Some(encoding) = attribute(tag, b"charset")
            {
                return Some(encoding);
            }
            rest = rest.get(end + 1..)?;
        }
    }
}

/// The charset in `name = "label"`, quotes optional.
fn attribute(tag: &[u8], name: &[u8]) -> Option<&'static Encoding> {
    let at = tag.windows(name.len()).position(|window| window.eq_ignore_ascii_case(name))?;
    let value = tag.get(at + name.len()..)?.trim_ascii_start().strip_prefix(b"=")?;
    let value = value.trim_ascii_start();
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let end = value
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\'' | b';' | b'/') || byte.is_ascii_whitespace())
        .unwrap_or(value.len());
    Encoding::for_label_no_replacement(value.get(..end)?)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{GBK, SHIFT_JIS, WINDOWS_1251};

    use super::*;

    fn page(bytes: &[u8], header: Option<&str>, inside: Inside) -> (String, &'static str, bool) {
        let decoded = decode(bytes.to_vec(), header, inside, None);
        (decoded.text, decoded.charset, decoded.guessed)
    }

    const RUSSIAN: &str = "Привет, мир! Это проверка старой кодировки для обычной страницы.";

    #[test]
    fn a_mark_beats_the_header_and_the_header_beats_the_meta() {
        let html = Inside::Html;
        let marked = "\u{feff}Привет".as_bytes();
        assert_eq!(page(marked, Some("windows-1251"), html), ("Привет".into(), "UTF-8", false));
        let russian = WINDOWS_1251.encode(RUSSIAN).0;
        assert_eq!(page(&russian, Some("cp1251"), html), (RUSSIAN.into(), "windows-1251", false));
        let lying = format!("<meta charset=\"Shift_JIS\">{RUSSIAN}");
        let bytes = WINDOWS_1251.encode(&lying).0;
        assert_eq!(page(&bytes, Some("windows-1251"), html).0, lying);
        for utf16 in [&b"\xff\xfeh\0i\0"[..], &b"\xfe\xff\0h\0i"[..]] {
            let (text, charset, guessed) = page(utf16, None, Inside::Nothing);
            assert_eq!((text.as_str(), guessed), ("hi", false));
            assert!(charset.starts_with("UTF-16"));
        }
    }

    #[test]
    fn declarations_inside_are_found_where_they_may_stand() {
        let table: [(&str, &'static Encoding); 7] = [
            ("<meta charset=windows-1251>", WINDOWS_1251),
            ("<html><head><META CHARSET = 'Shift_JIS' />", SHIFT_JIS),
            ("<meta http-equiv=Content-Type content=\"text/html; charset=gbk\">", GBK),
            ("<?xml version=\"1.0\" encoding=\"windows-1251\"?>", WINDOWS_1251),
            ("<!-- <meta charset=gbk> --><meta charset=windows-1251>", WINDOWS_1251),
            ("<meta name=x content=y><meta charset=gbk>", GBK),
            ("<meta charset=utf-16le>", UTF_8),
        ];
        for (head, expected) in table {
            assert_eq!(declared_inside(head.as_bytes(), Inside::Html), Some(expected), "{head}");
        }
        for head in ["<metadata charset=gbk>", "<p charset=gbk>", "<meta charset=klingon>", "<met"]
        {
            assert_eq!(declared_inside(head.as_bytes(), Inside::Html), None, "{head}");
        }
        let meta = b"<meta charset=gbk>";
        assert_eq!(declared_inside(meta, Inside::Nothing), None);
    }

    #[test]
    fn undeclared_text_is_detected_and_said_to_be() {
        let japanese = "これは文字コードを宣言しない日本語のページです。検出が必要になります。";
        let chinese = "这是一个没有声明编码的中文网页，需要通过内容来检测编码。";
        let french = "Une page déclarée nulle part, où l'été s'achève près de la forêt.";
        for (text, encoding) in
            [(RUSSIAN, WINDOWS_1251), (japanese, SHIFT_JIS), (chinese, GBK), (french, WINDOWS_1252)]
        {
            let bytes = encoding.encode(text).0;
            let decoded = page(&bytes, None, Inside::Html);
            assert_eq!(decoded, (text.to_owned(), encoding.name(), true));
        }
        assert_eq!(page(RUSSIAN.as_bytes(), None, Inside::Html), (RUSSIAN.into(), "UTF-8", true));
        assert_eq!(page(b"plain", None, Inside::Html), ("plain".into(), "UTF-8", false));
        assert_eq!(page(b"{}", None, Inside::Utf8), ("{}".into(), "UTF-8", false));
        let utf16: Vec<u8> = "plain text".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(page(&utf16, None, Inside::Nothing), ("plain text".into(), "UTF-16LE", true));
    }

    #[test]
    fn a_false_utf8_declaration_is_noticed_and_a_damaged_byte_is_not_one() {
        let russian = WINDOWS_1251.encode(RUSSIAN).0.into_owned();
        let decoded = decode(russian, Some("utf-8"), Inside::Html, Some("ru"));
        assert_eq!((decoded.text.as_str(), decoded.guessed), (RUSSIAN, true));
        assert_eq!(decoded.note.as_deref(), Some("declared UTF-8, read as windows-1251"));
        let mut damaged = RUSSIAN.repeat(40).into_bytes();
        damaged[0] = 0xff;
        let decoded = decode(damaged, Some("utf-8"), Inside::Html, None);
        assert_eq!((decoded.charset, decoded.guessed), ("UTF-8", false));
        assert!(decoded.text.starts_with('\u{fffd}'));
        assert!(decoded.note.is_some_and(|note| note.contains("replaced")));
    }
}
