//! CSV and TSV by record: a quoted field keeps its line feeds, the title repeats the header.

use super::cut::{Cutter, Rank};
use super::{Context, Titled, title};

/// Bytes that a quoted field may span before the quote is taken as an ordinary character.
const LONGEST_FIELD: usize = 16_384;

/// Bytes of the first line that are kept as the header.
const HEADER_BYTES: usize = 1_024;

/// Cuts between records. Without a `separator` the header tells it.
pub(super) fn cut(separator: Option<u8>, text: &str, context: &mut Context) -> Vec<Titled> {
    let bytes = text.as_bytes();
    let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let first = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()).min(HEADER_BYTES);
    let first =
        (mark..=first.max(mark)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(mark);
    let own_header = context.header.is_none();
    let header = context
        .header
        .get_or_insert_with(|| text.get(mark..first).unwrap_or_default().trim().to_owned())
        .clone();
    let separator = separator.unwrap_or_else(|| guess(header.as_bytes()));
    let mut cutter = Cutter::new(text, 0);
    // Starts of records, the header included when it is ours.
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        cutter.border(at, Rank::Line);
        starts.push(at);
        let from = if at == 0 { mark } else { at };
        at = record_end(bytes, from, separator);
    }
    let columns = columns(&header, separator);
    let before = context.records;
    let skip = usize::from(own_header && !starts.is_empty());
    context.records += (starts.len() - skip) as u64;
    let mut next = 0;
    let titled = |range: std::ops::Range<usize>| {
        // A record longer than a chunk goes on in the next one under its own number.
        let from =
            if starts.get(next) == Some(&range.start) { next } else { next.saturating_sub(1) };
        while starts.get(next).is_some_and(|&start| start < range.end) {
            next += 1;
        }
        let number = |index: usize| before + (index + 1).saturating_sub(skip).max(1) as u64;
        let (low, high) = (number(from), number(next - 1));
        let rows = match (low == high, next == skip) {
            (_, true) => String::new(),
            (true, _) => format!("row {low}"),
            (false, _) => format!("rows {low}-{high}"),
        };
        let title = title::pair(&title::clean(&columns, 130), ": ", &rows);
        (range, title)
    };
    cutter.finish().into_iter().map(titled).collect()
}

/// Where the record that starts at `start` ends, after its line feed.
fn record_end(bytes: &[u8], start: usize, separator: u8) -> usize {
    let mut at = start;
    loop {
        let rest = &bytes[at..];
        // Most lines hold no quote: one search for the line feed, one for a quote before it.
        let feed = memchr::memchr(b'\n', rest);
        let line = &rest[..feed.unwrap_or(rest.len())];
        let Some(quote) = opening_quote(line, at == start, separator) else {
            return feed.map_or(bytes.len(), |feed| at + feed + 1);
        };
        let inside = at + quote + 1;
        match closing_quote(bytes, inside) {
            Some(close) => at = close + 1,
            None => return feed.map_or(bytes.len(), |feed| at + feed + 1),
        }
        if at >= bytes.len() {
            return bytes.len();
        }
    }
}

/// A quote at the start of a field; others are ordinary characters.
fn opening_quote(line: &[u8], at_start: bool, separator: u8) -> Option<usize> {
    memchr::memchr_iter(b'"', line).find(|&at| match at.checked_sub(1) {
        None => at_start,
        Some(before) => line[before] == separator,
    })
}

/// The quote that ends a field; doubled quotes stand for themselves.
fn closing_quote(bytes: &[u8], start: usize) -> Option<usize> {
    let end = bytes.len().min(start + LONGEST_FIELD);
    let mut at = start;
    while let Some(found) = memchr::memchr(b'"', &bytes[at..end]) {
        at += found;
        if bytes.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at = (at + 2).min(end);
    }
    None
}

/// The separator that the header holds most of.
fn guess(header: &[u8]) -> u8 {
    let count = |separator: u8| memchr::memchr_iter(separator, header).count();
    let candidates = [b'|', b'\t', b';', b','];
    candidates.into_iter().max_by_key(|&separator| count(separator)).unwrap_or(b',')
}

/// The header for a title.
fn columns(header: &str, separator: u8) -> String {
    let names = header.split(char::from(separator));
    let names: Vec<&str> = names.map(|name| name.trim().trim_matches('"')).collect();
    title::join(names, ", ")
}
