//! Turns what was seen in a chunk into its score: BM25 over weighted fields, then bounded factors.
//!
//! Source of BM25: S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework", 2009. The
//! factors were measured one by one and each earns its place; their weights are flat, so there is
//! nothing to gain by tuning them.

use super::definition::Fit;
use super::features::{Features, SeenTerm};
use super::query::{Request, Term, TermKind};

/// What a word in a title counts, beside 1 in the text.
pub(super) const FIELD_TITLE: f64 = 2.0;
/// What a word in a path counts.
pub(super) const FIELD_PATH: f64 = 0.6;

const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.5;
const JOINED: f64 = 0.9;
const PART: f64 = 0.8;
const COVERAGE: f64 = 0.65;
const COVERAGE_POWER: f64 = 1.5;
const COMPLETE: f64 = 0.2;
/// Words up to which each of them was chosen: a text that has them all was meant, and rarity says little
/// about the one that is missing elsewhere.
const CHOSEN: usize = 4;
const PROXIMITY: f64 = 0.45;
const LINE: f64 = 0.35;
const SURFACE: f64 = 0.12;
const WHOLE: f64 = 0.6;
const EXACT: f64 = 0.25;
const DEFINITION: f64 = 0.5;
const JOINED_DEFINITION: f64 = 0.6;
const PATH: f64 = 3.0;
const PATH_LEAD: f64 = 100.0;
const NAMED: f64 = 0.5;
/// Below this share of what was asked even the best hit is no good match.
const GOOD_COVERAGE: f64 = 0.5;
/// Below this share scattered words are no good match.
const COINCIDENCE: f64 = 2.0 / 3.0;
/// Closeness from which the parts of a name stand for it: `parse a human size` for `parse_human_size`.
const TOGETHER: f64 = 0.6;
/// Words of prose over which the factors fade.
const PROSE_OVER: f64 = 4.0;

/// What repetition is worth: the first place the most. `length` is relative to an average chunk.
pub(super) fn saturate(places: f64, length: f64) -> f64 {
    places * (SATURATION + 1.0) / (places + SATURATION * (1.0 - LENGTH + LENGTH * length))
}

/// A score and the share of the query it rests on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Score {
    /// Larger is better.
    pub(super) value: f64,
    /// The same without what only puts definitions before uses: what is far below by this is not
    /// worth showing.
    pub(super) relevance: f64,
    /// How much of what was asked is there, weighted by rarity, 0 to 1.
    pub(super) coverage: f64,
    /// It covers at least half of what was asked, and not by words that only happen to stand in one
    /// chunk.
    pub(super) is_good: bool,
}

