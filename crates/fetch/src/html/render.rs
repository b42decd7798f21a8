//! The walk from tree to Markdown: one loop over enter and leave steps, no recursion.

use url::Url;

use super::{
    Budget, code,
    elements::{Flow, Tag},
    inline,
    list::List,
    select::{self, Selection},
    table::{self, Rows},
    tree::{Id, Step, Tree},
    write::{Break, Writer},
};

/// The Markdown of one page stops here.
const MAX_TEXT_BYTES: usize = 32 << 20;

/// Steps between two looks at the clock.
const STEPS_PER_LOOK: u32 = 1 << 14;

/// What the walk made.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) text: String,
    /// A limit was reached; the end of the page is missing.
    pub(super) cut: bool,
}

/// Everything that is open at one point of the walk.
pub(super) struct Render<'a> {
    pub(super) tree: &'a Tree,
    pub(super) base: Option<&'a Url>,
    pub(super) writer: Writer,
    everything: bool,
    content_depth: u32,
    pub(super) lists: Vec<List>,
    /// Inside `<code>` and the like, where no other markup is written.
    pub(super) code_depth: u32,
    pub(super) link_depth: u32,
    /// Open headings, and the text and target of the latest link in one.
    pub(super) headings: u32,
    pub(super) heading_link: Option<(String, String)>,
    level: u8,
    table: Option<Table>,
    definitions: u8,
}

/// The data table that is open; its cells are written aside, because a row is one line.
struct Table {
    id: Id,
    rows: Rows,
    around: Option<Writer>,
}

/// The Markdown of a selection.
pub(super) fn render(
    tree: &Tree,
    selection: &Selection,
    base: Option<&Url>,
    budget: &Budget,
) -> Rendered {
    let mut render = Render {
        tree,
        base,
        writer: Writer::default(),
        everything: selection.everything,
        content_depth: u32::from(has_content_mark_above(tree, selection.root)),
        lists: Vec::new(),
        code_depth: 0,
        link_depth: 0,
        headings: 0,
        heading_link: None,
        level: 0,
        table: None,
        definitions: 0,
    };
    let mut next = Some(Step::Enter(selection.root));
    let mut steps: u32 = 0;
    let mut cut = false;
    while let Some(step) = next {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS_PER_LOOK)
            && (budget.is_spent() || render.size() > MAX_TEXT_BYTES)
        {
            cut = true;
            break;
        }
        next = tree.after(step, selection.root);
        match step {
            Step::Enter(id) => {
                if !render.enter(id, id == selection.root) {
                    next = table::past(tree, id, selection.root);
                }
            }
            Step::Leave(id) => render.leave(id),
        }
    }
    if let Some(around) = render.table.take().and_then(|table| table.around) {
        render.writer = around;
    }
    Rendered { text: render.writer.finish(), cut }
}

fn has_content_mark_above(tree: &Tree, root: Id) -> bool {
    let mut at = tree.node(root).parent;
    while at != 0 {
        if select::is_content_mark(tree, at) {
            return true;
        }
        at = tree.node(at).parent;
    }
    false
}

