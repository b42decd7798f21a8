//! Characters: what separates words, what nobody sees, what would read as markup.

/// The words of a text with their positions; an empty word at the end stands for a last blank.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(is_blank).enumerate()
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\t' | '\r' | '\x0c' | '\u{a0}' | '\u{2028}' | '\u{2029}')
}

/// Soft hyphens, zero-width characters and controls hide words from a search.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}') || c.is_control()
}

pub(super) fn looks_like_markup(word: &str, text: &str) -> bool {
    let hashes = word.bytes().take_while(|byte| *byte == b'#').count();
    word.starts_with("```")
        || word.starts_with("~~~")
        || (1..=6).contains(&hashes) && hashes == word.len() && text.len() > word.len()
}

/// The longest run of one character.
pub(super) fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
