//! Tests of the view: what is taken out, what is left alone, what is decoded.

use proptest::prelude::*;

use super::{Returns, Viewer, clean, view};
use crate::document::View;

fn cleaned(text: &str) -> String {
    clean(text.as_bytes()).0.into_owned()
}

#[test]
fn every_escape_family_goes() {
    for (input, output) in [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;id=1;https://e.x\x1b\\text\x1b]8;;\x1b\\", "text"),
        ("\x1b]0;title\x07after", "after"),
        ("a\x1b[Ab", "ab"),
        ("a\x1b[2Kb", "ab"),
        ("a\x1b[?25lb", "ab"),
        ("a\x1b(Bb", "ab"),
        ("a\x1b7b\x1b8c", "abc"),
        ("a\x1bPq#0;2;0;0;0\x1b\\b", "ab"),
        ("a\x1b_application\x1b\\b\x1b^private\x1b\\c\x1bXstart\x1b\\d", "abcd"),
        ("a\u{9b}31mb\u{9d}0;title\u{9c}c", "abc"),
        ("cut off \x1b[3", "cut off "),
        ("cut off \x1b]0;ti", "cut off "),
        ("cut off \x1b", "cut off "),
        ("\x1b[38;2;1;2;3mtrue colour\x1b[m", "true colour"),
        ("\x1b[1\x18shown", "shown"),
        ("\x1b\x1b[1mbold", "bold"),
        ("bell\x07 shift\x0e\x0f delete\x7f", "bell shift delete"),
    ] {
        assert_eq!(cleaned(input), output, "{input:?}");
    }
}

#[test]
fn what_only_looks_like_an_escape_is_left_alone() {
    for text in ["[31m not an escape", "array[0m]", "^[[0m", "\\x1b[0m", "a ] b \\ c", "é © ° 日本"]
    {
        assert_eq!(clean(text.as_bytes()), (text.into(), View::default()));
    }
}

#[test]
fn a_title_that_never_ends_hides_its_line_only() {
    assert_eq!(cleaned("a\x1b]0;never ended\nnext\n"), "a\nnext\n");
}

#[test]
fn eight_bit_escapes_go_without_being_a_charset() {
    let (text, view) = clean(b"plain \x9b31mred\x9b0m end\n");
    assert_eq!((&*text, view.encoding, view.replaced), ("plain red end\n", None, false));
}

#[test]
fn redraws_are_reduced_to_their_last_state() {
    for (input, output) in [
        ("10%\r20%\r100%\n", "100%\n"),
        ("10%\r20%\r", "20%"),
        ("long line\rab\n", "ab\n"),
        ("kept\r\nand kept\r\n", "kept\r\nand kept\r\n"),
        ("kept\r\r\n", "kept\r\n"),
        ("gone\r\x1b[Know\n", "now\n"),
        ("gone\r\x1b[K\n", "\n"),
        ("gone\x1b[2K\x1b[1Gnow\n", "now\n"),
        ("first\nsecond\rthird\n", "first\nthird\n"),
        ("a\u{8}A", "A"),
        ("N\u{8}NA\u{8}A", "NA"),
        ("_\u{8}x_\u{8}y", "xy"),
        ("|\u{8}/\u{8}-\u{8}\\\n", "\\\n"),
        ("abc\u{8}\u{8}X\n", "aXc\n"),
        ("\u{8}\u{8}start", "start"),
        ("line\n\u{8}\u{8}next", "line\nnext"),
        ("a\x1b[3Cb", "a   b"),
        ("12345\x1b[2D67\n", "12367\n"),
    ] {
        assert_eq!(cleaned(input), output, "{input:?}");
    }
}

#[test]
fn a_line_end_cut_in_two_keeps_what_was_written_on_an_erased_line() {
    let text = b"gone\x1b[2Kkept\r\nand\n";
    let whole = cleaned(std::str::from_utf8(text).unwrap());
    for size in 1..=text.len() {
        let mut viewer = Viewer::new(text, Returns::Redraw);
        let mut output = String::new();
        text.chunks(size).for_each(|piece| viewer.push(piece, &mut output));
        viewer.finish(&mut output);
        assert_eq!(output, whole, "pieces of {size}");
    }
    assert!(whole.ends_with("kept\r\nand\n"), "{whole:?}");
}

