//! Inflections that stripping suffixes does not unite: `taken` and `take`, `larger` and `large`,
//! `indices` and `index`, `explicitly` and `explicit`.

use super::porter::base_of;

/// Words of one verb or noun. Left out is what mostly means something else: `found`, `left`, `saw`.
const IRREGULAR: &[&str] = &[
    "analysis analyses",
    "appendix appendices",
    "axis axes",
    "basis bases",
    "become became",
    "begin began begun",
    "bend bent",
    "bind bound",
    "break broke broken",
    "bring brought",
    "build built",
    "buy bought",
    "catch caught",
    "child children",
    "choose chose chosen",
    "come came",
    "criterion criteria",
    "crisis crises",
    "datum data",
    "deal dealt",
    "dig dug",
    "draw drew drawn",
    "drive drove driven",
    "eat ate eaten",
    "fall fell fallen",
    "feed fed",
    "feel felt",
    "fight fought",
    "fly flew flown",
    "foot feet",
    "forbid forbade forbidden",
    "forget forgot forgotten",
    "freeze froze frozen",
    "give gave given",
    "go went gone",
    "grow grew grown",
    "half halves",
    "hang hung",
    "hear heard",
    "hide hid hidden",
    "hold held",
    "hypothesis hypotheses",
    "index indices",
    "keep kept",
    "know knew known",
    "leaf leaves",
    "lead led",
    "lend lent",
    "life lives",
    "lose lost",
    "make made",
    "man men",
    "matrix matrices",
    "mean meant",
    "medium media",
    "meet met",
    "mouse mice",
    "override overrode overridden",
    "overwrite overwrote overwritten",
    "parenthesis parentheses",
    "pay paid",
    "person people",
    "prove proven",
    "rebuild rebuilt",
    "ride rode ridden",
    "ring rang rung",
    "rise risen",
    "rewrite rewrote rewritten",
    "run ran",
    "seek sought",
    "sell sold",
    "send sent",
    "shake shook shaken",
    "shoot shot",
    "show shown",
    "shrink shrank shrunk",
    "sink sank sunk",
    "sleep slept",
    "speak spoke spoken",
    "spend spent",
    "spin spun",
    "stand stood",
    "steal stole stolen",
    "stick stuck",
    "strike struck",
    "sweep swept",
    "swim swam swum",
    "take took taken",
    "teach taught",
    "tell told",
    "think thought",
    "throw threw thrown",
    "understand understood",
    "undo undid undone",
    "vertex vertices",
    "wake woke woken",
    "wear wore worn",
    "win won",
    "withdraw withdrew withdrawn",
    "woman women",
    "write wrote written",
];

/// Adjectives with a comparative of their own; not every word that ends in `er` is one.
const GRADABLE: &str = "big bright broad cheap clean clear close cold cool dark dense deep early \
    easy fast few fine firm great happy healthy heavy high hot large lazy light long \
    loose loud low narrow neat new noisy old poor quick quiet ready rich rough safe sharp \
    short simple slow small smooth soft strict strong thick thin tight tiny ugly warm weak wide \
    young";

/// What a word is as well, and how much that counts beside the word itself.
pub(super) fn kin(word: &str) -> Vec<(String, f64)> {
    const INFLECTED: f64 = 0.85;
    const ADVERB: f64 = 0.7;
    let mut found = Vec::new();
    let base = base_of(word);
    // Most are ruled out by their first letter, which no inflection changes.
    let is_same = |member: &str| {
        member.as_bytes().first() == base.as_bytes().first() && base_of(member) == base
    };
    if let Some(group) = IRREGULAR.iter().find(|group| group.split(' ').any(is_same)) {
        let others = group.split(' ').filter(|member| base_of(member) != base);
        found.extend(others.map(|other| (other.to_owned(), INFLECTED)));
    }
    if let Some(adjective) = GRADABLE
        .split_ascii_whitespace()
        .filter(|adjective| adjective.as_bytes().first() == word.as_bytes().first())
        .find(|adjective| *adjective == word || degrees(adjective).iter().any(|form| form == word))
    {
        let forms = degrees(adjective).into_iter().chain([adjective.to_owned()]);
        found.extend(forms.filter(|form| form != word).map(|form| (form, INFLECTED)));
        found.push((adverb(adjective), ADVERB));
    } else if let Some(adjective) = word.strip_suffix("ly").filter(|rest| rest.len() >= 4) {
        found.push((adjective.to_owned(), ADVERB));
        if let Some(stem) = adjective.strip_suffix('i') {
            found.push((format!("{stem}y"), ADVERB));
        }
    } else if word.len() >= 4 && word.is_ascii() {
        found.push((adverb(word), ADVERB));
    }
    found
}

/// Comparative and superlative.
fn degrees(adjective: &str) -> [String; 2] {
    let (stem, last) = adjective.split_at(adjective.len() - 1);
    let doubled = matches!(adjective, "big" | "hot" | "thin");
    let stem = match last {
        "e" => stem.to_owned(),
        "y" => format!("{stem}i"),
        last if doubled => format!("{adjective}{last}"),
        _ => adjective.to_owned(),
    };
    [format!("{stem}er"), format!("{stem}est")]
}

fn adverb(adjective: &str) -> String {
    match adjective.strip_suffix('y') {
        Some(stem) => format!("{stem}ily"),
        None => match adjective.strip_suffix("le") {
            Some(stem) => format!("{stem}ly"),
            None => format!("{adjective}ly"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kin_of_words() {
        for (word, expected) in [
            ("taken", "take"),
            ("writing", "written"),
            ("indices", "index"),
            ("child", "children"),
            ("larger", "large"),
            ("bigger", "big"),
            ("easy", "easier"),
            ("easier", "easily"),
            ("easily", "easy"),
            ("explicit", "explicitly"),
            ("explicitly", "explicit"),
            ("simple", "simply"),
        ] {
            assert!(kin(word).iter().any(|(form, _)| form == expected), "{word}: {:?}", kin(word));
        }
        for (word, other) in
            [("header", "head"), ("user", "use"), ("timer", "time"), ("letter", "let")]
        {
            assert!(kin(word).iter().all(|(form, _)| form != other), "{word}");
        }
    }
}
