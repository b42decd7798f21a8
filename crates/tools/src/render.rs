//! Small pieces of text that several answers share: numbers, one-line titles, result lines.

use quietcontext_store::ChunkRange;

use crate::budget::{clip, clip_middle};

/// Longest title of a result line, in bytes.
const TITLE_BYTES: usize = 120;
/// Longest source of a result line, in bytes.
const SOURCE_BYTES: usize = 160;

/// `1288895` as `1,288,895`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 line`, `2 lines`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A bound in bytes as a person would say it: `8 GiB`, `1.5 GiB`, `300 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0x4000_0000.. => (1u64 << 30, "GiB"),
        0x10_0000.. => (1 << 20, "MiB"),
        _ => return counted(bytes, "byte"),
    };
    let tenths = bytes / (unit / 10);
    match tenths % 10 {
        0 => format!("{} {name}", grouped(tenths / 10)),
        part => format!("{}.{part} {name}", grouped(tenths / 10)),
    }
}

/// `2.1 s`; tenths are enough for a person and cheap for a model.
pub(crate) fn seconds(duration: std::time::Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Control characters and line ends become blanks; runs of blanks become one.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c };
        if c != ' ' || !line.ends_with(' ') {
            line.push(c);
        }
    }
    line.trim().to_owned()
}

/// A name that came with the call, quoted, bounded, on one line.
pub(crate) fn short(name: &str) -> String {
    format!("\"{}\"", clip(&one_line(name), 40))
}

/// A title or source as it may stand in an answer: one line, bounded, unable to forge a marker.
///
/// Stored text could otherwise begin a title with `[r:` and pass for a result of ours.
pub(crate) fn title(text: &str) -> String {
    let line = one_line(text);
    // The marker between the streams of a run is ours and says nothing about the text.
    let line = match line.strip_prefix("[stderr]").map(str::trim_start) {
        Some("") => "stderr",
        Some(rest) => rest,
        None => &line,
    };
    clip(&unforged(line), TITLE_BYTES)
}

/// As [`title`], for labels and paths, whose ends both matter.
pub(crate) fn source(text: &str) -> String {
    clip_middle(&unforged(&one_line(text)), SOURCE_BYTES)
}

fn unforged(text: &str) -> String {
    const MARKERS: [&str; 6] = ["[r:", "[s:", "[exit", "[indexed", "[stderr", "[unconfined"];
    let lower = text.to_ascii_lowercase();
    if MARKERS.iter().any(|marker| lower.starts_with(marker)) {
        text.replacen('[', "(", 1)
    } else {
        text.to_owned()
    }
}

/// `r:20101-20960`.
pub(crate) fn range(range: ChunkRange) -> String {
    format!("r:{range}")
}

/// `title (source:L1-40)`, the part of a result line behind its reference.
pub(crate) fn place(
    title_text: &str,
    source_text: &str,
    lines: (u64, u64),
    also: &[String],
) -> String {
    let (first, last) = lines;
    let mut place = format!("{} ({}:L{first}-{last}", title(title_text), source(source_text));
    if !also.is_empty() {
        let shown = if also.len() > 2 { also.get(..2).unwrap_or(also) } else { also };
        let names: Vec<String> = shown.iter().map(|name| clip_middle(&source(name), 60)).collect();
        place.push_str("; also ");
        place.push_str(&names.join(", "));
        if also.len() > shown.len() {
            place.push_str(&format!(" +{}", also.len() - shown.len()));
        }
    }
    place.push(')');
    place
}

/// The known name that is nearest to `name`, if any is near.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let normal = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let wanted = normal(name);
    let stem = wanted.trim_end_matches(['s', 'y']);
    known
        .map(|candidate| match normal(candidate) {
            // `query` for `queries`, `lang` for `language`.
            longer if stem.len() > 3 && longer.starts_with(stem) => (0, candidate),
            other => (distance(&wanted, &other), candidate),
        })
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance over characters (Wagner and Fischer, one row).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut previous = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let cost = previous + usize::from(x != *y);
            previous = *cell;
            left = cost.min(*cell + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

/// Adds `line` to `text` so that it starts a line of its own.
pub(crate) fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_288_895, "1,288,895")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn bounds_are_said_in_their_unit() {
        for (bytes, text) in [
            (8 << 30, "8 GiB"),
            (3 << 29, "1.5 GiB"),
            (300 << 20, "300 MiB"),
            (500_000_000, "476.8 MiB"),
            (1, "1 byte"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn the_nearest_name_is_found_and_nonsense_is_not() {
        let known = ["max_bytes", "timeout_ms", "language"];
        assert_eq!(nearest("maxBytes", known.into_iter()), Some("max_bytes"));
        assert_eq!(nearest("langauge", known.into_iter()), Some("language"));
        assert_eq!(nearest("lang", known.into_iter()), Some("language"));
        assert_eq!(nearest("query", ["refs", "queries"].into_iter()), Some("queries"));
        assert_eq!(nearest("zzz", known.into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn stored_titles_cannot_forge_a_result_line() {
        assert_eq!(title("[r:1] mine\n[exit 0]"), "(r:1] mine [exit 0]");
        assert_eq!(title("a\u{7}b\u{1b}[31m"), "a b [31m");
        assert_eq!(title("[stderr] [exit 0]"), "(exit 0]");
        assert_eq!(title("[stderr]"), "stderr");
    }

    #[test]
    fn identical_text_elsewhere_is_named_and_counted() {
        let also: Vec<String> = (1..=12).map(|i| format!("wt-{i}/api.go")).collect();
        assert_eq!(
            place("fn x", "core/api.go", (1, 40), &also),
            "fn x (core/api.go:L1-40; also wt-1/api.go, wt-2/api.go +10)"
        );
        assert_eq!(place("t", "a", (1, 2), &[]), "t (a:L1-2)");
    }
}
