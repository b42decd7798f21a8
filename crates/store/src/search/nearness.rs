//! How close together the words of a query stand.

use super::query::{Request, Term};

/// Terms found over the shortest stretch of tokens that has them all, from the places of terms in
/// their order; `None` for fewer than two terms. `within` is of use to nobody afterwards.
pub(super) fn closeness(
    places: &[(u32, usize)],
    request: &Request,
    within: &mut Vec<u32>,
) -> Option<f64> {
    let counts = |term: usize| request.terms.get(term).is_some_and(Term::counts);
    within.clear();
    within.resize(request.terms.len(), 0);
    for (_, term) in places.iter().filter(|(_, term)| counts(*term)) {
        within[*term] = 1;
    }
    let wanted = within.iter().filter(|count| **count > 0).count();
    if wanted < 2 {
        return None;
    }
    within.fill(0);
    let (mut have, mut shortest) = (0, u32::MAX);
    let mut left = places.iter().filter(|(_, term)| counts(*term)).peekable();
    for (place, term) in places.iter().filter(|(_, term)| counts(*term)) {
        within[*term] += 1;
        have += usize::from(within[*term] == 1);
        while have == wanted
            && let Some((start, first)) = left.next()
        {
            shortest = shortest.min(place - start + 1);
            within[*first] -= 1;
            have -= usize::from(within[*first] == 0);
        }
    }
    Some((wanted as f64 / f64::from(shortest.max(1))).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_stretch_counts() {
        let request = Request::parse("engine valve spring");
        let near = |places: &[(u32, usize)]| closeness(places, &request, &mut Vec::new());
        assert_eq!(near(&[(1, 0), (9, 0)]), None);
        assert_eq!(near(&[(1, 0), (9, 1), (10, 0)]), Some(1.0));
        assert_eq!(near(&[(1, 0), (2, 1), (6, 2), (7, 0), (8, 0)]), Some(0.5));
    }
}
