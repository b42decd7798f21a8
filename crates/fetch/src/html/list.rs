//! Lists: bullets, numbers, and the ones that only lay out a page.

use super::{
    elements::Tag,
    render::Render,
    tree::{Id, Tree},
};

/// Lists deeper than this continue the level above.
const MAX_LISTS: usize = 32;

/// Nodes looked at to tell a list from a layout.
const MAX_LOOK: usize = 1000;

/// A list that is open.
pub(super) enum List {
    Plain,
    Bullets,
    Numbers { next: i64, step: i64 },
}

impl Render<'_> {
    pub(super) fn open_list(&mut self, id: Id, ordered: bool) {
        let tree = self.tree;
        let number = |name| tree.attribute(id, name).and_then(|text| text.trim().parse().ok());
        let step = if tree.attribute(id, "reversed").is_some() { -1 } else { 1 };
        let items = || {
            let mut child = tree.node(id).first;
            let mut items = 0;
            while child != 0 {
                items += i64::from(tree.tag(child) == Some(Tag::Li));
                child = tree.node(child).next;
            }
            items
        };
        self.lists.push(if holds_headings(tree, id) {
            List::Plain
        } else if ordered && self.lists.len() < MAX_LISTS {
            let next = number("start").unwrap_or_else(|| if step < 0 { items() } else { 1 });
            List::Numbers { next, step }
        } else {
            List::Bullets
        });
    }

    pub(super) fn item(&mut self) {
        match self.lists.last_mut() {
            Some(List::Plain) => {}
            Some(List::Numbers { next, step }) => {
                let marker = format!("{next}. ");
                *next = next.saturating_add(*step);
                self.writer.item(&marker, "   ");
            }
            Some(List::Bullets) | None => self.writer.item("- ", "  "),
        }
    }

    pub(super) fn end_item(&mut self) {
        match self.lists.last() {
            Some(List::Plain) => {}
            Some(List::Numbers { next, step }) => {
                self.writer.end_item(&format!("{}. ", next.saturating_sub(*step)));
            }
            Some(List::Bullets) | None => self.writer.end_item("- "),
        }
    }
}

/// Some generators lay whole sections out as list items; those are no lists to a reader.
fn holds_headings(tree: &Tree, id: Id) -> bool {
    let mut near = tree.descendants(id).take(MAX_LOOK);
    near.any(|below| tree.tag(below).is_some_and(|tag| tag.heading().is_some()))
}
