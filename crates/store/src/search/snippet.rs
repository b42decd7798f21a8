//! Cuts the preview of a hit: whole lines around those with the most of what was asked.

use std::ops::Range;

use super::features::Reader;
use super::fold::fold;

/// The most characters of a [`Hit::snippet`](crate::Hit::snippet).
pub const SNIPPET_CHARS: usize = 600;

/// At most [`SNIPPET_CHARS`] of a text around the lines that matter most to the reader.
pub(super) fn snippet(reader: &mut Reader<'_>, body: &str) -> String {
    if body.chars().count() <= SNIPPET_CHARS {
        return body.trim_end().to_owned();
    }
    let lines: Vec<&str> = body.split_inclusive('\n').collect();
    let sizes: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    let lower = fold(body);
    let both = lines.iter().zip(lower.split_inclusive('\n'));
    let worth: Vec<f64> = both.map(|(line, lower)| reader.line_worth(line, lower)).collect();
    let windows = windows(&sizes);
    let value = |window: &Range<usize>| worth[window.clone()].iter().sum::<f64>();
    let best = windows.iter().map(value).fold(0.0, f64::max);
    let equals: Vec<&Range<usize>> =
        windows.iter().filter(|window| value(window) >= best - 1e-9).collect();
    // What matters stands in the upper part of it: what follows a match says more than what led to it.
    let chosen = equals.get(equals.len() * 2 / 3).map_or(0..0, |window| (*window).clone());
    let chosen = lines.get(chosen).unwrap_or_default().concat();
    if chosen.chars().count() <= SNIPPET_CHARS {
        return chosen.trim_end().to_owned();
    }
    stretch(reader, &chosen)
}

/// From each line on, as many lines as fit; one that does not fit stands alone.
fn windows(sizes: &[usize]) -> Vec<Range<usize>> {
    let mut windows = Vec::with_capacity(sizes.len());
    let (mut end, mut size) = (0, 0);
    for start in 0..sizes.len() {
        while end < sizes.len() && (size + sizes[end] <= SNIPPET_CHARS || end == start) {
            size += sizes[end];
            end += 1;
        }
        windows.push(start..end);
        size -= sizes[start];
    }
    windows
}

/// The stretch of one long line that has the most of what was asked.
fn stretch(reader: &mut Reader<'_>, line: &str) -> String {
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let mut choice = (f64::MIN, "");
    for first in (0..starts.len()).step_by(SNIPPET_CHARS / 4) {
        let from = starts.get(first).copied().unwrap_or(0);
        let to = starts.get(first + SNIPPET_CHARS).copied().unwrap_or(line.len());
        let piece = line.get(from..to).unwrap_or_default();
        let worth = reader.line_worth(piece, &fold(piece));
        if worth > choice.0 {
            choice = (worth, piece);
        }
    }
    choice.1.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_as_large_as_they_may_be() {
        assert_eq!(windows(&[300, 300, 1, 700, 5]), [0..2, 1..3, 2..3, 3..4, 4..5]);
        assert!(windows(&[]).is_empty());
    }
}
