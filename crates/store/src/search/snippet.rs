//! Cuts the preview of a hit: whole lines around those with the most of what was asked.

use super::features::Reader;
use super::fold::fold;

/// The most characters of a preview.
const MAX_CHARACTERS: usize = 600;

/// At most 600 characters of a text around the lines that matter most to the reader.
pub(super) fn snippet(reader: &Reader<'_>, body: &str) -> String {
    if body.chars().count() <= MAX_CHARACTERS {
        return body.trim_end().to_owned();
    }
    let lines: Vec<&str> = body.split_inclusive('\n').collect();
    let sizes: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    let worth: Vec<f64> = lines.iter().map(|line| reader.line_rarity(&fold(line))).collect();
    let best = |range: std::ops::Range<usize>| -> f64 { worth[range].iter().sum() };
    let mut choice = (f64::MIN, 0, 0);
    let mut end = 0;
    let mut size = 0;
    for start in 0..lines.len() {
        while end < lines.len() && size + sizes[end] <= MAX_CHARACTERS {
            size += sizes[end];
            end += 1;
        }
        if end > start {
            let total = best(start..end);
            if total > choice.0 {
                choice = (total, start, end);
            }
            size -= sizes[start];
        } else {
            // One line is longer than the preview.
            if worth[start] > choice.0 {
                choice = (worth[start], start, start + 1);
            }
            end = start + 1;
            size = 0;
        }
    }
    let (_, start, end) = choice;
    let chosen = lines.get(start..end).unwrap_or_default().concat();
    if chosen.chars().count() <= MAX_CHARACTERS {
        return chosen.trim_end().to_owned();
    }
    window(reader, &chosen)
}

/// The stretch of one long line that has the most of what was asked.
fn window(reader: &Reader<'_>, line: &str) -> String {
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let mut choice = (f64::MIN, "");
    for first in (0..starts.len()).step_by(MAX_CHARACTERS / 4) {
        let from = starts.get(first).copied().unwrap_or(0);
        let to = starts.get(first + MAX_CHARACTERS).copied().unwrap_or(line.len());
        let piece = line.get(from..to).unwrap_or_default();
        let worth = reader.line_rarity(&fold(piece));
        if worth > choice.0 {
            choice = (worth, piece);
        }
    }
    choice.1.trim_end().to_owned()
}
