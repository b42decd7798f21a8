//! A draft of an answer: room for totals and references is reserved first, the body gets the rest.

use crate::budget::{ByteBudget, CappedText};
use crate::call::Answer;
use crate::render::push_line;

/// An answer in the making. Lines of the head and the tail are never what gets cut.
#[derive(Debug)]
pub(crate) struct Draft {
    budget: ByteBudget,
    head: String,
    body: String,
    tail: String,
}

impl Draft {
    pub(crate) fn new(budget: ByteBudget) -> Self {
        Self { budget, head: String::new(), body: String::new(), tail: String::new() }
    }

    /// Adds a line that stands before the body.
    pub(crate) fn head(&mut self, line: &str) {
        push_line(&mut self.head, line);
    }

    /// Adds a line that stands behind the body.
    pub(crate) fn tail(&mut self, line: &str) {
        push_line(&mut self.tail, line);
    }

    /// Bytes that one more line of the body may have.
    pub(crate) fn room(&self) -> usize {
        // Up to three line ends are added: behind the head, the body so far, and the new line.
        let taken = self.head.len() + self.body.len() + self.tail.len() + 3;
        self.budget.bytes().saturating_sub(taken)
    }

    /// Adds a line to the body if it fits.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let fits = line.len() <= self.room();
        if fits {
            push_line(&mut self.body, line);
        }
        fits
    }

    /// Adds text to the body as it is, if the whole answer still fits.
    pub(crate) fn exact(&mut self, text: &str) -> bool {
        let fits = self.len_with(text) <= self.budget.bytes();
        if fits {
            self.body.push_str(text);
        }
        fits
    }

    fn len_with(&self, text: &str) -> usize {
        let mut length = self.head.len() + self.body.len() + text.len();
        let body = !self.body.is_empty() || !text.is_empty();
        if body && !self.head.is_empty() && !self.head.ends_with('\n') {
            length += 1;
        }
        let ends_open = if text.is_empty() { &self.body } else { text }.ends_with('\n');
        if !self.tail.is_empty() && length > 0 && !ends_open {
            length += 1;
        }
        length + self.tail.len()
    }

    /// The finished answer.
    pub(crate) fn finish(self) -> Answer {
        let budget = self.budget;
        Answer { text: CappedText::cap(self.assemble(), budget), is_error: false }
    }

    fn assemble(self) -> String {
        let mut text = self.head;
        if !self.body.is_empty() {
            push_line(&mut text, &self.body);
        }
        if !self.tail.is_empty() {
            push_line(&mut text, &self.tail);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markers_start_a_line_and_the_body_stays_as_it_is() {
        let mut draft = Draft::new(ByteBudget::new(256));
        draft.head("[unconfined]");
        draft.tail("[exit 3]");
        draft.tail("[s:0]");
        assert!(draft.exact("\n  open end"));
        assert_eq!(draft.finish().text.as_str(), "[unconfined]\n\n  open end\n[exit 3]\n[s:0]");
    }

    proptest! {
        #[test]
        fn a_draft_never_needs_the_last_cut(
            head in "[a-z]{0,60}", tail in "[a-z]{0,60}",
            lines in proptest::collection::vec("[a-zé\n]{0,80}", 0..20), exact in ".{0,300}",
        ) {
            // `CappedText::cap` panics in debug builds where a cut is needed.
            for whole in [true, false] {
                let mut draft = Draft::new(ByteBudget::new(256));
                draft.head(&head);
                draft.tail(&tail);
                if whole { draft.exact(&exact); }
                for line in &lines { draft.line(line); }
                prop_assert!(draft.finish().text.as_str().len() <= 256);
            }
        }
    }
}
