//! Reads a PDF page by page with a library that interprets its drawing; runs in the box only.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps,
    InterpreterCache, InterpreterSettings, SoftMask, interpret_page,
};

use super::layout::{Layout, Placed};

/// What is found, in the order of the document.
#[derive(Debug)]
pub(super) enum Found {
    /// The title that the document gives itself.
    Title(String),
    /// The text of the next page; empty when it has none.
    Page(String),
    /// The next page is damaged beyond reading.
    Unreadable,
}

/// Why there is nothing to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It needs a password, or is encrypted in a way that is not known.
    Encrypted,
    /// It is not a PDF, or its structure is damaged beyond repair.
    Damaged,
}

/// Reads all pages until `take` says no; how many pages there are.
pub(super) fn read(bytes: Vec<u8>, take: &mut dyn FnMut(Found) -> bool) -> Result<u32, Unread> {
    let opened = catch_unwind(|| Pdf::new(bytes)).map_err(|_| Unread::Damaged)?;
    let pdf = opened.map_err(|error| match error {
        LoadPdfError::Decryption(_) => Unread::Encrypted,
        LoadPdfError::Invalid => Unread::Damaged,
    })?;
    let pages = pdf.pages();
    let total = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    if total == 0 {
        return Err(Unread::Damaged);
    }
    if let Some(title) = pdf.metadata().title.as_deref().map(text_string)
        && !title.is_empty()
        && !take(Found::Title(title))
    {
        return Ok(total);
    }
    // Fonts are shared by the pages; one page's damage is its own.
    let cache = InterpreterCache::new();
    for page in pages.iter() {
        let text = catch_unwind(AssertUnwindSafe(|| page_text(page, &cache, &pdf)));
        let found = text.map_or(Found::Unreadable, Found::Page);
        if !take(found) {
            break;
        }
    }
    Ok(total)
}

fn page_text<'a>(page: &'a Page<'a>, cache: &InterpreterCache<'a>, pdf: &'a Pdf) -> String {
    // Nothing is painted, so the bounds do not matter.
    let bounds = Rect::new(0.0, 0.0, 1.0, 1.0);
    let settings = InterpreterSettings::default();
    let mut context = Context::new(Affine::IDENTITY, bounds, cache, pdf.xref(), settings);
    let mut reader = Reader::default();
    interpret_page(page, &mut context, &mut reader);
    reader.layout.finish()
}

/// A text string of the document's information: UTF-16 with its mark, UTF-8 with its mark, or
/// bytes of PDFDocEncoding, of which the ASCII part is taken.
fn text_string(bytes: &[u8]) -> String {
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => {
            let units = rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect()
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        bytes => {
            bytes.iter().map(|byte| if byte.is_ascii() { *byte as char } else { ' ' }).collect()
        }
    };
    text.split(|c: char| c.is_control() || c == ' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Hears of everything that is drawn and keeps the glyphs.
#[derive(Default)]
struct Reader {
    layout: Layout,
}

impl<'a> Device<'a> for Reader {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        for glyph in run.glyphs() {
            let place = props.transform * glyph.transform();
            let text = match glyph.as_unicode() {
                Some(BfString::Char(c)) => c.to_string(),
                Some(BfString::String(text)) => text,
                None => by_code(glyph).map(String::from).unwrap_or_default(),
            };
            let advance = match &**glyph {
                Glyph::Outline(outline) => outline.advance_width(),
                Glyph::Type3(glyph) => glyph.advance_width(),
            };
            let origin = place * Point::ZERO;
            let along = vector(place, Vec2::new(1.0, 0.0));
            let up = vector(place, Vec2::new(0.0, 1.0));
            // Glyph space has a thousand units for the font's height.
            let size = up.hypot() * 1000.0;
            let advance = f64::from(advance.unwrap_or(500.0)) * along.hypot();
            let (turn, start, base) = if along.x.abs() >= along.y.abs() {
                if along.x >= 0.0 { (0, origin.x, -origin.y) } else { (2, -origin.x, origin.y) }
            } else if along.y >= 0.0 {
                (1, origin.y, origin.x)
            } else {
                (3, -origin.y, -origin.x)
            };
            let placed = Placed { text: &text, start, end: start + advance, base, size, turn };
            self.layout.place(placed);
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
}

/// What a glyph drawn by instructions most likely stands for where its font names it after nothing:
/// such fonts come from TeX, whose codes are ASCII, with ligatures in one of two places.
fn by_code(glyph: &Glyph<'_>) -> Option<&'static str> {
    const LIGATURES: [&str; 5] = ["ff", "fi", "fl", "ffi", "ffl"];
    const ASCII: &str = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
    let Glyph::Type3(glyph) = glyph else { return None };
    let code = usize::try_from(glyph.char_code()).ok()?;
    match code {
        0x0b..=0x0f => LIGATURES.get(code - 0x0b).copied(),
        0x1b..=0x1f => LIGATURES.get(code - 0x1b).copied(),
        _ => ASCII.get(code.checked_sub(0x20)?..code - 0x1f),
    }
}

/// A direction under a transform: without its translation.
fn vector(transform: Affine, direction: Vec2) -> Vec2 {
    let [a, b, c, d, _, _] = transform.as_coeffs();
    Vec2::new(a * direction.x + c * direction.y, b * direction.x + d * direction.y)
}