#[test]
fn a_file_keeps_its_carriage_returns() {
    let text = b"old\rmac\rlines\r\n\x0cpage\n";
    assert_eq!(
        view(text, Returns::Keep),
        (std::str::from_utf8(text).unwrap().into(), View::default())
    );
}

#[test]
fn control_characters_other_than_line_feed_and_tab_are_gone() {
    let every: Vec<u8> = (0..=255).chain(0..=127).collect();
    let (text, _) = clean(&every);
    let left: Vec<char> =
        text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\t')).collect();
    assert_eq!(left, []);
}

#[test]
fn a_nul_shows_as_replaced() {
    let (text, view) = clean(b"a\0b\n");
    assert_eq!(
        (&*text, view.replaced, view.differs, view.binary),
        ("a\u{fffd}b\n", true, true, false)
    );
}

fn decoded(bytes: &[u8]) -> (String, View) {
    let (text, view) = view(bytes, Returns::Keep);
    (text.into_owned(), view)
}

#[test]
fn encodings_are_recognised() {
    let text = "Die Größe der Änderung überrascht, naïve café.\n";
    let utf16 = |swap: bool| -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    };
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    let (japanese, ..) = encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。検索できます。\n");
    for (bytes, encoding, expected) in [
        ([b"\xef\xbb\xbf", text.as_bytes()].concat(), None, text),
        ([b"\xff\xfe".to_vec(), utf16(false)].concat(), Some("UTF-16LE"), text),
        ([b"\xfe\xff".to_vec(), utf16(true)].concat(), Some("UTF-16BE"), text),
        (utf16(false), Some("UTF-16LE"), text),
        (utf16(true), Some("UTF-16BE"), text),
        (latin, Some("windows-1252"), text),
        (japanese.into_owned(), Some("Shift_JIS"), "これは日本語の文章です。検索できます。\n"),
    ] {
        let (text, view) = decoded(&bytes);
        assert_eq!((text.as_str(), view.encoding), (expected, encoding));
        assert!(view.differs && !view.replaced && !view.binary, "{view:?}");
    }
}

#[test]
fn damage_is_replaced_and_said() {
    let (text, view) = clean(b"ok \xff\xfe\x80 end\n");
    assert!(text.starts_with("ok ") && text.ends_with(" end\n"), "{text}");
    assert!(view.replaced && view.differs && !view.binary);
    let mut mostly = "ünïcödé ".repeat(10).into_bytes();
    mostly.push(0xff);
    let (text, view) = clean(&mostly);
    assert_eq!((text.chars().last(), view.encoding, view.replaced), (Some('\u{fffd}'), None, true));
}

/// What most lines say decides: a few lines of another encoding, or of none, are damage in UTF-8.
#[test]
fn one_line_does_not_decide_for_all() {
    let line = "fn main() { println!(\"done — 完成 ✗\"); }\n".repeat(3);
    let noise: Vec<u8> = (0x80..=0xff).chain(b'A'..=b'Z').collect();
    let with_controls = [b"\x01\x02 PNG \x9a\x03", &noise[..]].concat();
    let latin = b"+Gr\xf6\xdfe\n+\xfcber\n".as_slice();
    let ascii = b"compiling one, two and three\n".repeat(9);
    let cut = [&line.as_bytes()[line.find('成').unwrap() + 1..], "— half 完".as_bytes()].concat();
    for (bytes, kept) in [
        ([line.as_bytes(), &noise, b"\n", line.as_bytes()].concat(), "— 完成 ✗"),
        ([latin, line.as_bytes()].concat(), "— 完成 ✗"),
        ([&ascii[..], &with_controls, b"\n", "late — word\n".as_bytes()].concat(), "late — word"),
        ([&ascii[..], &with_controls, b"\n"].concat(), "two and three"),
        (cut[..cut.len() - 1].to_vec(), "— 完成 ✗"),
    ] {
        let (text, view) = decoded(&bytes);
        assert!(text.contains(kept) && text.contains('\u{fffd}'), "{text}");
        assert_eq!((view.encoding, view.replaced, view.binary), (None, true, false), "{text}");
    }
}

