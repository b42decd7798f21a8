//! Porter's stemmer, byte for byte as the engine's `porter` tokenizer applies it.
//!
//! Source: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. Ranking looks
//! terms up in the full-text tables and compares words of stored text with them, so both sides must
//! agree; a test compares this with the engine itself.

/// Longer words are not stemmed, as in the engine.
const MAX_BYTES: usize = 64;

/// The stem of a lower-case word, in `out`. Words under three bytes are their own stem.
pub(super) fn stem<'a>(word: &str, out: &'a mut Vec<u8>) -> &'a str {
    out.clear();
    out.extend_from_slice(word.as_bytes());
    if (3..=MAX_BYTES).contains(&word.len()) {
        reduce(out);
    }
    // Suffixes are ASCII, so what is left of valid text is valid text.
    std::str::from_utf8(out).unwrap_or_default()
}

/// What is left of a lower-case word without its inflection (plural, past, progressive): the same
/// for `replaces` and `replacing`, another for `replacement`, though all three have one stem.
pub(super) fn base<'a>(word: &str, out: &'a mut Vec<u8>) -> &'a str {
    out.clear();
    out.extend_from_slice(word.as_bytes());
    if (3..=MAX_BYTES).contains(&word.len()) {
        inflection(out);
        if out.len() > 3 && out.last() == Some(&b'e') {
            out.pop();
        }
    }
    std::str::from_utf8(out).unwrap_or_default()
}

/// The base of a lower-case word.
pub(super) fn base_of(word: &str) -> String {
    base(word, &mut Vec::new()).to_owned()
}

/// The stem of a lower-case word.
pub(super) fn stem_of(word: &str) -> String {
    stem(word, &mut Vec::new()).to_owned()
}

/// Step 1.
fn inflection(word: &mut Vec<u8>) {
    plural(word);
    if past_or_progressive(word) {
        mend(word);
    }
    if word.last() == Some(&b'y') && has_vowel(&word[..word.len() - 1]) {
        replace_last(word, b'i');
    }
}

fn reduce(word: &mut Vec<u8>) {
    inflection(word);
    rewrite(word, STEP_2, |stem| measure(stem) > 0);
    rewrite(word, STEP_3, |stem| measure(stem) > 0);
    step_4(word);
    if word.last() == Some(&b'e') {
        let stem = &word[..word.len() - 1];
        let syllables = measure(stem);
        if syllables > 1 || (syllables == 1 && !ends_short(stem)) {
            word.pop();
        }
    }
    if word.ends_with(b"ll") && measure(&word[..word.len() - 1]) > 1 {
        word.pop();
    }
}

fn replace_last(word: &mut [u8], byte: u8) {
    if let Some(last) = word.last_mut() {
        *last = byte;
    }
}

/// Step 1a: "caresses" to "caress", "ponies" to "poni", "cats" to "cat".
fn plural(word: &mut Vec<u8>) {
    if word.last() != Some(&b's') {
        return;
    }
    let cut = if (word.len() > 4 && word.ends_with(b"sses"))
        || (word.len() > 3 && word.ends_with(b"ies"))
    {
        2
    } else {
        usize::from(!word.ends_with(b"ss"))
    };
    word.truncate(word.len() - cut);
}

/// Step 1b: takes "ed" and "ing" away after a vowel; true when something was taken that may have
/// to be mended. "eed" becomes "ee" after a syllable.
fn past_or_progressive(word: &mut Vec<u8>) -> bool {
    let cut = |word: &mut Vec<u8>, suffix: usize| {
        let stem = word.len() - suffix;
        let vowel = has_vowel(&word[..stem]);
        if vowel {
            word.truncate(stem);
        }
        vowel
    };
    if word.ends_with(b"eed") && word.len() > 3 {
        if measure(&word[..word.len() - 3]) > 0 {
            word.pop();
        }
        false
    } else if word.ends_with(b"ed") && word.len() > 2 {
        cut(word, 2)
    } else if word.ends_with(b"ing") && word.len() > 3 {
        cut(word, 3)
    } else {
        false
    }
}

/// Step 1b continued: "conflat" to "conflate", "hopp" to "hop", "fil" to "file".
fn mend(word: &mut Vec<u8>) {
    if word.len() > 2 && [b"at", b"bl", b"iz"].iter().any(|end| word.ends_with(*end)) {
        word.push(b'e');
        return;
    }
    let (Some(&last), before) = (word.last(), word.len().checked_sub(2).map(|at| word[at])) else {
        return;
    };
    if !is_plain_vowel(last) && !matches!(last, b'l' | b's' | b'z') && before == Some(last) {
        word.pop();
    } else if measure(word) == 1 && ends_short(word) {
        word.push(b'e');
    }
}

type Rule = (&'static [u8], &'static [u8]);

/// Step 2, most specific suffix first where one ends in another.
const STEP_2: &[Rule] = &[
    (b"ational", b"ate"),
    (b"tional", b"tion"),
    (b"enci", b"ence"),
    (b"anci", b"ance"),
    (b"izer", b"ize"),
    (b"logi", b"log"),
    (b"bli", b"ble"),
    (b"alli", b"al"),
    (b"entli", b"ent"),
    (b"eli", b"e"),
    (b"ousli", b"ous"),
    (b"ization", b"ize"),
    (b"ation", b"ate"),
    (b"ator", b"ate"),
    (b"alism", b"al"),
    (b"iveness", b"ive"),
    (b"fulness", b"ful"),
    (b"ousness", b"ous"),
    (b"aliti", b"al"),
    (b"iviti", b"ive"),
    (b"biliti", b"ble"),
];

