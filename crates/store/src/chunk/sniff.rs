//! Tells the kind of a text without a name from its first lines.

use super::code::CodeLanguage;
use super::line::{lines, trim};
use super::log;
use super::table::ContentKind;

/// Lines that are looked at.
const LINES: usize = 200;

/// The kind that the head of a text looks like; [`ContentKind::Plain`] when it looks like nothing.
pub(super) fn sniff(head: &str) -> ContentKind {
    let text = head.strip_prefix('\u{feff}').unwrap_or(head);
    let start = text.trim_start().as_bytes();
    by_mark(start)
        .or_else(|| json(start))
        // A page about errors begins with its title, a log does not.
        .or_else(|| start.starts_with(b"#").then(|| markdown(text)).flatten())
        .or_else(|| {
            lines(text)
                .take(LINES)
                .any(|line| log::is_telling(line.text))
                .then_some(ContentKind::Log)
        })
        .or_else(|| markdown(text))
        .or_else(|| table(text))
        .unwrap_or(ContentKind::Plain)
}

/// Texts that say what they are at once.
fn by_mark(start: &[u8]) -> Option<ContentKind> {
    let head = &start[..start.len().min(256)];
    let lower = head.to_ascii_lowercase();
    if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
        return Some(ContentKind::Html);
    }
    if lower.starts_with(b"<?php") {
        return Some(ContentKind::Code(CodeLanguage::Php));
    }
    if lower.starts_with(b"<?xml") {
        let html = memchr::memmem::find(&lower, b"<html").is_some();
        return Some(if html { ContentKind::Html } else { ContentKind::Xml });
    }
    let command = lower.strip_prefix(b"#!")?;
    let line = command.split(|&byte| byte == b'\n').next()?;
    let has = |word: &str| memchr::memmem::find(line, word.as_bytes()).is_some();
    let language = [
        ("python", CodeLanguage::Python),
        ("node", CodeLanguage::JavaScript),
        ("deno", CodeLanguage::TypeScript),
        ("bun", CodeLanguage::TypeScript),
        ("ruby", CodeLanguage::Ruby),
        ("perl", CodeLanguage::Perl),
        ("php", CodeLanguage::Php),
        ("lua", CodeLanguage::Lua),
        ("rscript", CodeLanguage::R),
        ("elixir", CodeLanguage::Elixir),
        ("sh", CodeLanguage::Shell),
    ];
    language.into_iter().find(|(word, _)| has(word)).map(|(_, kind)| ContentKind::Code(kind))
}

/// JSON and NDJSON by the first bytes; `[12:30] text` and `[main] text` are not JSON.
fn json(start: &[u8]) -> Option<ContentKind> {
    let open = *start.first()?;
    let inside = start.get(1..)?.trim_ascii_start();
    let plausible = match (open, inside.first()?) {
        (b'{', b'"' | b'}') | (b'[', b'{' | b'[' | b'"' | b']') => true,
        (b'[', b'0'..=b'9' | b'-') => {
            let number = inside.iter().take_while(|byte| b"0123456789.eE+-".contains(byte)).count();
            inside.get(number..)?.trim_ascii_start().first() == Some(&b',')
        }
        _ => false,
    };
    if !plausible {
        return None;
    }
    let mut rows = start.split(|&byte| byte == b'\n').map(trim).filter(|line| !line.is_empty());
    let whole = |line: &[u8]| line.first() == Some(&b'{') && line.last() == Some(&b'}');
    let first = rows.next().is_some_and(whole);
    let second = rows.next().is_some_and(|line| line.first() == Some(&b'{'));
    Some(if first && second { ContentKind::Ndjson } else { ContentKind::Json })
}

/// Two different signs of Markdown make Markdown: a `#` alone is a comment in many languages, and a
/// sentence beside it is not.
fn markdown(text: &str) -> Option<ContentKind> {
    let (mut heading, mut fence, mut item, mut link) = (false, false, false, false);
    let (mut deeper, mut prose) = (false, false);
    for line in lines(text).take(LINES) {
        match line.text {
            [b'#', b' ', ..] => heading = true,
            [b'#', b'#', ..] => {
                heading = true;
                deeper |= line.text.iter().find(|&&byte| byte != b'#') == Some(&b' ');
            }
            [b'`', b'`', b'`', ..] => fence = true,
            [b'-' | b'*', b' ', ..] | [b'|', ..] => item = true,
            text => prose |= is_sentence(text),
        }
        link |= memchr::memmem::find(line.text, b"](").is_some();
    }
    let signs =
        [heading, fence, item, link, deeper, prose].into_iter().filter(|&sign| sign).count();
    ((heading || fence) && signs >= 2).then_some(ContentKind::Markdown)
}

/// Whether a line reads like a sentence: a capital, some words, an end.
fn is_sentence(line: &[u8]) -> bool {
    let line = trim(line);
    let words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let plain = |word: &[u8]| {
        word.iter().all(|byte| {
            byte.is_ascii_alphabetic() || !byte.is_ascii() || b",.:;!?'-".contains(byte)
        })
    };
    line.first().is_some_and(u8::is_ascii_uppercase)
        && matches!(line.last(), Some(b'.' | b':' | b'?' | b'!'))
        && words.clone().count() >= 3
        && words.filter(|word| plain(word)).count() >= 3
}

/// Tables: at least three lines with the same number of separators.
fn table(text: &str) -> Option<ContentKind> {
    let separators = |separator: u8, least: usize| {
        let mut rows = lines(text).take(8).filter(|line| !line.is_blank());
        let count = |line: &[u8]| memchr::memchr_iter(separator, line).count();
        let first = count(rows.next()?.text);
        // The head of a longer text may end within a line.
        let same = rows.take_while(|line| count(line.text) == first).count();
        (first >= least && same >= 2).then_some(())
    };
    if separators(b'\t', 1).is_some() {
        return Some(ContentKind::Tsv);
    }
    separators(b',', 2).map(|()| ContentKind::Csv)
}
