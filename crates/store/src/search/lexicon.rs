//! The vocabulary: every word of the store as it is written, for typo repair and parts of words.

use std::ops::Range;
use std::sync::Arc;

use rusqlite::Connection;

use super::word_lists::State;

/// Longer words are not repaired.
const MAX_BYTES: usize = 40;

/// Whether a token is a word somebody might misspell: letters, few digits, no hash.
pub(super) fn is_word(token: &str) -> bool {
    if !(3..=MAX_BYTES).contains(&token.len()) {
        return false;
    }
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    digits <= 3 && token.len() - digits >= 2 && !token.starts_with(|c: char| c.is_ascii_digit())
}

/// All words, in parts: what is added becomes a part of its own, and two parts one when the older one is
/// not twice as long any more. So a list that is added costs about as much as it is long (the logarithmic
/// method of Bentley and Saxe, 1980).
#[derive(Clone, Debug, Default)]
pub(super) struct Lexicon {
    state: State,
    parts: Vec<Arc<Part>>,
}

impl Lexicon {
    /// These words.
    #[cfg(test)]
    pub(super) fn of(words: &[&str]) -> Self {
        let mut lexicon = Lexicon::default();
        lexicon.add(words.iter().copied());
        lexicon
    }

    /// The vocabulary in a state as new as that; nothing when it is this one.
    pub(super) fn renewed(
        &self,
        connection: &Connection,
        state: State,
    ) -> rusqlite::Result<Option<Self>> {
        if self.state.is_at_least(state) {
            return Ok(None);
        }
        let same = self.state.same_generation(state);
        let mut lexicon = if same { self.clone() } else { Lexicon::default() };
        lexicon.read(connection)?;
        lexicon.state = state;
        Ok(Some(lexicon))
    }

    fn read(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement =
            connection.prepare_cached("SELECT words FROM word_lists WHERE id > ?1")?;
        let lists = statement
            .query_map([self.state.newest], |row| row.get::<_, String>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        self.add(lists.iter().flat_map(|list| list.split('\n')));
        Ok(())
    }

    fn add<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        let mut last = Part::of(words);
        while let Some(before) = self.parts.pop_if(|before| before.bytes() < 2 * last.bytes()) {
            last = before.with(&last);
        }
        if last.bytes() > 0 {
            self.parts.push(Arc::new(last));
        }
    }

    /// The words of a length in bytes whose first or second byte is one of two; some may come twice.
    pub(super) fn beginning_near(
        &self,
        length: usize,
        bytes: [u8; 2],
    ) -> impl Iterator<Item = &str> {
        let found = self.parts.iter().flat_map(move |part| part.beginning_near(length, bytes));
        found.filter_map(|word| std::str::from_utf8(word).ok())
    }

    /// Words that contain a part, shortest first, and not the part itself.
    pub(super) fn containing(&self, part: &str, limit: usize) -> Vec<&str> {
        let mut found: Vec<&str> =
            self.parts.iter().flat_map(|words| words.containing(part, limit)).collect();
        found.sort_unstable_by_key(|word| (word.len(), *word));
        found.dedup();
        found.truncate(limit);
        found
    }
}

/// Words by length in bytes: each bucket is its words one after the other, sorted. No pointers, no lengths:
/// half a megabyte for fifty thousand words, scanned in a fraction of a millisecond.
#[derive(Debug, Default)]
struct Part {
    buckets: Vec<Bucket>,
}

impl Part {
    fn of<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let mut by_length: Vec<Vec<&[u8]>> = vec![Vec::new(); MAX_BYTES + 1];
        for word in words.filter(|word| !word.is_empty()) {
            if let Some(words) = by_length.get_mut(word.len()) {
                words.push(word.as_bytes());
            }
        }
        let bucket = |(length, mut words): (usize, Vec<&[u8]>)| {
            words.sort_unstable();
            words.dedup();
            Bucket { length, bytes: words.concat() }
        };
        Part { buckets: by_length.into_iter().enumerate().map(bucket).collect() }
    }

    fn bytes(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.bytes.len()).sum()
    }

    fn with(&self, other: &Part) -> Self {
        let both = self.buckets.iter().zip(&other.buckets);
        Part { buckets: both.map(|(bucket, other)| bucket.with(other)).collect() }
    }

    fn beginning_near(&self, length: usize, near: [u8; 2]) -> impl Iterator<Item = &[u8]> {
        let bucket = self.buckets.get(length);
        bucket.into_iter().flat_map(move |bucket| {
            let ranges = bucket.beginning_near(near);
            ranges.into_iter().flatten().filter_map(|at| bucket.word(at))
        })
    }

    fn containing(&self, part: &str, limit: usize) -> Vec<&str> {
        let finder = memchr::memmem::Finder::new(part);
        let mut found: Vec<&str> = Vec::new();
        for bucket in self.buckets.iter().skip(part.len() + 1) {
            for at in finder.find_iter(&bucket.bytes) {
                let inside = at % bucket.length + part.len() <= bucket.length;
                let word = bucket.word(at / bucket.length);
                match word.and_then(|word| std::str::from_utf8(word).ok()) {
                    Some(word) if inside && found.last() != Some(&word) => found.push(word),
                    _ => {}
                }
                if found.len() == limit {
                    return found;
                }
            }
        }
        found
    }
}

/// Sorted words of one length.
#[derive(Debug, Default)]
struct Bucket {
    length: usize,
    bytes: Vec<u8>,
}

impl Bucket {
    fn count(&self) -> usize {
        self.bytes.len() / self.length.max(1)
    }

