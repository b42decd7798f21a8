//! From drawn glyphs to lines and paragraphs: a PDF has neither, only characters at places.

/// One glyph as it was drawn, in the page's own units, turned so that its text runs to the right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    /// What it stands for; empty when the font does not tell.
    pub(super) text: &'a str,
    /// Where it starts, along the line.
    pub(super) start: f64,
    /// Where the next one would start.
    pub(super) end: f64,
    /// Its baseline; grows downwards.
    pub(super) base: f64,
    /// Height of the font.
    pub(super) size: f64,
    /// Direction of the text in quarter turns: glyphs of different turns share no line.
    pub(super) turn: i8,
}

/// Blanks between words are at least this wide, in font heights.
const BLANK: f64 = 0.15;
/// Baselines this far apart, in font heights, are two lines; less is a raised or lowered sign.
const LINE: f64 = 0.5;
/// Lines this far apart, in font heights, are two paragraphs.
const PARAGRAPH: f64 = 1.7;
/// Text that starts this far left of where the last one ended is a new line at the same height.
const BACK: f64 = 1.0;

/// Collects the glyphs of a page in the order they are drawn, which is nearly always that of reading.
#[derive(Debug, Default)]
pub(super) struct Layout {
    text: String,
    last: Option<Last>,
    /// Glyphs that stand for no character.
    pub(super) unknown: usize,
    /// All glyphs.
    pub(super) glyphs: usize,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    start: f64,
    end: f64,
    base: f64,
    size: f64,
    turn: i8,
}

impl Layout {
    /// Takes the next glyph.
    pub(super) fn place(&mut self, glyph: Placed<'_>) {
        self.glyphs += 1;
        if !(glyph.start.is_finite() && glyph.end.is_finite() && glyph.base.is_finite()) {
            return;
        }
        if glyph.text.is_empty() {
            self.unknown += 1;
        }
        if let Some(last) = self.last {
            self.separate(last, &glyph);
        }
        let blank = glyph.text.chars().all(|c| c.is_whitespace() || c.is_control());
        if glyph.text.is_empty() {
            self.text.push('\u{fffd}');
        } else if blank {
            self.blank();
        } else {
            glyph.text.chars().for_each(|c| push(&mut self.text, c));
        }
        // A blank at the edge of a line says nothing about where the line is.
        if !blank || glyph.text.is_empty() || self.last.is_none() {
            let Placed { start, end, base, size, turn, .. } = glyph;
            self.last = Some(Last { start, end, base, size, turn });
        } else if let Some(last) = &mut self.last
            && glyph.turn == last.turn
            && (glyph.base - last.base).abs() < LINE * last.size
        {
            last.end = glyph.end;
        }
    }

    /// The page's text: lines without blanks at their ends, paragraphs with one empty line between.
    pub(super) fn finish(self) -> String {
        let mut text = String::with_capacity(self.text.len() + 1);
        let mut empty = 0;
        for line in self.text.lines() {
            let line = line.trim_end();
            if line.is_empty() {
                empty += 1;
                continue;
            }
            if !text.is_empty() {
                text.push_str(if empty > 0 { "\n\n" } else { "\n" });
            }
            empty = 0;
            text.push_str(line);
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    /// What stands between two glyphs: nothing, a blank, a line end, or an empty line.
    fn separate(&mut self, last: Last, next: &Placed<'_>) {
        let size = last.size.max(next.size).max(f64::EPSILON);
        let down = next.base - last.base;
        let gap = next.start - last.end;
        if last.turn != next.turn {
            self.break_lines("\n\n");
        } else if down.abs() >= LINE * size {
            // Upwards is the next column, or what stands beside.
            let far = down < 0.0 || down > PARAGRAPH * size;
            if !far && self.joins(next) {
                return;
            }
            self.break_lines(if far { "\n\n" } else { "\n" });
        } else if gap > BLANK * size {
            self.blank();
        } else if next.end < last.start && gap < -BACK * size {
            self.break_lines("\n");
        }
    }

    /// Takes the hyphen of a word that was broken at the end of a line away.
    fn joins(&mut self, next: &Placed<'_>) -> bool {
        let mut end = self.text.chars().rev();
        let hyphen = matches!(end.next(), Some('-' | '\u{ad}' | '\u{2010}'));
        let small = |c: Option<char>| c.is_some_and(char::is_lowercase);
        let broken =
            hyphen && small(end.next()) && small(end.next()) && small(next.text.chars().next());
        if broken {
            self.text.pop();
        }
        broken
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    fn break_lines(&mut self, ends: &str) {
        if !self.text.is_empty() {
            self.text.push_str(ends);
        }
    }
}

/// Ligatures become letters, so that words are found; what controls a terminal is left out.
fn push(text: &mut String, c: char) {
    match c {
        '\u{fb00}' => text.push_str("ff"),
        '\u{fb01}' => text.push_str("fi"),
        '\u{fb02}' => text.push_str("fl"),
        '\u{fb03}' => text.push_str("ffi"),
        '\u{fb04}' => text.push_str("ffl"),
        '\u{fb05}' | '\u{fb06}' => text.push_str("st"),
        c if c.is_control() => {}
        c => text.push(c),
    }
}
