//! reStructuredText by heading: underlined (and overlined) titles, in the order their signs appear.

use super::cut::{Cutter, Rank};
use super::heading::{Heading, breadcrumbs};
use super::line::{Line, lines, trim};
use super::{Context, Titled, title};

/// Bytes below which a section is joined with the next one.
const TINY: usize = 120;

/// Cuts at headings, then blank lines before text that is not indented (directives stay whole).
pub(super) fn cut(text: &str, context: &mut Context) -> Vec<Titled> {
    let mut cutter = Cutter::new(text, TINY);
    let mut headings: Vec<Heading> = Vec::new();
    // (sign, overlined), in order of appearance: that is what makes a level.
    let mut styles: Vec<(u8, bool)> = Vec::new();
    let mut before: [Option<Line<'_>>; 2] = [None, None];
    let mut after_blank = true;
    for line in lines(text) {
        if line.is_blank() {
            after_blank = true;
            before = [None, None];
            continue;
        }
        let heading = rule(line.text).and_then(|sign| {
            let name = before[1].filter(|name| rule(name.text).is_none())?;
            let over = before[0].filter(|over| rule(over.text) == Some(sign));
            let wide = trim(line.text).len() + 1 >= text_width(name.text).min(200);
            (wide || over.is_some()).then_some((sign, name, over))
        });
        if let Some((sign, name, over)) = heading {
            let style = (sign, over.is_some());
            let level = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            let at = over.map_or(name.start, |over| over.start);
            cutter.border(at, Rank::Section);
            let label = title::clean_bytes(trim(name.text), title::LINE_CHARS).replace('`', "");
            headings.push(Heading { at, level: level as u32 + 1, label });
            before = [None, None];
            after_blank = false;
            continue;
        }
        let rank = match (after_blank, line.is_indented()) {
            (true, false) => Rank::Block,
            (true, true) => Rank::Line,
            (false, _) => Rank::Inner,
        };
        // A line that may be (part of) a heading gets its border when that is known.
        if rule(line.text).is_none() && before[1].is_none_or(|over| rule(over.text).is_none()) {
            cutter.border(line.start, rank);
        }
        before = [before[1], Some(line)];
        after_blank = false;
    }
    breadcrumbs(cutter.finish(), headings, context)
}

/// The sign of a line that is a run of one punctuation sign.
fn rule(line: &[u8]) -> Option<u8> {
    let line = line.trim_ascii_end();
    let sign = *line.first()?;
    let run =
        line.len() >= 3 && sign.is_ascii_punctuation() && line.iter().all(|&byte| byte == sign);
    // A run of dots or colons is a marker of something else.
    (run && sign != b'.' && sign != b':').then_some(sign)
}

/// Columns of a line: wide characters count two, so count bytes of long characters sparingly.
fn text_width(line: &[u8]) -> usize {
    std::str::from_utf8(line).map_or(line.len(), |text| text.trim_end().chars().count())
}
