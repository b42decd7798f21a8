//! Plain text by paragraph.

use super::cut::{Cutter, Rank};
use super::line::lines;
use super::{Titled, title};

/// Bytes below which a paragraph is joined with what follows.
const TINY: usize = 160;

/// Cuts at blank lines, else at lines that are not indented; the title is the first line.
pub(super) fn cut(text: &str) -> Vec<Titled> {
    let mut cutter = Cutter::new(text, TINY);
    let mut after_blank = false;
    for line in lines(text) {
        if line.is_blank() {
            after_blank = true;
            continue;
        }
        let rank = match (after_blank, line.is_indented()) {
            (true, _) => Rank::Block,
            (false, false) => Rank::Line,
            (false, true) => Rank::Inner,
        };
        cutter.border(line.start, rank);
        after_blank = false;
    }
    let title = |range: &std::ops::Range<usize>| {
        title::first_line(text.get(range.clone()).unwrap_or_default())
    };
    cutter.finish().into_iter().map(|range| (range.clone(), title(&range))).collect()
}
