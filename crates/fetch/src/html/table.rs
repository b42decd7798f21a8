//! Tables: which ones hold data, and their rows in Markdown without padding.

use super::{
    elements::Tag,
    tree::{Id, Step, Tree},
};

/// A cell spanning more columns than this is broken, not wide.
const MAX_SPAN: u16 = 100;

/// Rows are written one by one; this remembers what reaches down from earlier rows.
#[derive(Debug, Default)]
pub(super) struct Rows {
    cells: Vec<String>,
    /// Rows that a cell above still covers, by column.
    covered: Vec<u16>,
    written: bool,
}

/// Whether a table is data: at least two columns, and cells that fit on a line. Tables for
/// layout, and those with code blocks or tables inside, become running blocks instead.
pub(super) fn is_data(tree: &Tree, table: Id) -> bool {
    if matches!(tree.attribute(table, "role"), Some("presentation" | "none")) {
        return false;
    }
    let (mut rows, mut cells, mut widest, mut headers) = (0u32, 0u32, 0u32, 0u32);
    for id in tree.descendants(table) {
        match tree.tag(id) {
            Some(Tag::Table) if id != table => return false,
            Some(Tag::Pre | Tag::H1 | Tag::H2 | Tag::H3 | Tag::Form) => return false,
            Some(Tag::Tr) => {
                rows += 1;
                cells = 0;
            }
            Some(tag @ (Tag::Td | Tag::Th)) => {
                cells += 1;
                headers += u32::from(tag == Tag::Th);
                widest = widest.max(cells);
            }
            _ => {}
        }
    }
    widest >= 2 && (rows >= 2 || headers > 0)
}

/// The step that leaves a table's cell, row or the table itself as far as rows are concerned.
pub(super) fn span(tree: &Tree, cell: Id, attribute: &str) -> u16 {
    let said = tree.attribute(cell, attribute).and_then(|text| text.trim().parse().ok());
    said.unwrap_or(1).clamp(1, MAX_SPAN)
}

impl Rows {
    /// Adds a cell; `text` is one line.
    pub(super) fn cell(&mut self, text: &str, columns: u16, rows: u16) {
        self.skip_covered();
        let text = text.trim().replace('|', "\\|").replace('\n', " ");
        for column in 0..columns {
            let at = self.cells.len();
            if self.covered.len() <= at {
                self.covered.resize(at + 1, 0);
            }
            self.covered[at] = rows - 1;
            self.cells.push(if column == 0 { text.clone() } else { String::new() });
        }
    }

    fn skip_covered(&mut self) {
        while let Some(rows) = self.covered.get_mut(self.cells.len()).filter(|rows| **rows > 0) {
            *rows -= 1;
            self.cells.push(String::new());
        }
    }

    /// The lines of the row that ends here: with the rule below it when it is the first one.
    pub(super) fn end_row(&mut self) -> Option<String> {
        self.skip_covered();
        let cells = std::mem::take(&mut self.cells);
        if cells.iter().all(String::is_empty) {
            return None;
        }
        let mut line = String::from("|");
        for cell in &cells {
            line.push(' ');
            line.push_str(cell);
            line.push_str(if cell.is_empty() { "|" } else { " |" });
        }
        if !std::mem::replace(&mut self.written, true) {
            line.push_str("\n|");
            line.push_str(&"---|".repeat(cells.len()));
        }
        Some(line)
    }
}

/// Passes over the inside of a node.
pub(super) fn past(tree: &Tree, id: Id, root: Id) -> Option<Step> {
    tree.after(Step::Leave(id), root)
}
