//! Byte budgets, and the only text that may leave: nothing else can make a [`CappedText`].

use std::fmt;

use crate::limits;

/// Bytes of UTF-8 one answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteBudget(usize);

impl ByteBudget {
    /// A budget that the argument reader has already checked, never below the smallest one.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(bytes.max(limits::SMALLEST_BYTES))
    }

    /// The budget in bytes.
    pub fn bytes(self) -> usize {
        self.0
    }
}

/// Finished text of an answer: valid UTF-8, never longer than its budget.
///
/// ```compile_fail
/// let text = quietcontext_tools::CappedText { text: String::new() };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CappedText {
    text: String,
}

impl CappedText {
    /// Caps `text`. The cut is the last defence: handlers plan their room, so in debug builds a cut
    /// that was needed is a bug and panics (which the server answers as that call's error).
    pub(crate) fn cap(text: String, budget: ByteBudget) -> Self {
        debug_assert!(
            text.len() <= budget.0,
            "answer of {} bytes planned over its budget of {}",
            text.len(),
            budget.0
        );
        let mut text = text;
        if text.len() > budget.0 {
            let kept = cut(&text, budget.0).len();
            text.truncate(kept);
        }
        Self { text }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.text
    }
}

impl fmt::Display for CappedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The longest prefix of at most `bytes` bytes that ends at a character border.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// The longest suffix of at most `bytes` bytes that begins at a character border.
pub(crate) fn cut_front(text: &str, bytes: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    text.get(start..).unwrap_or("")
}

/// As [`cut`], but at a line end where one lies in the last half of what fits.
pub(crate) fn cut_at_line(text: &str, bytes: usize) -> &str {
    let kept = cut(text, bytes);
    if kept.len() == text.len() {
        return kept;
    }
    match kept.rfind('\n') {
        Some(end) if end >= kept.len() / 2 => kept.get(..=end).unwrap_or(kept),
        _ => kept,
    }
}

/// One line of at most `bytes` bytes; what was cut is marked by an ellipsis.
pub(crate) fn clip(line: &str, bytes: usize) -> String {
    const ELLIPSIS: &str = "…";
    if line.len() <= bytes {
        return line.to_owned();
    }
    let mut kept = cut(line, bytes.saturating_sub(ELLIPSIS.len())).trim_end().to_owned();
    kept.push_str(ELLIPSIS);
    kept
}

/// As [`clip`], but the middle goes: both ends of a path or label tell more than its middle.
pub(crate) fn clip_middle(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let room = bytes.saturating_sub("…".len());
    let head = cut(text, room / 2);
    let tail = cut_front(text, room - head.len());
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cuts_never_exceed_and_never_split(text in ".{0,200}", n in 0usize..300) {
            for kept in [cut(&text, n), cut_front(&text, n), cut_at_line(&text, n)] {
                prop_assert!(kept.len() <= n || kept.len() == text.len());
                prop_assert!(text.contains(kept));
            }
            prop_assert!(clip(&text, n.max(3)).len() <= n.max(3));
            prop_assert!(clip_middle(&text, n.max(3)).len() <= n.max(3));
        }
    }

    #[test]
    fn a_cut_prefers_the_line_end() {
        assert_eq!(cut_at_line("one\ntwo\nthree", 10), "one\ntwo\n");
        assert_eq!(cut_at_line("one long line without end", 10), "one long l");
    }
}
