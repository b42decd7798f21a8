//! The reference grammar `[r:]N[@B][-[M]]`: read, written, and read back.

use std::fmt;

use quietcontext_store::{ChunkId, Last, Span};

/// A reference as a caller wrote it: a chunk, or a range of chunks of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The first chunk.
    pub first: u64,
    /// Bytes of the first chunk's text to leave out.
    pub skip: u64,
    /// Where the range ends.
    pub end: End,
}

/// The end of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The first chunk alone: `r:7`.
    One,
    /// Up to this chunk: `r:7-12`.
    At(u64),
    /// To the present end of the document: `r:7-`.
    Open,
}

/// A text that is not a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReferenceError(String);

impl Reference {
    /// Reads one reference; brackets, any case and blanks around it are accepted.
    ///
    /// # Errors
    /// What is wrong with it, as one line.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let bare = bare(text);
        let error = |why: &str| {
            ReferenceError(format!(
                "{} {why}; write r:7, r:7-12 or r:7@512-12",
                crate::render::short(text)
            ))
        };
        let body = match bare.split_at_checked(2) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case("r:") => rest.trim(),
            Some((prefix, _)) if prefix.eq_ignore_ascii_case("s:") => {
                return Err(error("is a program's reference, for script_ref"));
            }
            _ => bare,
        };
        let number = |digits: &str| -> Option<u64> {
            let digits = digits.trim();
            (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
                .then(|| digits.parse().ok())
                .flatten()
                .filter(|n| i64::try_from(*n).is_ok())
        };
        let (head, end) = match body.split_once('-') {
            None => (body, End::One),
            Some((head, last)) if last.trim().is_empty() => (head, End::Open),
            Some((head, last)) => {
                let last = last.trim();
                let last = match last.split_at_checked(2) {
                    Some((prefix, rest)) if prefix.eq_ignore_ascii_case("r:") => rest,
                    _ => last,
                };
                (head, End::At(number(last).ok_or_else(|| error("is not a reference"))?))
            }
        };
        let (first, skip) = match head.split_once('@') {
            None => (number(head), Some(0)),
            Some((first, skip)) => (number(first), number(skip)),
        };
        let (Some(first), Some(skip)) = (first, skip) else {
            return Err(error("is not a reference"));
        };
        if let End::At(last) = end
            && last < first
        {
            return Err(error("ends before it begins"));
        }
        Ok(Self { first, skip, end })
    }

    /// Reads the references in `text`: one, or several separated by blanks or commas, as a `more:`
    /// line gives them. Each has its own outcome, so that one bad reference spoils no other.
    pub(crate) fn parse_list(text: &str) -> Vec<Result<Self, String>> {
        let whole = Self::parse(text);
        if let Ok(reference) = whole {
            return vec![Ok(reference)];
        }
        let text = bare(text);
        let text = text.strip_prefix("more:").unwrap_or(text);
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty())
            .collect();
        if words.len() < 2 && text.trim() == words.first().copied().unwrap_or_default() {
            let word = words.first().copied().unwrap_or_default();
            return vec![Self::parse(word).map_err(|error| error.to_string())];
        }
        words.into_iter().map(|word| Self::parse(word).map_err(|error| error.to_string())).collect()
    }

    /// The span of the store that this reference asks for.
    pub fn span(self) -> Span {
        Span {
            first: ChunkId(self.first),
            skip: self.skip,
            last: match self.end {
                End::One => Last::One,
                End::At(last) => Last::At(ChunkId(last)),
                End::Open => Last::End,
            },
        }
    }
}

/// Without blanks and brackets around.
fn bare(text: &str) -> &str {
    text.trim().trim_start_matches('[').trim_end_matches(']').trim()
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r:{}", self.first)?;
        if self.skip > 0 {
            write!(f, "@{}", self.skip)?;
        }
        match self.end {
            End::One => Ok(()),
            End::At(last) => write!(f, "-{last}"),
            End::Open => f.write_str("-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(first: u64, skip: u64, end: End) -> Reference {
        Reference { first, skip, end }
    }

    #[test]
    fn references_are_read_in_every_accepted_form() {
        for (text, want) in [
            ("r:20101", reference(20101, 0, End::One)),
            ("20101", reference(20101, 0, End::One)),
            ("[r:20101]", reference(20101, 0, End::One)),
            (" [ R:20101-20960 ] ", reference(20101, 0, End::At(20960))),
            ("r:20140@512-20960", reference(20140, 512, End::At(20960))),
            ("r:20101-", reference(20101, 0, End::Open)),
            ("r:5-r:9", reference(5, 0, End::At(9))),
        ] {
            assert_eq!(Reference::parse(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_is_named_with_its_remedy() {
        for text in [
            "",
            "r:",
            "r:x",
            "r:9-5",
            "s:0123456789abcdef",
            "r:1--2",
            "r:99999999999999999999",
            "r:-5",
            "r:1@",
        ] {
            let error = Reference::parse(text).unwrap_err().to_string();
            assert!(error.contains("write r:7"), "{text}: {error}");
        }
    }

    #[test]
    fn references_become_spans() {
        for (text, skip, last) in [
            ("r:7", 0, Last::One),
            ("[r:7@512]", 512, Last::One),
            ("r:7-", 0, Last::End),
            ("7@3-12", 3, Last::At(ChunkId(12))),
        ] {
            let span = Reference::parse(text).unwrap().span();
            assert_eq!(span, Span { first: ChunkId(7), skip, last }, "{text}");
        }
    }

    #[test]
    fn a_more_line_is_a_list() {
        let read = Reference::parse_list("more: r:20140@512-20960 r:31200");
        assert_eq!(
            read,
            [Ok(reference(20140, 512, End::At(20960))), Ok(reference(31200, 0, End::One))]
        );
        assert!(Reference::parse_list("r:1, nonsense").get(1).unwrap().is_err());
    }

    proptest! {
        #[test]
        fn references_round_trip(first in 0..=i64::MAX as u64, skip in 0u64..5000, end in 0u8..3, more in 0u64..5000) {
            let end = match end { 0 => End::One, 1 => End::Open, _ => End::At(first.saturating_add(more).min(i64::MAX as u64)) };
            let reference = Reference { first, skip, end };
            prop_assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            drop(Reference::parse(&text));
            for outcome in Reference::parse_list(&text) {
                if let Err(message) = outcome { prop_assert!(!message.contains('\n')); }
            }
        }
    }
}