const STEP_3: &[Rule] = &[
    (b"icate", b"ic"),
    (b"ative", b""),
    (b"alize", b"al"),
    (b"iciti", b"ic"),
    (b"ical", b"ic"),
    (b"ful", b""),
    (b"ness", b""),
];

const STEP_4: &[&[u8]] = &[
    b"al", b"ance", b"ence", b"er", b"ic", b"able", b"ible", b"ant", b"ement", b"ment", b"ent",
    b"ion", b"ou", b"ism", b"ate", b"iti", b"ous", b"ive", b"ize",
];

/// Replaces the first suffix that fits, if what stands before it satisfies `condition`.
fn rewrite(word: &mut Vec<u8>, rules: &[Rule], condition: fn(&[u8]) -> bool) {
    let rule = rules.iter().find(|(from, _)| word.len() > from.len() && word.ends_with(from));
    if let Some((from, to)) = rule {
        let stem = word.len() - from.len();
        if condition(&word[..stem]) {
            word.truncate(stem);
            word.extend_from_slice(to);
        }
    }
}

fn step_4(word: &mut Vec<u8>) {
    let suffix =
        STEP_4.iter().find(|suffix| word.len() > suffix.len() && word.ends_with(suffix)).copied();
    if let Some(suffix) = suffix {
        let stem = &word[..word.len() - suffix.len()];
        let fits =
            measure(stem) > 1 && (suffix != b"ion" || matches!(stem.last(), Some(b's' | b't')));
        if fits {
            word.truncate(word.len() - suffix.len());
        }
    }
}

fn is_plain_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u')
}

/// Whether the byte at `at` is a consonant; `y` is one at the start and after a vowel.
fn is_consonant(word: &[u8], at: usize) -> bool {
    match word[at] {
        b'y' => at == 0 || !is_consonant(word, at - 1),
        byte => !is_plain_vowel(byte),
    }
}

fn has_vowel(word: &[u8]) -> bool {
    (0..word.len()).any(|at| !is_consonant(word, at))
}

/// Porter's m: how many times a vowel run is followed by a consonant run.
fn measure(word: &[u8]) -> usize {
    let mut count = 0;
    let mut after_vowel = false;
    for at in 0..word.len() {
        let consonant = is_consonant(word, at);
        count += usize::from(consonant && after_vowel);
        after_vowel = !consonant;
    }
    count
}

/// Porter's *o: ends consonant, vowel, consonant, and the last is not w, x or y.
fn ends_short(word: &[u8]) -> bool {
    let n = word.len();
    n >= 3
        && !matches!(word[n - 1], b'w' | b'x' | b'y')
        && is_consonant(word, n - 1)
        && !is_consonant(word, n - 2)
        && is_consonant(word, n - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the engine makes of words, by asking it.
    fn engine_stems(words: &[String]) -> Vec<(String, String)> {
        let mut connection = rusqlite::Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE VIRTUAL TABLE p USING fts5(t, tokenize='porter unicode61');
                 CREATE VIRTUAL TABLE v USING fts5vocab(p, instance);",
            )
            .unwrap();
        let transaction = connection.transaction().unwrap();
        for (at, word) in words.iter().enumerate() {
            let sql = "INSERT INTO p(rowid, t) VALUES (?1, ?2)";
            transaction.prepare_cached(sql).unwrap().execute((at as i64, word)).unwrap();
        }
        transaction.commit().unwrap();
        let mut statement = connection.prepare("SELECT doc, term FROM v").unwrap();
        let rows = statement
            .query_map((), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .unwrap();
        rows.map(|row| row.map(|(at, term)| (words[at as usize].clone(), term)).unwrap()).collect()
    }

    #[test]
    fn known_words() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("conflated", "conflat"),
            ("hopping", "hop"),
            ("filing", "file"),
            ("happy", "happi"),
            ("relational", "relat"),
            ("generalization", "gener"),
            ("controlling", "control"),
            ("on", "on"),
        ] {
            assert_eq!(stem_of(word), expected, "{word}");
        }
    }

    #[test]
    fn agrees_with_the_engine_on_every_suffix() {
        let mut words = Vec::new();
        let suffixes: Vec<&str> = STEP_2
            .iter()
            .chain(STEP_3)
            .flat_map(|(from, to)| [*from, *to])
            .chain(STEP_4.iter().copied())
            .map(|suffix| std::str::from_utf8(suffix).unwrap())
            .chain(["s", "es", "ies", "sses", "ss", "ed", "eed", "ing", "y", "e", "ll", "ement"])
            .collect();
        for start in ["", "a", "tr", "ay", "yt", "oper", "hopp", "syzyg"] {
            for middle in &suffixes {
                for end in &suffixes {
                    words.push(format!("{start}{middle}"));
                    words.push(format!("{start}{middle}{end}"));
                }
            }
        }
        words.retain(|word| !word.is_empty());
        for (word, expected) in engine_stems(&words) {
            assert_eq!(stem_of(&word), expected, "{word}");
        }
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_the_engine(words in proptest::collection::vec("[a-z]{1,12}|[aeiouyslt]{1,9}|[a-zéüж]{2,8}", 1..40)) {
            for (word, expected) in engine_stems(&words) {
                // The engine folds accents before it stems.
                if word.is_ascii() {
                    proptest::prop_assert_eq!(stem_of(&word), expected);
                }
            }
        }
    }
}
