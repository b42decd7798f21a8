//! Words that say nothing about a text.

/// Whether a folded word says nothing about a text.
pub(super) fn is_stop(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Words that say nothing about a text, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "been", "being", "both", "but", "by", "can", "cant", "could", "did", "do", "does", "doesnt",
    "done", "dont", "each", "find", "for", "from", "get", "good", "got", "had", "has", "have",
    "her", "here", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like",
    "make", "many", "may", "me", "more", "most", "much", "my", "need", "new", "no", "not", "now",
    "of", "old", "on", "one", "only", "or", "other", "our", "out", "over", "please", "same", "say",
    "see", "she", "should", "show", "so", "some", "still", "such", "take", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too",
    "up", "us", "use", "used", "using", "very", "want", "was", "way", "we", "were", "what", "when",
    "where", "which", "while", "who", "why", "will", "with", "would", "year", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
