//! Numbers, ages and foreign text as people read them.

use std::time::SystemTime;

pub(crate) use quietcontext_tools::{counted, grouped};

/// Text that came from elsewhere, fit for a terminal: nothing in it moves the cursor, changes
/// colours or turns a line around. Line ends stay.
pub(crate) fn clean(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| if c != '\n' && c != '\t' && steers(c) { '\u{fffd}' } else { c })
        .collect()
}

/// As [`clean`], and one line.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// Control characters, line separators, and what reorders a line (Unicode Standard Annex #9).
pub(crate) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// An amount of bytes in its unit: `812 B`, `1.2 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    match unit {
        None => format!("{bytes} B"),
        Some((unit, name)) => {
            let tenths = (u128::from(bytes) * 10 / u128::from(*unit)) as u64;
            if tenths >= 1_000 {
                format!("{} {name}", tenths / 10)
            } else {
                format!("{}.{} {name}", tenths / 10, tenths % 10)
            }
        }
    }
}

/// How long ago something was, in its largest unit.
pub(crate) fn age(when: SystemTime, now: SystemTime) -> String {
    ago(now.duration_since(when).map_or(0, |age| age.as_secs()))
}

/// A number of seconds in its largest unit.
pub(crate) fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Columns that text takes: wide characters of East Asia and pictures take two.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(wide).sum()
}

/// The beginning of `text` that takes at most `most` columns, ended by `…` where it was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut taken = 1;
    let keep = |c: &char| {
        taken += wide(*c);
        taken <= most
    };
    text.chars().take_while(keep).chain(['…']).collect()
}

fn wide(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ages_and_sizes_as_people_read_them() {
        for (number, wanted) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_288_895, "1,288,895")]
        {
            assert_eq!(grouped(number), wanted);
        }
        for (seconds, wanted) in [(0, "0 s"), (59, "59 s"), (3_599, "59 min"), (90_000, "1 d")] {
            assert_eq!(ago(seconds), wanted);
        }
        for (bytes, wanted) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (1_288_895, "1.2 MiB"),
            (300 << 20, "300 MiB"),
            (u64::MAX, "16777215 TiB"),
        ] {
            assert_eq!(size(bytes), wanted);
        }
    }

    #[test]
    fn foreign_text_does_not_steer_the_terminal() {
        assert_eq!(
            one_line("a\nb\u{1b}[31m\u{9b}2J\u{202e}x"),
            "a\u{fffd}b\u{fffd}[31m\u{fffd}2J\u{fffd}x"
        );
        assert_eq!(clean("a\n\tb\r\u{1b}]0;t\u{7}"), "a\n\tb\u{fffd}\u{fffd}]0;t\u{fffd}");
    }

    #[test]
    fn a_cut_counts_columns() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(columns("e\u{301}日"), 3);
    }
}