/// The score of a chunk.
pub(super) fn score(request: &Request, seen: &Features) -> Score {
    let asked = request.asked().count();
    let total: f64 = request.asked().map(|term| term.rarity).sum();
    let total = if total > 0.0 { total } else { 1.0 };
    let mut value = 0.0;
    let mut found = 0.0;
    let mut in_body = 0;
    for (term, seen_term) in request.terms.iter().zip(&seen.terms) {
        let places =
            seen_term.places + FIELD_TITLE * seen_term.in_title + FIELD_PATH * seen_term.in_path;
        if places <= 0.0 {
            continue;
        }
        let kind = match term.kind {
            TermKind::Joined => JOINED,
            TermKind::Part => PART,
            TermKind::Word | TermKind::Cjk => 1.0,
        };
        let best = seen_term.in_body.max(seen_term.in_title);
        let worth = best.max(seen_term.in_path * 0.6).max(0.3);
        value += kind * term.rarity * worth * saturate(places, seen.length);
        if term.counts() {
            found += term.rarity * best.max(seen_term.in_path * 0.7);
            in_body += usize::from(seen_term.in_body > 0.0);
        }
    }
    let coverage = (found / total).min(1.0);
    // Long prose: trust BM25, fade the factors out.
    let fade = (1.0 - request.prose() / PROSE_OVER).max(0.0);
    if asked > 1 {
        let weight = COVERAGE * fade;
        value *= 1.0 - weight + weight * coverage.powf(COVERAGE_POWER);
        if in_body == asked && asked <= CHOSEN {
            value *= 1.0 + COMPLETE;
        }
        value *= 1.0 + LINE * fade * (seen.line / total);
    }
    if let Some(closeness) = seen.closeness {
        value *= 1.0 + PROXIMITY * fade * coverage * closeness.sqrt();
    }
    if seen.whole {
        value *= 1.0 + WHOLE;
    }
    if !request.phrases.is_empty() {
        let missing = request.phrases.len() - seen.phrases;
        value *= 3f64.powi(seen.phrases as i32) * 0.5f64.powi(missing as i32);
    }
    if !request.exact.is_empty() {
        value *= 1.0 + EXACT * seen.exact as f64;
    }
    if seen.path_named {
        value *= 1.6;
    }
    if seen.path_is_query {
        // It leads to the file, and there to its beginning; what mentions the path comes after.
        value = value * PATH + PATH_LEAD * (1.0 + f64::from(u8::from(seen.begins_document)));
    }
    value *= 1.0 + SURFACE * fade * (seen.surface / total);
    let relevance = value;
    // A definition counts when the other words are there, too.
    let gate = if coverage > 0.93 { 1.0 } else { (coverage - 0.5).max(0.0) * 0.5 };
    if seen.defines_word {
        value *= 1.0 + DEFINITION * gate;
    }
    let fit = match seen.defines {
        Fit::None => 0.0,
        Fit::Ends => 0.4,
        Fit::Data => 0.8,
        Fit::Style => 1.0,
        Fit::Same => 1.2,
    };
    value *= 1.0 + JOINED_DEFINITION * fit * gate;
    value *= 1.0 + NAMED * (seen.named / total).sqrt();
    // Of a short query: half of it, word by word all over a long list, is a coincidence.
    let scattered = request.prose() <= 0.0
        && coverage < COINCIDENCE
        && seen.line / total < 1.0 / 3.0
        && seen.closeness.is_some_and(|closeness| closeness < 0.1)
        && seen.terms.iter().all(|term| term.in_title <= 0.0);
    let is_good = coverage >= GOOD_COVERAGE && !scattered && !is_in_pieces(request, seen);
    Score { value, relevance, coverage, is_good }
}

/// Whether one name was asked for, like `parse_zorgle` or `E9999`, and no more than its parts are there, all
/// over the text.
fn is_in_pieces(request: &Request, seen: &Features) -> bool {
    let joined = |(term, seen): (&Term, &SeenTerm)| !term.counts() && seen.places > 0.0;
    request.words.len() == 1
        && !request.exact.is_empty()
        && seen.exact == 0
        && !seen.path_is_query
        && !request.terms.iter().zip(&seen.terms).any(joined)
        && seen.closeness.is_none_or(|closeness| closeness < TOGETHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_every_chosen_word_comes_before_one_with_the_rare_ones_only() {
        let ask = |text: &str| {
            let mut request = Request::parse(text);
            for (term, rarity) in request.terms.iter_mut().zip([5.2, 3.2, 1.6, 1.0, 1.0]) {
                term.rarity = rarity;
            }
            request
        };
        let body = |places| SeenTerm {
            places,
            in_body: f64::from(u8::from(places > 0.0)),
            ..SeenTerm::default()
        };
        let seen = |places: &[f64], closeness| Features {
            terms: places.iter().map(|places| body(*places)).collect(),
            length: 1.0,
            closeness: Some(closeness),
            line: 5.2,
            ..Features::default()
        };
        let value = |request: &Request, seen: &Features| score(request, seen).value;
        let short = ask("backends distribute typed");
        let all = seen(&[1.0, 2.0, 3.0], 0.03);
        let rare = seen(&[2.0, 6.0, 0.0], 0.25);
        assert!(value(&short, &all) > value(&short, &rare));
        // A title names what is around the text, too.
        let mut titled = all.clone();
        titled.terms[2] = SeenTerm { in_title: 1.0, ..SeenTerm::default() };
        assert!(value(&short, &all) > 1.15 * value(&short, &titled));
        // Of many words some are of no account.
        let long = ask("backends distribute typed files slowly");
        let all = seen(&[1.0, 2.0, 3.0, 1.0, 1.0], 0.03);
        let rare = seen(&[2.0, 6.0, 0.0, 1.0, 1.0], 0.25);
        assert!(value(&long, &all) < value(&long, &rare));
    }
}