impl Render<'_> {
    fn size(&self) -> usize {
        let around = self.table.as_ref().and_then(|table| table.around.as_ref());
        self.writer.len() + around.map_or(0, Writer::len)
    }

    /// Begins a node; false passes over what is inside it, and over its end.
    fn enter(&mut self, id: Id, root: bool) -> bool {
        let tree = self.tree;
        if let Some(text) = tree.text(id) {
            self.writer.text(text);
            return true;
        }
        let Some(tag) = tree.tag(id) else { return true };
        if !root && self.is_left_out(id, tag) {
            return false;
        }
        if select::is_content_mark(tree, id) {
            self.content_depth += 1;
        }
        match tag.flow() {
            Flow::Inline | Flow::Never => return inline::enter(self, id, tag),
            Flow::Apart => self.writer.blank(),
            Flow::Line => self.writer.separate(Break::Line),
            Flow::Paragraph => self.writer.separate(self.paragraph(tag)),
        }
        match tag {
            Tag::Pre => {
                let block = code::block(tree, id);
                if self.writer.is_flat() {
                    self.writer.text(&block.code);
                } else if !block.code.is_empty() {
                    self.writer.fence(&block.code, &block.language);
                }
                return false;
            }
            Tag::Hr => {
                if !self.writer.is_flat() && self.size() > 0 {
                    self.writer.raw("---");
                    self.writer.separate(Break::Paragraph);
                }
            }
            Tag::Ul | Tag::Ol | Tag::Menu => self.open_list(id, tag == Tag::Ol),
            Tag::Li => self.item(),
            Tag::Blockquote => self.writer.indent("> "),
            Tag::Dl => self.definitions = self.definitions.saturating_add(1),
            Tag::Dt if is_signature(tree, id) => {
                self.writer.separate(Break::Paragraph);
                self.heading();
            }
            Tag::Dd if !follows_signature(tree, id) => self.writer.item(": ", "  "),
            Tag::Table
                if self.table.is_none() && !self.writer.is_flat() && table::is_data(tree, id) =>
            {
                self.table = Some(Table { id, rows: Rows::default(), around: None });
            }
            Tag::Td | Tag::Th => {
                if let Some(table) = &mut self.table
                    && table.around.is_none()
                {
                    table.around = Some(std::mem::replace(&mut self.writer, Writer::flat()));
                }
            }
            _ => {
                if let Some(level) = tag.heading() {
                    self.level = level;
                    self.heading();
                }
            }
        }
        true
    }

    /// Ends a node that was entered.
    fn leave(&mut self, id: Id) {
        let tree = self.tree;
        let Some(tag) = tree.tag(id) else { return };
        if select::is_content_mark(tree, id) {
            self.content_depth = self.content_depth.saturating_sub(1);
        }
        match tag {
            Tag::Ul | Tag::Ol | Tag::Menu => {
                self.lists.pop();
            }
            Tag::Li => self.end_item(),
            Tag::Blockquote => self.writer.outdent(),
            Tag::Dl => self.definitions = self.definitions.saturating_sub(1),
            Tag::Dt if is_signature(tree, id) => self.end_heading(self.signature_level()),
            Tag::Dd if !follows_signature(tree, id) => self.writer.end_item(": "),
            Tag::Td | Tag::Th => self.end_cell(id),
            Tag::Tr => self.end_row(),
            Tag::Table if self.table.as_ref().is_some_and(|table| table.id == id) => {
                self.end_row();
                self.table = None;
            }
            _ => {
                if let Some(level) = tag.heading() {
                    self.end_heading(level);
                }
            }
        }
        match tag.flow() {
            Flow::Inline | Flow::Never => inline::leave(self, id, tag),
            Flow::Apart => self.writer.blank(),
            Flow::Line => self.writer.separate(Break::Line),
            Flow::Paragraph => self.writer.separate(self.paragraph(tag)),
        }
    }

    fn is_left_out(&self, id: Id, tag: Tag) -> bool {
        if select::is_hidden(self.tree, id) || code::is_gutter(self.tree, id) {
            return true;
        }
        // rustdoc's link to the source beside each item, and its words for folding.
        if tag == Tag::A && self.tree.has_class(id, |class| class == "src")
            || tag == Tag::Summary && self.tree.has_class(id, |class| class == "hideme")
        {
            return true;
        }
        !self.everything
            && select::is_chrome(self.tree, id, self.content_depth > 0)
            && !(tag == Tag::Header && holds_title(self.tree, id))
    }

    /// Lists inside of lists stay close; everything else is a paragraph.
    fn paragraph(&self, tag: Tag) -> Break {
        let list = matches!(tag, Tag::Ul | Tag::Ol | Tag::Menu);
        if list && self.lists.iter().any(|list| !matches!(list, List::Plain)) {
            Break::Line
        } else {
            Break::Paragraph
        }
    }

    fn heading(&mut self) {
        self.heading_link = None;
        self.headings += 1;
        self.writer.open();
        self.writer.flatten();
    }

    /// Headings are titles of what is found, so links in them are text; only where a whole heading
    /// is one link, as in lists of articles, its target follows on the next line.
    fn end_heading(&mut self, level: u8) {
        self.headings = self.headings.saturating_sub(1);
        self.writer.unflatten();
        let flat = self.writer.is_flat();
        let Some(marked) = self.writer.close() else { return };
        let target = self.heading_link.take().filter(|(text, _)| text == marked.text());
        if flat {
            return;
        }
        let marks = "######".get(..usize::from(level)).unwrap_or("######");
        marked.wrap(&format!("{marks} "), "");
        if let Some((_, target)) = target {
            self.writer.separate(Break::Line);
            self.writer.raw(&format!("<{target}>"));
        }
    }

    fn signature_level(&self) -> u8 {
        self.level.saturating_add(self.definitions).clamp(1, 6)
    }

    fn end_cell(&mut self, id: Id) {
        let Some(table) = &mut self.table else { return };
        let Some(around) = table.around.take() else { return };
        let cell = std::mem::replace(&mut self.writer, around).finish();
        let columns = table::span(self.tree, id, "colspan");
        table.rows.cell(&cell, columns, table::span(self.tree, id, "rowspan"));
    }

    fn end_row(&mut self) {
        let Some(lines) = self.table.as_mut().and_then(|table| table.rows.end_row()) else {
            return;
        };
        for line in lines.lines() {
            self.writer.separate(Break::Line);
            self.writer.raw(line);
        }
    }
}

/// The name of something documented, with its parameters: Sphinx and its relatives write API
/// entries as definition lists. As headings they become the titles of what is found.
fn is_signature(tree: &Tree, id: Id) -> bool {
    tree.has_class(id, |class| class == "sig" || class == "sig-object")
}

fn follows_signature(tree: &Tree, id: Id) -> bool {
    let mut before = tree.node(id).previous;
    while before != 0 && tree.tag(before).is_none() {
        before = tree.node(before).previous;
    }
    before != 0 && is_signature(tree, before)
}

fn holds_title(tree: &Tree, id: Id) -> bool {
    tree.tag_below(id, Tag::H1).is_some()
}
