//! Folds text to what words are compared by: lower case, no accents.

/// An accent that stands as a character of its own.
pub(super) fn is_mark(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}

/// Lower case, without accents: as words are compared.
pub(super) fn fold_into(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let (plain, after) = rest.split_at_checked(ascii_end(rest)).unwrap_or((rest, ""));
        let start = out.len();
        out.push_str(plain);
        if let Some(added) = out.get_mut(start..) {
            added.make_ascii_lowercase();
        }
        let mut characters = after.chars();
        let Some(character) = characters.next() else { return };
        out.extend(character.to_lowercase().filter(|c| !is_mark(*c)).map(unaccented));
        rest = characters.as_str();
    }
}

/// Where the ASCII at the beginning of a text ends: most text is, and is looked at eight bytes at a time.
fn ascii_end(text: &str) -> usize {
    let (eights, _) = text.as_bytes().as_chunks::<8>();
    let is_ascii = |eight: &&[u8; 8]| u64::from_ne_bytes(**eight) & 0x8080_8080_8080_8080 == 0;
    let whole = eights.iter().take_while(is_ascii).count() * 8;
    let rest = text.as_bytes().get(whole..).unwrap_or_default();
    whole + rest.iter().take_while(|byte| byte.is_ascii()).count()
}

pub(super) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

/// The base letter of an accented Latin one, as the engine folds it.
fn unaccented(character: char) -> char {
    const LATIN: &str = "aaaaaa\u{e6}ceeeeiiii\u{f0}nooooo\u{f7}\u{f8}uuuuy\u{fe}y";
    match character {
        '\u{e0}'..='\u{ff}' => LATIN.chars().nth(character as usize - 0xe0).unwrap_or(character),
        '\u{101}' | '\u{103}' | '\u{105}' | '\u{1ce}' | '\u{1ea1}'..='\u{1eb7}' => 'a',
        '\u{107}' | '\u{109}' | '\u{10b}' | '\u{10d}' => 'c',
        '\u{10f}' => 'd',
        '\u{113}' | '\u{115}' | '\u{117}' | '\u{119}' | '\u{11b}' | '\u{1eb9}'..='\u{1ec7}' => 'e',
        '\u{11d}' | '\u{11f}' | '\u{121}' | '\u{123}' => 'g',
        '\u{125}' => 'h',
        '\u{129}' | '\u{12b}' | '\u{12d}' | '\u{12f}' | '\u{1ec9}' | '\u{1ecb}' => 'i',
        '\u{135}' => 'j',
        '\u{137}' => 'k',
        '\u{13a}' | '\u{13c}' | '\u{13e}' => 'l',
        '\u{144}' | '\u{146}' | '\u{148}' => 'n',
        '\u{14d}' | '\u{14f}' | '\u{151}' | '\u{1a1}' | '\u{1ecd}'..='\u{1ee3}' => 'o',
        '\u{155}' | '\u{157}' | '\u{159}' => 'r',
        '\u{15b}' | '\u{15d}' | '\u{15f}' | '\u{161}' => 's',
        '\u{163}' | '\u{165}' => 't',
        '\u{169}'
        | '\u{16b}'
        | '\u{16d}'
        | '\u{16f}'
        | '\u{171}'
        | '\u{173}'
        | '\u{1b0}'
        | '\u{1ee5}'..='\u{1ef1}' => 'u',
        '\u{175}' => 'w',
        '\u{177}' | '\u{1ef3}'..='\u{1ef9}' => 'y',
        '\u{17a}' | '\u{17c}' | '\u{17e}' => 'z',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_case_go() {
        for (text, expected) in [
            ("Café", "cafe"),
            ("NAÏVE", "naive"),
            ("Čeština", "cestina"),
            ("ЖУК", "жук"),
            ("e\u{301}A", "ea"),
            (
                "Eight or more ASCII before É, and MORE behind it: ß",
                "eight or more ascii before e, and more behind it: ß",
            ),
            ("1234567É", "1234567e"),
            ("ÉÀ", "ea"),
            ("", ""),
        ] {
            assert_eq!(fold(text), expected, "{text}");
        }
    }
}
