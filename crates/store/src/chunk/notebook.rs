//! Jupyter notebooks by cell: cut as JSON, titled by heading, number and first line of the cell.

use std::ops::Range;

use super::json::{self, Form};
use super::outline::{Outline, Style};
use super::{Context, Step, Titled, heading, title};

/// Members around a cell: the notebook and its list of cells.
const CELL_DEPTH: u8 = 2;

/// A cell of the notebook.
#[derive(Debug)]
struct Cell {
    bytes: Range<usize>,
    label: String,
}

/// Cuts at cells and, in large cells, at their members.
pub(super) fn cut(text: &str, context: &mut Context) -> Vec<Titled> {
    let outline = json::scan(Form::Document, Outline::apart(CELL_DEPTH), text, context);
    let style = Style { separator: '.', root: &|_| String::new(), note: &|_, _| String::new() };
    let cells = cells(text);
    let mut next = 0;
    let titled = |(range, path): Titled| {
        while cells.get(next).is_some_and(|cell| cell.bytes.end <= range.start) {
            next += 1;
        }
        let held = cells.iter().skip(next).take_while(|cell| cell.bytes.start < range.end);
        let title = title::join(held.map(|cell| cell.label.as_str()), "; ");
        (range, if title.is_empty() { path } else { title })
    };
    outline.cut(text, &style).into_iter().map(titled).collect()
}

/// The cells by their `cell_type` keys: a cell reaches from the brace before the key to the next
/// cell. Works on broken and cut texts as well.
fn cells(text: &str) -> Vec<Cell> {
    let bytes = text.as_bytes();
    let keys: Vec<usize> = memchr::memmem::find_iter(bytes, b"\"cell_type\"").collect();
    let starts: Vec<usize> = keys.iter().map(|&key| brace_before(bytes, key)).collect();
    let mut trail: Vec<Step> = Vec::new();
    let mut cells = Vec::with_capacity(keys.len());
    for (index, &key) in keys.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(bytes.len());
        let start = starts[index].min(end);
        let body = text.get(start..end).unwrap_or_default();
        let kind = if text.get(key..end).is_some_and(|rest| {
            rest.trim_start_matches("\"cell_type\"")
                .trim_start_matches([':', ' '])
                .starts_with("\"markdown\"")
        }) {
            "markdown"
        } else {
            "code"
        };
        let source = source_lines(body);
        if kind == "markdown" {
            for line in &source {
                let level = line.bytes().take_while(|&byte| byte == b'#').count();
                if level > 0 && level <= 6 && line.as_bytes().get(level) == Some(&b' ') {
                    let level = level as u32;
                    trail.retain(|step| step.level < level);
                    let label = heading::label(&line.as_bytes()[level as usize..]);
                    trail.push(Step { level, label });
                }
            }
        }
        let place = title::join(trail.iter().map(|step| step.label.as_str()), " > ");
        let first = source.iter().find(|line| !line.trim().is_empty());
        let first = first.map_or("", |line| line.as_str());
        let shown = if kind == "markdown" && first.starts_with('#') { "" } else { first };
        let number = format!("cell {}", index + 1);
        let label = title::pair(&title::pair(&place, " > ", &number), ": ", shown);
        cells.push(Cell { bytes: start..end, label: title::clean(&label, title::TITLE_CHARS) });
    }
    cells
}

/// The brace that opens the cell of a key: keys that may stand before it are short.
fn brace_before(bytes: &[u8], key: usize) -> usize {
    let near = key.saturating_sub(1_024);
    memchr::memrchr(b'{', &bytes[near..key]).map_or(key, |at| near + at)
}

/// The first lines of a cell's source, which is a string or a list of strings.
fn source_lines(cell: &str) -> Vec<String> {
    let Some(at) = cell.find("\"source\"") else { return Vec::new() };
    let rest =
        cell.get(at + 8..).unwrap_or_default().trim_start_matches([':', ' ', '\n', '\r', '\t']);
    let list = rest.starts_with('[');
    let mut lines = Vec::new();
    let mut rest = rest.trim_start_matches('[').trim_start();
    while let Some(inside) = rest.strip_prefix('"') {
        let bytes = inside.as_bytes();
        let mut end = 0;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let value = inside.get(..end.min(inside.len())).unwrap_or_default();
        let value = value.replace("\\n", "\n").replace("\\\"", "\"").replace("\\t", " ");
        lines.extend(value.lines().take(40).map(str::to_owned));
        if !list || lines.len() > 40 {
            break;
        }
        rest = inside
            .get(end + 1..)
            .unwrap_or_default()
            .trim_start()
            .trim_start_matches(',')
            .trim_start();
    }
    lines
}
