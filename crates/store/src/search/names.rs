//! Compares the names of what a text defines with the words of a query.

use super::fold::fold;
use super::forms::Forms;
use super::porter::stem;
use super::query::{Request, Term};
use super::stop::is_stop;
use super::tokens::parts;

/// What a part is worth that is the beginning of a word asked for: `def` for `definition`.
const SHORTENED: f64 = 0.8;
/// The shortest such part.
const SHORTEST: usize = 3;

/// The rarity of the terms that make up a name, which is one word: at least two, and less the more the
/// name says beside them.
pub(super) fn covered(
    name: &str,
    request: &Request,
    forms: &Forms<'_>,
    scratch: &mut Vec<u8>,
) -> f64 {
    let mut rarity = 0.0;
    let mut terms: Vec<usize> = Vec::new();
    let (mut known, mut all) = (0.0, 0.0);
    // Most names have nothing of the query, and a look at how their parts begin shows it.
    let may_be_known = |part: &&str| !part.is_ascii() || forms.begin_like(part.as_bytes());
    if parts(name).filter(may_be_known).nth(1).is_none() {
        return 0.0;
    }
    for part in parts(name) {
        let part = fold(part);
        if is_stop(&part) {
            continue;
        }
        all += 1.0;
        let Some((term, weight)) = term_of(&part, request, forms, scratch) else { continue };
        known += 1.0;
        if !terms.contains(&term) {
            terms.push(term);
            rarity += weight * request.terms.get(term).map_or(0.0, |term| term.rarity);
        }
    }
    let share: f64 = if all > 0.0 { known / all } else { 0.0 };
    if terms.len() >= 2 { rarity * share.powi(3) } else { 0.0 }
}

/// The term a part of a name stands for, and how well it does.
fn term_of(
    part: &str,
    request: &Request,
    forms: &Forms<'_>,
    scratch: &mut Vec<u8>,
) -> Option<(usize, f64)> {
    let counts = |term: usize| request.terms.get(term).is_some_and(Term::counts);
    let stem = stem(part, scratch);
    if let Some(form) = forms.of(stem).iter().find(|form| counts(form.term)) {
        return Some((form.term, form.weight));
    }
    if part.len() < SHORTEST {
        return None;
    }
    let shortened = |term: &Term| {
        term.counts() && term.text.len() >= part.len() + 2 && term.text.starts_with(part)
    };
    request.terms.iter().position(shortened).map(|term| (term, SHORTENED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_the_share_that_was_asked_for() {
        let mut request = Request::parse("the file type definition that matched");
        request.terms.iter_mut().for_each(|term| term.rarity = 1.0);
        let forms = Forms::new(&request);
        let share = |name: &str| covered(name, &request, &forms, &mut Vec::new());
        assert!((share("fileTypes") - 2.0).abs() < 1e-9);
        assert!((share("file_type_def") - 2.8).abs() < 1e-9);
        assert!(share("file_type_of_color") < share("file_type"));
        for name in ["file", "color_of_the_sky", "de_fi", "files_file"] {
            assert!(share(name) < 1e-9, "{name}");
        }
    }
}
