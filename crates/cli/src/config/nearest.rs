//! The known name that an unknown one was probably meant to be.

/// The nearest of `known`, if it is near enough to be worth naming.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = (name.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many characters have to be added, left out or exchanged (Levenshtein's distance, by
/// Wagner's and Fischer's table, of which one row is kept).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        for (b, above) in to.iter().zip(row.iter_mut().skip(1)) {
            let exchanged = corner + usize::from(a != *b);
            corner = *above;
            *above = exchanged.min(corner + 1).min(left + 1);
            left = *above;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, wanted) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("fetch.alow", "fetch.allow", 1),
            ("same", "same", 0),
        ] {
            assert_eq!(distance(from, to), wanted, "{from} {to}");
        }
    }

    #[test]
    fn only_a_near_name_is_named() {
        let known = ["data_dir", "fetch.allow", "fetch.mode"];
        assert_eq!(nearest("fetch.alow", known), Some("fetch.allow"));
        assert_eq!(nearest("datadir", known), Some("data_dir"));
        assert_eq!(nearest("sandbox", known), None);
    }
}
