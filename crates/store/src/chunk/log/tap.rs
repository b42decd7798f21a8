//! The Test Anything Protocol: a test point, the comment that names it and the details under it are one
//! block (<https://testanything.org/tap-version-14-specification.html>).

use super::super::line::{Line, trim};

/// Where in such a stream the lines so far have led.
#[derive(Debug, Default)]
pub(super) struct Tap {
    /// The last line was a test point, so details may follow.
    point: bool,
    /// Indentation of the details that are open.
    details: Option<u32>,
    /// The last line names the test point that failed in this one.
    named: bool,
}

/// What a line is to the test point it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Names a test that failed, which the next line says.
    Name,
    /// The point that was named before.
    Point,
    /// A line of the details, whatever it says.
    Detail,
}

impl Tap {
    /// What the next line is; `rest` is the text behind it. `None`: whatever it says by itself.
    pub(super) fn read(&mut self, line: &Line<'_>, rest: &[u8]) -> Option<Part> {
        if self.details.is_none() && !self.point && !self.named && !may_open(line.text) {
            return None;
        }
        let (indent, text) = line.indent();
        let text = text.trim_ascii_end();
        if let Some(open) = self.details {
            if indent >= open {
                if indent == open && text == b"..." {
                    self.details = None;
                }
                return Some(Part::Detail);
            }
            self.details = None;
        }
        if std::mem::take(&mut self.point) && text == b"---" {
            self.details = Some(indent);
            return Some(Part::Detail);
        }
        let failed = text.starts_with(b"not ok ");
        self.point = failed || text.starts_with(b"ok ");
        if std::mem::take(&mut self.named) && failed {
            return Some(Part::Point);
        }
        self.named = text.starts_with(b"# Subtest: ") && trim(rest).starts_with(b"not ok ");
        self.named.then_some(Part::Name)
    }
}

/// Whether a line may be the first of a block; most leave at the first byte that is not blank.
#[inline]
fn may_open(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    matches!(text.first(), Some(b'#' | b'n' | b'o'))
}
