//! The text of a paged document (a PDF) by page, then by paragraph. A line `--- page 12 ---` begins a
//! page; who makes the text sees to it that no other line looks so.

use super::cut::{Cutter, Rank};
use super::line::lines;
use super::{Context, Titled, title};

/// Cuts at every page, else at blank lines; the title is the page and the first line of the chunk.
pub(super) fn cut(text: &str, context: &mut Context) -> Vec<Titled> {
    // A chunk belongs to one page, however little there is on it.
    let mut cutter = Cutter::new(text, 1);
    let mut marks: Vec<(usize, u64)> = Vec::new();
    let mut after_blank = false;
    for line in lines(text) {
        if line.is_blank() {
            after_blank = true;
            continue;
        }
        let page = page_of(line.text);
        let rank = match (page, after_blank) {
            (Some(page), _) => {
                marks.push((line.start, page));
                Rank::Section
            }
            (None, true) => Rank::Block,
            (None, false) => Rank::Line,
        };
        cutter.border(line.start, rank);
        after_blank = false;
    }
    let mut marks = marks.into_iter().peekable();
    let mut titled = Vec::new();
    for range in cutter.finish() {
        while let Some((_, page)) = marks.next_if(|(at, _)| *at <= range.start) {
            context.records = page;
        }
        let body = text.get(range.clone()).unwrap_or_default();
        let body = match body.split_once('\n') {
            Some((first, rest)) if page_of(first.as_bytes()).is_some() => rest,
            _ => body,
        };
        let line = title::first_line(body);
        let name = match context.records {
            0 => line,
            page if line.is_empty() => format!("page {page}"),
            page => format!("page {page} > {line}"),
        };
        titled.push((range, name));
    }
    titled
}

/// The number in the line that begins a page.
fn page_of(line: &[u8]) -> Option<u64> {
    let number = line.strip_prefix(b"--- page ")?.strip_suffix(b" ---")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}
