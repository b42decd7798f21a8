//! Titles: one line of at most 160 characters without control characters.

use std::borrow::Cow;

/// Characters of the longest title.
pub(super) const TITLE_CHARS: usize = 160;
/// Characters of a line that is quoted in a title.
pub(super) const LINE_CHARS: usize = 100;

/// One clean line: runs of white space and control characters become one blank, cut at `limit` characters.
pub(super) fn clean(text: &str, limit: usize) -> String {
    if text.len() <= limit && is_clean(text.as_bytes()) {
        return text.to_owned();
    }
    let mut title = String::with_capacity(text.len().min(limit * 2));
    let (mut count, mut gap) = (0, false);
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            gap = count > 0;
            continue;
        }
        if count + usize::from(gap) >= limit {
            break;
        }
        if gap {
            title.push(' ');
            count += 1;
            gap = false;
        }
        title.push(character);
        count += 1;
    }
    title
}

/// Whether a text is printable ASCII with single blanks between words: nothing to clean.
fn is_clean(text: &[u8]) -> bool {
    let mut blank = true;
    for &byte in text {
        let space = byte == b' ';
        if !(byte.is_ascii_graphic() || (space && !blank)) {
            return false;
        }
        blank = space;
    }
    !blank || text.is_empty()
}

/// [`clean`] for bytes of a text; what is not UTF-8 (a cut in a character) is replaced.
pub(super) fn clean_bytes(bytes: &[u8], limit: usize) -> String {
    // Four bytes a character at most: no need to look at the rest of an endless line, unless it
    // begins with white space.
    let bytes = bytes.trim_ascii_start();
    let head = &bytes[..bytes.len().min(limit * 4 + 64)];
    let text: Cow<'_, str> = match std::str::from_utf8(head) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(head),
    };
    clean(&text, limit)
}

/// The first line of `text` that is not blank, as a title.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    clean(line, LINE_CHARS)
}

/// Joins `names` with `separator`, each name once, as long as all fits a title.
pub(super) fn join<'a>(names: impl IntoIterator<Item = &'a str>, separator: &str) -> String {
    let mut title = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if name.is_empty() || seen.contains(&name) {
            continue;
        }
        // Bytes as a lower bound keep this cheap; the caller's `clean` has the last word.
        if !title.is_empty() {
            if title.len() + separator.len() + name.len() > TITLE_CHARS {
                break;
            }
            title.push_str(separator);
        }
        seen.push(name);
        title.push_str(name);
    }
    title
}

/// `prefix`, `separator` and `rest`, without the separator where one of them is empty.
pub(super) fn pair(prefix: &str, separator: &str, rest: &str) -> String {
    let mut title = String::with_capacity(prefix.len() + separator.len() + rest.len());
    title.push_str(prefix);
    if !prefix.is_empty() && !rest.is_empty() {
        title.push_str(separator);
    }
    title.push_str(rest);
    title
}
