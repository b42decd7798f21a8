//! Builds the tree from what html5ever's tree builder says.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
};

use html5ever::{
    Attribute, LocalName, Namespace, QualName,
    interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink},
    ns,
    tendril::StrTendril,
};

use super::{
    elements::Tag,
    tree::{DOCUMENT, Data, Id, Node, Tree},
};

/// Attributes that the conversion reads.
const ATTRIBUTES: &[&str] = &[
    "alt",
    "alttext",
    "aria-hidden",
    "class",
    "colspan",
    "content",
    "data-code-lang",
    "data-enlighter-language",
    "data-lang",
    "data-language",
    "data-line-number",
    "encoding",
    "hidden",
    "href",
    "http-equiv",
    "lang",
    "reversed",
    "role",
    "rowspan",
    "src",
    "start",
    "style",
    "syntax",
];

/// Longer values are dropped: pictures in `data:` URLs, styles, state of applications.
const MAX_VALUE_BYTES: usize = 4096;

/// Builds a [`Tree`] for html5ever's tree builder.
#[derive(Debug)]
pub(super) struct Sink {
    nodes: RefCell<Vec<Node>>,
    /// Level of the node that the next piece of content goes into, about.
    pub(super) depth: Cell<u32>,
}

impl Sink {
    pub(super) fn new() -> Self {
        let sink = Self { nodes: RefCell::default(), depth: Cell::new(0) };
        sink.push(Data::Document);
        sink
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.borrow().len()
    }

    fn push(&self, data: Data) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { parent: 0, first: 0, last: 0, previous: 0, next: 0, depth: 0, data });
        (nodes.len() - 1) as Id
    }

    /// Puts `child` into `parent`, before `next` or at the end.
    fn link(&self, parent: Id, child: Id, next: Id) {
        self.unlink(child);
        let nodes = &mut *self.nodes.borrow_mut();
        let previous =
            if next == 0 { nodes[parent as usize].last } else { nodes[next as usize].previous };
        let depth = nodes[parent as usize].depth + 1;
        let node = &mut nodes[child as usize];
        (node.parent, node.previous, node.next, node.depth) = (parent, previous, next, depth);
        if previous == 0 {
            nodes[parent as usize].first = child;
        } else {
            nodes[previous as usize].next = child;
        }
        if next == 0 {
            nodes[parent as usize].last = child;
        } else {
            nodes[next as usize].previous = child;
        }
    }

    fn unlink(&self, id: Id) {
        let nodes = &mut *self.nodes.borrow_mut();
        let node = &mut nodes[id as usize];
        let (parent, previous, next) = (node.parent, node.previous, node.next);
        (node.parent, node.previous, node.next) = (0, 0, 0);
        if parent == 0 && previous == 0 && next == 0 && nodes[0].first != id {
            return;
        }
        if previous == 0 {
            nodes[parent as usize].first = next;
        } else {
            nodes[previous as usize].next = next;
        }
        if next == 0 {
            nodes[parent as usize].last = previous;
        } else {
            nodes[next as usize].previous = previous;
        }
    }

    /// Adds to the text node `before` if it is one, else links a new text node.
    fn add(&self, parent: Id, child: NodeOrText<Id>, next: Id) {
        match child {
            NodeOrText::AppendNode(id) => {
                self.link(parent, id, next);
                self.depth.set(self.nodes.borrow()[id as usize].depth);
            }
            NodeOrText::AppendText(text) => {
                let before = {
                    let nodes = self.nodes.borrow();
                    self.depth.set(nodes[parent as usize].depth);
                    if next == 0 {
                        nodes[parent as usize].last
                    } else {
                        nodes[next as usize].previous
                    }
                };
                if let Data::Text(existing) = &mut self.nodes.borrow_mut()[before as usize].data {
                    existing.push_tendril(&text);
                    return;
                }
                let id = self.push(Data::Text(text));
                self.link(parent, id, next);
            }
        }
    }
}

/// An element's name, owned: names are interned, a copy costs a counter at most.
#[derive(Debug)]
pub(super) struct Name(Namespace, LocalName);

impl ElemName for Name {
    fn ns(&self) -> &Namespace {
        &self.0
    }

    fn local_name(&self) -> &LocalName {
        &self.1
    }
}

fn kept(attributes: Vec<Attribute>) -> impl Iterator<Item = (LocalName, StrTendril)> {
    let wanted = |attribute: &Attribute| {
        attribute.value.len() <= MAX_VALUE_BYTES
            && ATTRIBUTES.binary_search(&&*attribute.name.local).is_ok()
    };
    attributes.into_iter().filter(wanted).map(|attribute| (attribute.name.local, attribute.value))
}

impl TreeSink for Sink {
    type Handle = Id;
    type Output = Tree;
    type ElemName<'a> = Name;

    fn finish(self) -> Tree {
        Tree::new(self.nodes.into_inner())
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Id {
        DOCUMENT
    }

    fn elem_name(&self, target: &Id) -> Name {
        match &self.nodes.borrow()[*target as usize].data {
            Data::Element { name, ns, .. } => Name(ns.clone(), name.clone()),
            _ => Name(ns!(), LocalName::from("")),
        }
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Id {
        let tag = match Tag::of(&name.local) {
            tag if name.ns == ns!(html) => tag,
            // Names inside of pictures and formulas mean something else: a `<title>` is no title.
            tag @ (Tag::Svg | Tag::Math | Tag::Annotation) => tag,
            _ => Tag::Other,
        };
        let attributes = kept(attributes).collect();
        self.push(Data::Element { tag, name: name.local, ns: name.ns, attributes })
    }

    fn create_comment(&self, _: StrTendril) -> Id {
        self.push(Data::Document)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Id {
        self.push(Data::Document)
    }

    fn append(&self, parent: &Id, child: NodeOrText<Id>) {
        self.add(*parent, child, 0);
    }

    fn append_based_on_parent_node(&self, element: &Id, previous: &Id, child: NodeOrText<Id>) {
        if self.nodes.borrow()[*element as usize].parent == 0 {
            self.append(previous, child);
        } else {
            self.append_before_sibling(element, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn pop(&self, node: &Id) {
        self.depth.set(self.nodes.borrow()[*node as usize].depth.saturating_sub(1));
    }

    fn get_template_contents(&self, target: &Id) -> Id {
        *target
    }

    fn same_node(&self, x: &Id, y: &Id) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Id, new_node: NodeOrText<Id>) {
        let parent = self.nodes.borrow()[*sibling as usize].parent;
        self.add(parent, new_node, *sibling);
    }

    fn add_attrs_if_missing(&self, target: &Id, new: Vec<Attribute>) {
        if let Data::Element { attributes, .. } =
            &mut self.nodes.borrow_mut()[*target as usize].data
        {
            let mut all = std::mem::take(attributes).into_vec();
            for (name, value) in kept(new) {
                if all.iter().all(|(known, _)| *known != name) {
                    all.push((name, value));
                }
            }
            *attributes = all.into_boxed_slice();
        }
    }

    fn remove_from_parent(&self, target: &Id) {
        self.unlink(*target);
    }

    fn reparent_children(&self, node: &Id, new_parent: &Id) {
        loop {
            let child = self.nodes.borrow()[*node as usize].first;
            if child == 0 {
                return;
            }
            self.link(*new_parent, child, 0);
        }
    }
}
