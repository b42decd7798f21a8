//! Repairs words the store does not know: the nearest known ones, by edits.

use super::lexicon::Lexicon;

/// A known word near an unknown one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Repair {
    /// The known word.
    pub(super) word: String,
    /// Its worth as a stand-in, below 1.
    pub(super) weight: f64,
}

/// Words at the smallest distance that are compared by how often they stand.
const COMPARED: usize = 24;

/// Edits that a word of some letters may have.
fn allowance(letters: usize) -> usize {
    match letters {
        0..=4 => 1,
        5..=9 => 2,
        _ => 3,
    }
}

/// Up to three known words at the smallest distance from `word`. `frequency` tells in how many
/// chunks a word stands; it is asked for a few words only. A word that stands in none any more, such as
/// the slip itself, keeps no other from being found.
pub(super) fn repairs(
    lexicon: &Lexicon,
    word: &str,
    mut frequency: impl FnMut(&str) -> rusqlite::Result<u64>,
) -> rusqlite::Result<Vec<Repair>> {
    let wanted: Vec<char> = word.chars().collect();
    let wanted_letters = letters(word);
    let mut most = allowance(wanted.len());
    let mut near: Vec<(usize, bool, &str)> = Vec::new();
    let mut distance = Distance::default();
    // Bytes, not letters: a letter outside ASCII has up to four bytes.
    let reach = if word.is_ascii() { most } else { most * 3 };
    let [first, second, ..] = *word.as_bytes() else { return Ok(Vec::new()) };
    for length in word.len().saturating_sub(reach).max(3)..=word.len() + reach {
        for known in lexicon.beginning_near(length, [first, second]) {
            let differ = (wanted_letters ^ letters(known)).count_ones() as usize;
            if differ > 2 * most || !same_digits(word, known) {
                continue;
            }
            if let Some(edits) = distance.between(&wanted, known, most) {
                if edits < most && frequency(known)? == 0 {
                    continue;
                }
                let same_start = known.chars().next() == wanted.first().copied();
                near.push((edits, same_start, known));
                // Only the nearest count.
                most = most.min(edits.max(1));
            }
        }
    }
    let Some(nearest) = near.iter().map(|(edits, ..)| *edits).min() else { return Ok(Vec::new()) };
    near.retain(|(edits, ..)| *edits == nearest);
    near.sort_unstable_by_key(|(_, same_start, known)| {
        (!same_start, known.len().abs_diff(word.len()), known.len(), *known)
    });
    near.dedup();
    let mut ranked = Vec::new();
    for (_, same_start, known) in near {
        let chunks = frequency(known)?;
        if chunks > 0 {
            let bonus = if same_start { 0.15 } else { 0.0 };
            ranked.push((0.12 * (1.0 + chunks as f64).log10() + bonus, known));
        }
        if ranked.len() == COMPARED {
            break;
        }
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let weight = if nearest == 0 { 1.0 } else { 0.85 / nearest as f64 };
    Ok(ranked
        .into_iter()
        .take(3)
        .map(|(_, known)| Repair { word: known.to_owned(), weight })
        .collect())
}

/// Whether two words have the same digits in the same order: `sha1` and `sha3`, `page2` and `page`
/// are different things, not slips of each other.
fn same_digits(word: &str, known: &str) -> bool {
    fn digits(word: &str) -> impl Iterator<Item = char> {
        word.chars().filter(|letter| letter.is_numeric())
    }
    digits(word).eq(digits(known))
}

/// Which letters occur, one bit each.
fn letters(word: &str) -> u64 {
    word.bytes().fold(0, |set, byte| set | 1 << (byte & 63))
}

/// Damerau-Levenshtein distance (optimal string alignment: a swap of neighbours is one edit).
#[derive(Default)]
struct Distance {
    rows: [Vec<usize>; 3],
    other: Vec<char>,
}

impl Distance {
    /// The number of edits between two words, or `None` when it is above `most`.
    fn between(&mut self, word: &[char], other: &str, most: usize) -> Option<usize> {
        self.other.clear();
        self.other.extend(other.chars());
        if word.len().abs_diff(self.other.len()) > most {
            return None;
        }
        let [before, last, now] = &mut self.rows;
        last.clear();
        last.extend(0..=self.other.len());
        for (i, letter) in word.iter().enumerate() {
            now.clear();
            now.push(i + 1);
            let mut least = i + 1;
            for (j, known) in self.other.iter().enumerate() {
                let mut edits =
                    (last[j + 1] + 1).min(now[j] + 1).min(last[j] + usize::from(letter != known));
                if i > 0 && j > 0 && *letter == self.other[j - 1] && word[i - 1] == *known {
                    edits = edits.min(before[j - 1] + 1);
                }
                now.push(edits);
                least = least.min(edits);
            }
            if least > most {
                return None;
            }
            std::mem::swap(before, last);
            std::mem::swap(last, now);
        }
        last.last().copied().filter(|edits| *edits <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(word: &str, known: &[&str]) -> Vec<String> {
        let found = repairs(&Lexicon::of(known), word, |_| Ok(1)).unwrap();
        found.into_iter().map(|repair| repair.word).collect()
    }

    #[test]
    fn slips_are_repaired_and_digits_are_none() {
        assert_eq!(repaired("sheduler", &["scheduler", "schedule", "shelter"]), ["scheduler"]);
        assert_eq!(repaired("wrod1", &["word1", "word2", "word"]), ["word1"]);
        // What no text holds any more stands in nobody's way.
        let lexicon = Lexicon::of(&["recieve", "recieved", "receive", "relieve"]);
        let found = repairs(&lexicon, "recieve", |word| Ok(u64::from(!word.starts_with("reci"))));
        assert_eq!(found.unwrap().first().map(|repair| repair.word.as_str()), Some("receive"));
        for (word, known) in
            [("word1", "word2"), ("word", "word2"), ("word12", "word21"), ("sha3", "sha")]
        {
            assert_eq!(repaired(word, &[known]), Vec::<String>::new(), "{word}");
        }
    }
}
