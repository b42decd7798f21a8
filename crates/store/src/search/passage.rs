//! Looks for text whatever blanks stand between its words.

use memchr::memmem;

use super::sketch::{Sketch, places};

/// A text with single blanks that is looked for among blanks of any kind and number.
pub(super) struct Passage<'q> {
    text: &'q str,
    first: memmem::Finder<'q>,
    /// The places of its words in a sketch.
    places: Vec<usize>,
}

impl<'q> Passage<'q> {
    pub(super) fn new(text: &'q str) -> Self {
        let first = text.split(' ').next().unwrap_or(text);
        let places = text.split(' ').flat_map(|word| places(word.as_bytes())).collect();
        Passage { text, first: memmem::Finder::new(first), places }
    }

    /// Whether it may stand in a text of which only the sketch is there.
    pub(super) fn may_be_within(&self, sketch: &Sketch) -> bool {
        sketch.has(&self.places)
    }

    pub(super) fn within(&self, text: &str) -> bool {
        self.first
            .find_iter(text.as_bytes())
            .any(|at| text.get(at..).is_some_and(|rest| begins_with(rest, self.text)))
    }
}

/// Whether a text begins with another, where one blank stands for any.
fn begins_with(text: &str, wanted: &str) -> bool {
    let mut rest = text;
    for (at, word) in wanted.split(' ').enumerate() {
        let trimmed = rest.trim_start();
        if at > 0 && trimmed.len() == rest.len() {
            return false;
        }
        let Some(after) = (if at > 0 { trimmed } else { rest }).strip_prefix(word) else {
            return false;
        };
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_of_any_kind_are_one() {
        let passage = Passage::new("state of the art");
        assert!(passage.within("the state\n   of\tthe art."));
        assert!(passage.within("state of state of the artist"));
        assert!(!passage.within("state ofthe art"));
        assert!(!passage.within("state of the"));
    }
}