    fn word(&self, at: usize) -> Option<&[u8]> {
        self.bytes.get(at * self.length..(at + 1) * self.length).filter(|word| !word.is_empty())
    }

    /// The first place from `from` on for which this is not true, of places for which it first is.
    fn first_not(&self, from: usize, is: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (from, self.count());
        while low < high {
            let middle = low.midpoint(high);
            if self.word(middle).is_some_and(&is) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Where the words are whose first or second byte is one of two.
    fn beginning_near(&self, near: [u8; 2]) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let seconds = [near[0].min(near[1]), near[0].max(near[1])];
        let mut start = 0;
        while let Some([first, ..]) = self.word(start) {
            let end = self.first_not(start, |word| word.first() <= Some(first));
            if near.contains(first) {
                ranges.push(start..end);
            } else {
                for second in seconds {
                    let group = |word: &[u8]| word.first() == Some(first);
                    start =
                        self.first_not(start, |word| group(word) && word.get(1) < Some(&second));
                    let to =
                        self.first_not(start, |word| group(word) && word.get(1) <= Some(&second));
                    ranges.push(start..to);
                    start = to;
                }
            }
            start = end;
        }
        ranges
    }

    /// The words of both: what lies between two of the other's is copied in one piece.
    fn with(&self, other: &Bucket) -> Self {
        let mut bytes = Vec::with_capacity(self.bytes.len() + other.bytes.len());
        let piece = |from: usize, to: usize| {
            self.bytes.get(from * self.length..to * self.length).unwrap_or_default()
        };
        let mut copied = 0;
        for added in other.bytes.chunks_exact(other.length.max(1)) {
            let at = self.first_not(copied, |word| word < added);
            bytes.extend_from_slice(piece(copied, at));
            copied = at;
            if self.word(at) != Some(added) {
                bytes.extend_from_slice(added);
            }
        }
        bytes.extend_from_slice(piece(copied, self.count()));
        Bucket { length: self.length, bytes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The words of a length, by part.
    fn words(lexicon: &Lexicon, length: usize) -> Vec<Vec<&str>> {
        let of_part = |part: &'_ Arc<Part>| {
            let bucket = &part.buckets[length];
            let words = (0..bucket.count()).filter_map(|at| bucket.word(at));
            words.map(|word| String::from_utf8(word.to_vec()).unwrap().leak() as &str).collect()
        };
        lexicon.parts.iter().map(of_part).collect()
    }

    #[test]
    fn a_part_holds_each_word_once_and_sorted() {
        let mut lexicon = Lexicon::of(&["pear", "plum", "fig", "pear"]);
        lexicon.add(["kiwi", "plum", "fig"].into_iter());
        assert_eq!(words(&lexicon, 4), [["kiwi", "pear", "plum"]]);
        assert_eq!(words(&lexicon, 3), [["fig"]]);
        assert_eq!(words(&lexicon, 0), [[""; 0]]);
        // Before, between, after, and again.
        lexicon.add(["zoom", "apes", "plum", "loom"].into_iter());
        assert_eq!(words(&lexicon, 4), [["apes", "kiwi", "loom", "pear", "plum", "zoom"]]);
    }

    #[test]
    fn a_list_that_is_added_costs_as_much_as_it_is_long() {
        let word = |number: u32| format!("w{number:05}");
        let mut lexicon = Lexicon::default();
        let (mut moved, lists) = (0, 1_000);
        for list in 0..lists {
            let long = |lexicon: &Lexicon| lexicon.parts.last().map_or(0, |part| part.bytes());
            let words: Vec<String> = (0..10).map(|at| word(list * 10 + at)).collect();
            lexicon.add(words.iter().map(String::as_str));
            moved += long(&lexicon);
        }
        assert!(lexicon.parts.len() <= 10, "{}", lexicon.parts.len());
        let whole = lists as usize * 60;
        assert!(moved < whole * 12, "{moved} of {whole}");
        let found = lexicon.beginning_near(6, *b"w0").count();
        assert_eq!(found, lists as usize * 10);
    }

    proptest! {
        #[test]
        fn words_are_found_by_how_they_begin(
            words in prop::collection::vec("[a-eä]{3,5}", 1..200),
            near in "[a-eä]{2}",
        ) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut lexicon = Lexicon::of(&words[..words.len() / 3]);
            lexicon.add(words[words.len() / 3..].iter().copied());
            let near = [near.as_bytes()[0], near.as_bytes()[1]];
            for length in 3..=10 {
                let mut found: Vec<&str> = lexicon.beginning_near(length, near).collect();
                found.sort_unstable();
                found.dedup();
                let begins = |word: &&&str| word.bytes().take(2).any(|byte| near.contains(&byte));
                let of_length = words.iter().filter(|word| word.len() == length);
                let mut expected: Vec<&str> = of_length.filter(begins).copied().collect();
                expected.sort_unstable();
                expected.dedup();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn parts_are_found_within_words_only() {
        let lexicon =
            Lexicon::of(&["deadlock", "padlocks", "blocked", "lock", "clock", "abclo", "cking"]);
        assert_eq!(lexicon.containing("lock", 9), ["clock", "blocked", "deadlock", "padlocks"]);
        assert_eq!(lexicon.containing("lock", 2), ["clock", "blocked"]);
        assert!(lexicon.containing("lockx", 9).is_empty());
    }

    #[test]
    fn hashes_and_numbers_are_no_words() {
        for word in ["config", "sha256", "utf8", "größe", "parsehumansize"] {
            assert!(is_word(word), "{word}");
        }
        for noise in ["ab", "12345", "3f9c0de", "a1b2c3d4e5", "0x", ""] {
            assert!(!is_word(noise), "{noise}");
        }
    }
}
