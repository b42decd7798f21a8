//! Looking for words in program text.

/// Whether `name` occurs in the text as a whole word, quoted or not.
/// A sigil before it (`$name`) is not a part of it.
pub(super) fn has_word(text: &str, name: &str) -> bool {
    let part = |byte: u8| byte != b'$' && is_word(byte);
    text.match_indices(name).any(|(at, _)| {
        let bytes = text.as_bytes();
        !at.checked_sub(1).is_some_and(|before| part(bytes[before]))
            && !bytes.get(at + name.len()).is_some_and(|&after| part(after))
    })
}

/// Where `word` occurs as a whole word.
pub(super) fn words_at<'a>(text: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let n_starts = (text.len() + 1).saturating_sub(word.len());
    (0..n_starts).filter(move |&at| {
        text[at..].starts_with(word)
            && !at.checked_sub(1).is_some_and(|before| is_word(text[before]))
            && !text.get(at + word.len()).is_some_and(|&after| is_word(after))
    })
}

/// Whether a byte belongs to an identifier. Bytes above ASCII count: no keyword has any.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Whether PHP would find an opening tag.
pub(super) fn starts_with_php_tag(code: &str) -> bool {
    let lower = code.to_ascii_lowercase();
    lower.contains("<?php") || lower.contains("<?=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        assert!(has_word("a main b", "main"));
        assert!(has_word("main", "main"));
        assert!(!has_word("domain mainly main_", "main"));
        assert!(!has_word("", "main"));
        assert!(has_word("echo \"$main\" ${main}", "main"));
    }
}
