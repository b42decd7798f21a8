//! Rows in aligned columns.

use super::{
    look::{Look, Style},
    text,
};

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows under a heading. The last column is cut at the width of a person's terminal.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    heading: [(&'static str, Align); N],
    rows: Vec<[(Style, String); N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(heading: [(&'static str, Align); N]) -> Self {
        Self { heading, rows: Vec::new() }
    }

    /// Adds a row; what comes from elsewhere is made harmless here.
    pub(crate) fn row(&mut self, cells: [(Style, String); N]) {
        self.rows.push(cells.map(|(style, cell)| (style, text::one_line(&cell))));
    }

    /// The lines.
    pub(crate) fn render(&self, look: Look) -> String {
        let heading = self.heading.map(|(name, _)| (Style::Dim, name.to_owned()));
        let rows = std::iter::once(&heading).chain(&self.rows);
        let mut widths = [0; N];
        for row in rows.clone() {
            for (width, (_, cell)) in widths.iter_mut().zip(row) {
                *width = text::columns(cell).max(*width);
            }
        }
        rows.map(|row| self.line(row, &widths, look)).collect()
    }

    fn line(&self, row: &[(Style, String); N], widths: &[usize; N], look: Look) -> String {
        let mut line = String::new();
        let mut taken = 0;
        for (at, (((style, cell), width), (_, align))) in
            row.iter().zip(widths).zip(&self.heading).enumerate()
        {
            let last = at + 1 == N;
            let room = look.width.saturating_sub(taken).max(12);
            let cell = if last && look.person { text::cut(cell, room) } else { cell.clone() };
            let blanks = " ".repeat(width.saturating_sub(text::columns(&cell)));
            let painted = look.paint(*style, &cell);
            match (align, last) {
                (Align::Right, _) => line.push_str(&format!("{blanks}{painted}")),
                (Align::Left, true) => line.push_str(&painted),
                (Align::Left, false) => line.push_str(&format!("{painted}{blanks}")),
            }
            if !last {
                line.push_str("  ");
            }
            taken += width + 2;
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_foreign_text_is_harmless() {
        let mut table = Table::new([("A", Align::Right), ("B", Align::Left), ("C", Align::Left)]);
        let row = |a: &str, b: &str, c: &str| [a, b, c].map(|cell| (Style::Plain, cell.to_owned()));
        table.row(row("1", "x", "first"));
        table.row(row(
            "1,000",
            "日本",
            "a\u{1b}[2J b that is far too long for the terminal it is in",
        ));
        let piped =
            Look { person: false, drawable: false, colour: false, unicode: true, width: 40 };
        assert_eq!(
            table.render(piped),
            "    A  B     C\n    1  x     first\n1,000  日本  a\u{fffd}[2J b that is far too long for the terminal it is in\n"
        );
        let seen = table.render(Look { person: true, ..piped });
        assert_eq!(
            seen,
            "    A  B     C\n    1  x     first\n1,000  日本  a\u{fffd}[2J b that is far too lo…\n"
        );
    }
}
