//! The parsed page as one flat vector of nodes: nothing recursive, nothing reference-counted.
//!
//! A node costs about 80 bytes, text included by reference to the input; only the attributes the
//! conversion reads are kept. Links between nodes are indices, and index 0, the document, doubles
//! as "none" because it is nobody's child or sibling.

use html5ever::{LocalName, Namespace, tendril::StrTendril};

use super::elements::Tag;

/// Index of a node.
pub(super) type Id = u32;

/// The document; "none" where a link points to it.
pub(super) const DOCUMENT: Id = 0;

#[derive(Debug)]
pub(super) enum Data {
    Document,
    Text(StrTendril),
    Element { tag: Tag, name: LocalName, ns: Namespace, attributes: Box<[(LocalName, StrTendril)]> },
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: Id,
    pub(super) first: Id,
    pub(super) last: Id,
    pub(super) previous: Id,
    pub(super) next: Id,
    pub(super) depth: u32,
    pub(super) data: Data,
}

/// A finished tree.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// One step of a walk in document order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Enter(Id),
    Leave(Id),
}

impl Tree {
    /// Node 0 must be the document.
    pub(super) fn new(nodes: Vec<Node>) -> Self {
        Self { nodes }
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        // Ids are only made by `push`, and nodes are never removed.
        &self.nodes[id as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn tag(&self, id: Id) -> Option<Tag> {
        match self.node(id).data {
            Data::Element { tag, .. } => Some(tag),
            _ => None,
        }
    }

    pub(super) fn text(&self, id: Id) -> Option<&str> {
        match &self.node(id).data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn attribute(&self, id: Id, wanted: &str) -> Option<&str> {
        match &self.node(id).data {
            Data::Element { attributes, .. } => {
                attributes.iter().find(|(name, _)| &**name == wanted).map(|(_, value)| &**value)
            }
            _ => None,
        }
    }

    /// Whether the class list has a word for which `wanted` says yes.
    pub(super) fn has_class(&self, id: Id, wanted: impl Fn(&str) -> bool) -> bool {
        self.attribute(id, "class").is_some_and(|list| list.split_ascii_whitespace().any(wanted))
    }

    /// The first element of a kind below `root`.
    pub(super) fn tag_below(&self, root: Id, wanted: Tag) -> Option<Id> {
        self.descendants(root).find(|id| self.tag(*id) == Some(wanted))
    }

    /// Whether `id` lies inside of `above`.
    pub(super) fn is_below(&self, id: Id, above: Id) -> bool {
        let mut at = id;
        while at != DOCUMENT {
            at = self.node(at).parent;
            if at == above {
                return true;
            }
        }
        false
    }

    /// The step after `step` within `root`, which is entered and left as well. To pass over the
    /// inside of a node, go on from its `Leave` step instead of its `Enter` step.
    pub(super) fn after(&self, step: Step, root: Id) -> Option<Step> {
        match step {
            Step::Enter(id) => match self.node(id).first {
                DOCUMENT => Some(Step::Leave(id)),
                child => Some(Step::Enter(child)),
            },
            Step::Leave(id) if id == root => None,
            Step::Leave(id) => match self.node(id).next {
                DOCUMENT => Some(Step::Leave(self.node(id).parent)),
                next => Some(Step::Enter(next)),
            },
        }
    }

    /// All nodes below and including `root`, in document order.
    pub(super) fn descendants(&self, root: Id) -> impl Iterator<Item = Id> + '_ {
        let mut step = Some(Step::Enter(root));
        std::iter::from_fn(move || {
            while let Some(now) = step {
                step = self.after(now, root);
                if let Step::Enter(id) = now {
                    return Some(id);
                }
            }
            None
        })
    }

    /// The text below `root`, blanks collapsed, at most `max` characters.
    pub(super) fn line_of_text(&self, root: Id, max: usize) -> String {
        let mut line = String::new();
        let mut left = max;
        let mut push = |line: &mut String, character: char| {
            // One blank between words, counted like every character.
            let wanted = character != ' ' || !(line.is_empty() || line.ends_with(' '));
            if wanted && left > 0 {
                line.push(character);
                left -= 1;
            }
        };
        for text in self.descendants(root).filter_map(|id| self.text(id)) {
            let mut lead = text.starts_with(|c: char| c.is_whitespace());
            for word in text.split_whitespace() {
                if lead {
                    push(&mut line, ' ');
                }
                lead = true;
                word.chars().filter(|c| !c.is_control()).for_each(|c| push(&mut line, c));
            }
            if text.ends_with(|c: char| c.is_whitespace()) {
                push(&mut line, ' ');
            }
        }
        line.trim().to_owned()
    }
}