/// Pairs of bytes of another encoding now and then look like UTF-8: not whole lines of them.
#[test]
fn short_lines_of_other_encodings_are_recognised() {
    for (encoding, name, text) in [
        (encoding_rs::GBK, "GBK", "名称\n联通\n价格: 是\n数据处理失败\n请重试\n"),
        (encoding_rs::EUC_KR, "EUC-KR", "이름\n가격\n데이터 처리 실패\n다시 시도\n"),
        (encoding_rs::SHIFT_JIS, "Shift_JIS", "名前\n価格\nデータ処理に失敗\nもう一度\n"),
        (encoding_rs::BIG5, "Big5", "名稱\n價格\n資料處理失敗\n請再試一次\n"),
        (encoding_rs::WINDOWS_1251, "windows-1251", "имя\nЦена\nОшибка данных\nповторите\n"),
        (encoding_rs::WINDOWS_874, "windows-874", "รถ\nราคา\nข้อมูลผิดพลาด\nลองอีกครั้ง\n"),
        (encoding_rs::WINDOWS_1252, "windows-1252", "plain\ncafé\nnaïve\nÃ© was é\nfaçade\n"),
    ] {
        let (read, view) = decoded(&encoding.encode(text).0);
        assert_eq!((&*read, view.encoding, view.replaced), (text, Some(name), false));
    }
}

#[test]
fn what_is_not_text_is_recognised() {
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(3_000)
    .collect();
    let mixed = [b"ok \xff\xfe\x80 end\na\0b\n".to_vec(), noise.clone()].concat();
    let elf = [b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0".to_vec(), vec![0; 100]]
        .concat();
    for bytes in [&noise, &mixed, &elf] {
        let (text, view) = clean(bytes);
        assert!(view.binary && view.differs, "{view:?}");
        assert!(!text.contains("\u{fffd}\u{fffd}"), "{text}");
    }
    for bytes in [&b"a\0b\0c\0"[..], b"one two three \x1b[0m\n", b"\x0c\n"] {
        assert!(!clean(bytes).1.binary, "{bytes:?}");
    }
}

/// Bytes full of what the machine treats specially.
fn awkward() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[a-z\n]{0,9}".prop_map(String::into_bytes),
        "\\PC{0,4}".prop_map(String::into_bytes),
        "\u{1b}[\\[\\]P(][0-9;]{0,3}[a-zA-Z]?".prop_map(String::into_bytes),
        prop::sample::select(vec![
            &b"\r"[..],
            b"\n",
            b"\r\n",
            b"\x08",
            b"\x1b\\",
            b"\x07",
            b"\xc2\x9b"
        ])
        .prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Where buffers end makes no difference.
    #[test]
    fn borders_do_not_matter(bytes in awkward(), cuts in prop::collection::vec(0_usize..400, 0..8)) {
        let (whole, whole_view) = clean(&bytes);
        let mut viewer = Viewer::new(&bytes, Returns::Redraw);
        let (mut output, mut start) = (String::new(), 0);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        for cut in cuts.into_iter().chain([bytes.len()]) {
            viewer.push(&bytes[start..cut], &mut output);
            start = cut;
        }
        viewer.finish(&mut output);
        prop_assert_eq!(&output, &whole);
        prop_assert_eq!(viewer.view(), whole_view);
    }

    #[test]
    fn what_does_not_differ_is_the_bytes_themselves(bytes in awkward()) {
        let (text, view) = clean(&bytes);
        prop_assert_eq!(text.as_bytes() == &bytes[..], !view.differs);
    }
}
