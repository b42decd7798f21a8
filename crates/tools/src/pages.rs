//! A PDF as text for the store: read by `exec` in a box, a marked page after the other.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use quietcontext_exec::{ExecError, Pdf, PdfError};

use crate::context::Context;
use crate::error::ToolError;
use crate::render::{counted, one_line};

/// A PDF's text and what its reader must know about it.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Each page behind a line `--- page 12 ---`, which no line of a page can look like.
    pub text: String,
    /// Its number of pages, and what is missing.
    pub notes: Vec<String>,
}

/// Pages that are named one by one in a note.
const NAMED: usize = 5;

/// Whether a file begins as a PDF does.
pub(crate) fn is_pdf(file: &File) -> bool {
    let mut head = [0; 5];
    file.read_exact_at(&mut head, 0).is_ok() && head == *b"%PDF-"
}

impl Pages {
    /// Reads the PDF in an open file.
    ///
    /// # Errors
    /// One line: it is encrypted, damaged, a scan, or its reader did not get through.
    pub(crate) fn read(context: &Context, file: &File) -> Result<Self, ToolError> {
        match context.shared.executor.pdf(file, context.deadline, &context.cancel) {
            Ok(pdf) => Self::of(&pdf).ok_or_else(|| {
                let pages = counted(pdf.pages.len() as u64, "page");
                let what = format!("the PDF has no text on its {pages}: a scan or drawings");
                ToolError::Failed(format!("{what}; nothing was indexed"))
            }),
            Err(PdfError::Cancelled) => Err(ToolError::Cancelled),
            Err(error) => {
                tracing::debug!(?error, "a PDF was not read");
                let message = format!("{error}; nothing was indexed");
                Err(match error {
                    PdfError::Exec(ExecError::Unconfinable(_)) => ToolError::Refused(message),
                    _ => ToolError::Failed(message),
                })
            }
        }
    }

    /// The pages as one text; `None` where none has any.
    fn of(pdf: &Pdf) -> Option<Self> {
        let mut text = String::new();
        let (mut empty, mut damaged) = (Vec::new(), Vec::new());
        for (number, page) in (1..).zip(&pdf.pages) {
            text.push_str(&format!("--- page {number} ---\n"));
            match page.as_deref() {
                Some("") => empty.push(number),
                None => damaged.push(number),
                Some(page) => page.lines().for_each(|line| {
                    if line.starts_with("--- page ") {
                        text.push(' ');
                    }
                    text.push_str(line);
                    text.push('\n');
                }),
            }
        }
        if empty.len() + damaged.len() == pdf.pages.len() {
            return None;
        }
        let mut notes = vec![counted(pdf.pages.len() as u64, "page")];
        notes.extend(named("no text on", &empty));
        notes.extend(named("damaged:", &damaged));
        let unknown = text.matches('\u{fffd}').count();
        if unknown * 2 > text.chars().filter(|c| !c.is_whitespace()).count() {
            notes.push("its fonts do not say which characters they draw".to_owned());
        }
        notes.extend(pdf.cut.as_deref().map(|cut| format!("incomplete: {}", one_line(cut))));
        Some(Self { text, notes })
    }
}

/// `no text on pages 3, 4`, the first few by number.
fn named(what: &str, pages: &[u64]) -> Option<String> {
    let numbers: Vec<_> = pages.iter().take(NAMED).map(u64::to_string).collect();
    let noun = if pages.len() == 1 { "page" } else { "pages" };
    let more = pages.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!pages.is_empty()).then(|| format!("{what} {noun} {}{more}", numbers.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pdf(pages: &[Option<&str>]) -> Pdf {
        Pdf { pages: pages.iter().map(|page| page.map(String::from)).collect(), ..Pdf::default() }
    }

    #[test]
    fn pages_are_marked_and_cannot_mark_themselves() {
        let read = Pages::of(&pdf(&[Some("one\n--- page 9 ---\n"), Some(""), None])).unwrap();
        assert_eq!(
            read.text,
            "--- page 1 ---\none\n --- page 9 ---\n--- page 2 ---\n--- page 3 ---\n"
        );
        assert_eq!(read.notes, ["3 pages", "no text on page 2", "damaged: page 3"]);
        assert!(Pages::of(&pdf(&[Some(""), None])).is_none());
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut many = pdf(&[Some("text\n")]);
        many.pages.extend(vec![Some(String::new()); 7]);
        many.cut = Some("its reader crashed (SIGSEGV) after page 8".into());
        let read = Pages::of(&many).unwrap();
        assert_eq!(read.notes[1], "no text on pages 2, 3, 4, 5, 6 and 2 more");
        assert!(read.notes.last().unwrap().starts_with("incomplete: its reader crashed"));
    }
}
