//! JSON by key path, on the source text: pretty, minified, with comments, broken, or one value a line.
//!
//! One pass over the bytes; the text is never parsed into values or printed again, so a chunk is
//! exactly what the file holds. A member begins at its key (with the white space before it on its
//! line); closing brackets and commas belong to the member before them.

use super::outline::{Label, Outline, Style};
use super::{Context, Step, Titled, identity, title};

/// Whether line ends separate values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One document, or several one after another.
    Document,
    /// One value a line; a broken line does not spoil the next.
    Records,
}

/// Numbers and short strings of a list are told apart only every so many bytes.
const STEP: usize = 48;
/// Cuts at members.
pub(super) fn cut(form: Form, text: &str, context: &mut Context) -> Vec<Titled> {
    let outline = scan(form, Outline::default(), text, context);
    let style =
        Style { separator: '.', root: &|index| root(form, index), note: &identity::of_json };
    outline.cut(text, &style)
}

/// The name of a top-level value; records are counted as people do, and over all windows.
fn root(form: Form, index: u64) -> String {
    match form {
        Form::Records => format!("record {}", index + 1),
        Form::Document => String::new(),
    }
}

/// Fills the outline of a text; continues what `context` left open and leaves there what is open now.
pub(super) fn scan(form: Form, outline: Outline, text: &str, context: &mut Context) -> Outline {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
        form,
        outline,
        open: Vec::new(),
        roots: context.records,
        fresh: true,
        border: 0,
        listed: 0,
    };
    scanner.resume(context);
    scanner.run();
    scanner.suspend(text, context);
    scanner.outline
}

/// An open container.
#[derive(Debug)]
struct Open {
    list: bool,
    index: u64,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    form: Form,
    outline: Outline,
    open: Vec<Open>,
    /// Top-level values so far.
    roots: u64,
    /// Whether the next value or key starts a member, which then begins at `border`.
    fresh: bool,
    border: usize,
    /// Where the last element of a list was reported.
    listed: usize,
}

impl Scanner<'_> {
    fn resume(&mut self, context: &mut Context) {
        for step in std::mem::take(&mut context.trail) {
            self.outline.member(0, Label::Known(step.label));
            self.outline.open();
            self.open.push(Open { list: step.level & 1 == 1, index: u64::from(step.level >> 1) });
            self.fresh = context.fresh;
        }
        if std::mem::take(&mut context.quoted) {
            self.at = string_end(self.bytes, 0);
            self.fresh = false;
        }
    }

    fn suspend(&mut self, text: &str, context: &mut Context) {
        context.records = self.roots;
        context.quoted = self.at > self.bytes.len();
        context.fresh = self.fresh;
        let form = self.form;
        let labels = self.outline.trail().enumerate().map(|(depth, label)| match label {
            Label::Index(index) if depth == 0 => root(form, *index),
            Label::Key(key) => title::clean(text.get(key.clone()).unwrap_or_default(), 80),
            Label::Index(index) => format!("[{index}]"),
            Label::Known(label) => label.clone(),
        });
        let steps = labels.zip(&self.open).map(|(label, open)| Step {
            level: (open.index.min(1 << 30) as u32) << 1 | u32::from(open.list),
            label,
        });
        context.trail = steps.collect();
    }

    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    self.line_feed();
                }
                b'"' => self.string(),
                b'{' | b'[' => {
                    self.start_value();
                    self.outline.open();
                    self.open.push(Open { list: byte == b'[', index: 0 });
                    self.at += 1;
                    self.listed = 0;
                    self.next_member();
                }
                b'}' | b']' => {
                    self.at += 1;
                    if self.open.pop().is_some() {
                        self.outline.close(self.at);
                        self.listed = 0;
                    }
                    self.fresh = false;
                    if self.open.is_empty() {
                        self.next_member();
                    }
                }
                b',' => {
                    self.at += 1;
                    if let Some(open) = self.open.last_mut() {
                        open.index += 1;
                    }
                    self.next_member();
                }
                b'/' if matches!(self.bytes.get(self.at + 1), Some(b'/' | b'*')) => self.comment(),
                _ => {
                    self.start_value();
                    self.at += 1;
                    let rest = &self.bytes[self.at..];
                    let ends = |byte: &u8| {
                        matches!(
                            byte,
                            b' ' | b'\t'
                                | b'\r'
                                | b'\n'
                                | b'"'
                                | b'{'
                                | b'}'
                                | b'['
                                | b']'
                                | b','
                                | b'/'
                        )
                    };
                    let more = rest.iter().position(ends);
                    self.at += more.unwrap_or(rest.len());
                    if self.open.is_empty() {
                        self.next_member();
                    }
                }
            }
        }
    }

    fn line_feed(&mut self) {
        if self.form == Form::Records {
            // Whatever the line left open ends with it.
            while self.open.pop().is_some() {
                self.outline.close(self.at);
            }
            self.fresh = true;
            self.border = self.at;
        } else if self.fresh && self.open.is_empty() {
            self.border = self.at;
        }
    }

    /// The next key or value starts a member; its border is the next line if nothing else stands
    /// on this one.
    fn next_member(&mut self) {
        self.fresh = true;
        self.border = self.at;
        let rest = &self.bytes[self.at..];
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        if rest.get(blank) == Some(&b'\n') {
            self.at += blank;
            self.border = self.at + 1;
        }
    }

    fn string(&mut self) {
        let start = self.at + 1;
        let end = string_end(self.bytes, start);
        if self.fresh {
            if self.open.last().is_some_and(|open| !open.list) {
                let inside = start..end.saturating_sub(1).clamp(start, self.bytes.len());
                self.outline.member(self.border, Label::Key(inside));
                self.fresh = false;
            } else {
                self.start_value();
            }
        }
        self.at = end;
        if self.open.is_empty() && end <= self.bytes.len() {
            self.next_member();
        }
    }

    /// A value starts here: in a list or at top level that is a member.
    fn start_value(&mut self) {
        if !self.fresh {
            return;
        }
        self.fresh = false;
        let container = matches!(self.bytes[self.at], b'{' | b'[');
        let record = self.form == Form::Records && self.open.is_empty();
        let label = match self.open.last() {
            None => {
                self.roots += 1;
                Label::Index(self.roots - 1)
            }
            // A value where a key should be: broken, but a member.
            Some(open) => Label::Index(open.index),
        };
        let far = self.listed == 0 || self.border >= self.listed + STEP;
        if container || record || far {
            self.outline.member(self.border, label);
            self.listed = self.border.max(1);
        }
    }

    fn comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = if rest.starts_with(b"//") {
            memchr::memchr(b'\n', rest)
        } else {
            memchr::memmem::find(rest, b"*/").map(|at| at + 2)
        };
        self.at += end.unwrap_or(rest.len());
    }
}

/// Where the string whose inside starts at `start` ends: after its quote, or at the end of its line
/// when it has none; one past the end of the text when the text ends within it.
pub(super) fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) =
        bytes.get(at..).and_then(|rest| memchr::memchr3(b'"', b'\\', b'\n', rest))
    {
        at += found;
        match bytes[at] {
            b'"' => return at + 1,
            b'\n' => return at,
            _ => at += 2,
        }
    }
    bytes.len() + 1
}
