//! A sketch of a text: which two and three bytes in a row stand in it, folded, and which four digits: logs
//! have all threes of those. It tells that a word cannot stand there without reading the text, and is never
//! wrong about that.

use super::fold::fold_into;

/// Places for three bytes in a row. A block of 16 KB of text fills an eighth to a quarter of them.
const THREES: usize = 16_384;
/// Places for two bytes in a row: for words too short to have three.
const TWOS: usize = 4_096;
const WORDS: usize = (THREES + TWOS) / 64;

/// Two and a half kilobytes for each block of text.
#[derive(Clone)]
pub(crate) struct Sketch(Box<[u64; WORDS]>);

impl std::fmt::Debug for Sketch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sketch").finish_non_exhaustive()
    }
}

/// Makes sketches.
pub(crate) struct Sketcher {
    folded: String,
    /// A byte for each place: to set one is quicker than to set a bit among others.
    threes: Box<[u8; THREES]>,
    twos: Box<[u8; TWOS]>,
}

impl Default for Sketcher {
    fn default() -> Self {
        let (threes, twos) = (Box::new([0; THREES]), Box::new([0; TWOS]));
        Sketcher { folded: String::new(), threes, twos }
    }
}

impl Sketcher {
    /// The sketch of some texts.
    pub(crate) fn sketch(&mut self, texts: [&str; 2]) -> Sketch {
        let Sketcher { folded, threes, twos } = self;
        threes.fill(0);
        twos.fill(0);
        for text in texts {
            folded.clear();
            fold_into(text, folded);
            let mut bytes = folded.bytes().map(u32::from);
            let (Some(first), Some(mut second)) = (bytes.next(), bytes.next()) else {
                continue;
            };
            twos[place_of_two(first, second)] = 1;
            let mut last = first << 8 | second;
            for third in bytes {
                twos[place_of_two(second, third)] = 1;
                last = last << 8 | third;
                threes[place_of_three(last & 0xff_ffff)] = 1;
                if are_digits(last) {
                    threes[place_of_three(last)] = 1;
                }
                second = third;
            }
        }
        let mut bits = Box::new([0; WORDS]);
        let marks = threes.chunks_exact(64).chain(twos.chunks_exact(64));
        for (word, marks) in bits.iter_mut().zip(marks) {
            let places = marks.iter().enumerate();
            *word = places.fold(0, |word, (at, mark)| word | u64::from(*mark) << at);
        }
        Sketch(bits)
    }
}

impl Sketch {
    /// Whether all of these places are taken.
    pub(super) fn has(&self, places: &[usize]) -> bool {
        let taken = |place: &usize| {
            self.0.get(place / 64).is_some_and(|word| word & 1 << (place % 64) != 0)
        };
        places.iter().all(taken)
    }
}

fn place_of_two(first: u32, second: u32) -> usize {
    // Letters, digits and marks each have their own.
    let place = |byte: u32| byte & 31 | if byte < 0x60 { 32 } else { 0 };
    (place(first) << 6 | place(second)) as usize & (TWOS - 1)
}

/// Whether all four bytes are digits.
fn are_digits(four: u32) -> bool {
    // No digit reaches 0x40 with six more; all begin with a three.
    four & 0xf0f0_f0f0 == 0x3030_3030 && (four + 0x0606_0606) & 0xf0f0_f0f0 == 0x3030_3030
}

/// `three` are the bytes, one behind the other; four digits share the places.
fn place_of_three(three: u32) -> usize {
    (three.wrapping_mul(0x9e37_79b1) >> (32 - THREES.trailing_zeros())) as usize & (THREES - 1)
}

/// The places that a folded word takes, wherever it stands.
pub(super) fn places(folded: &[u8]) -> Vec<usize> {
    let in_one = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
    if let [first, second] = folded {
        return vec![THREES + place_of_two(u32::from(*first), u32::from(*second))];
    }
    let fours = folded.windows(4).map(in_one).filter(|four| are_digits(*four));
    folded.windows(3).map(in_one).chain(fours).map(place_of_three).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fold::fold;
    use super::*;

    proptest! {
        #[test]
        fn what_stands_in_a_text_is_never_denied(
            title in "\\PC{0,30}",
            text in "((?s).{0,400}|[0-9/: a-f]{0,90})",
            from in 0.0..1.0,
            length in 0usize..40,
        ) {
            let sketch = Sketcher::default().sketch([&title, &text]);
            for text in [&title, &text] {
                let folded = fold(text);
                let from = folded.floor_char_boundary((folded.len() as f64 * from) as usize);
                let to = folded.floor_char_boundary((from + length).min(folded.len()));
                let part = places(&folded.as_bytes()[from..to]);
                prop_assert!(sketch.has(&part));
            }
        }
    }

    #[test]
    fn most_words_that_are_not_there_are_denied() {
        let mut text = String::new();
        for line in 0..220 {
            let token = line * 7_919 % 65_536;
            text.push_str(&format!(
                "00:12:{:02} INFO worker-{} took {line} us token={token:x}\n",
                line % 60,
                line % 17
            ));
        }
        let sketch = Sketcher::default().sketch(["lines 1 to 220", &text]);
        let has = |word: &str| sketch.has(&places(word.as_bytes()));
        for there in ["info", "worker", "took", "token", "220", "lines", "us", "n"] {
            assert!(has(there), "{there}");
        }
        for absent in ["wombat", "deadlock", "panicked", "connection", "refused", "lifetime", "rs"]
        {
            assert!(!has(absent), "{absent}");
        }
    }
}
