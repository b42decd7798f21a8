//! A quick look at a chunk, before it is worth a thorough one.

use super::forms::Forms;
use super::passage::Passage;
use super::tally::Tally;

/// A folded title and text, and what is looked for in them.
pub(super) struct Glance<'a, 'q> {
    pub(super) forms: &'a Forms<'q>,
    pub(super) whole: Option<&'a Passage<'q>>,
    /// What is quoted, and names as they were typed.
    pub(super) passages: [&'a [Passage<'q>]; 2],
    pub(super) title: &'a str,
    pub(super) body: &'a str,
}

impl Glance<'_, '_> {
    /// The rarity of the terms it may hold: at least that of those it does hold.
    pub(super) fn promise(&self) -> f64 {
        self.forms.promise([self.title, self.body])
    }

    /// What it may hold, and how often.
    pub(super) fn tally(&self) -> Tally {
        self.forms.tally(self.title, self.body)
    }

    /// Whether something quoted, or a name as it was typed, stands there.
    pub(super) fn quotes(&self) -> bool {
        self.passages.iter().copied().flatten().any(|passage| passage.within(self.body))
    }

    /// Whether the whole query stands there.
    pub(super) fn says_it(&self) -> bool {
        self.whole.is_some_and(|whole| whole.within(self.body))
    }
}
