//! Any string is a legal query, and the index holds exactly what this crate thinks it holds.

use proptest::prelude::*;
use rusqlite::Connection;

use super::Shelf;
use crate::search::expand::Expander;
use crate::search::query::Request;
use crate::search::snippet::snippet;
use crate::search::{Rows, SCHEMA, features::Reader, index};
use crate::{Query, Scope};

const TEXT: &str = "# Title\n\nThe café serves naïve users: parse_human_size(\"10 MB\") AND std::mem.\n\
    用户身份验证失败 NOT NEAR(foo, 2) hello-world 3f9c0de 100% a:b -x ^y *z\n";

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        "[a-z]{0,8}",
        "[\"'(){}*:^+~%-]{1,4}",
        Just("AND".to_owned()),
        Just("NOT".to_owned()),
        Just("NEAR(a b, 2)".to_owned()),
        Just("title : x".to_owned()),
        Just("\0".to_owned()),
        Just("用户".to_owned()),
        Just("parse_human_sizes".to_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.join(" "))
}

#[test]
fn any_string_is_a_legal_query() {
    let shelf = Shelf::with(&[("a.md", TEXT), ("b.txt", "parse_human_size again and again")]);
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&hostile(), |text| {
            for scope in [Scope::All, Scope::Source("a.md"), Scope::Source(&text)] {
                let query = Query { scope, ..Query::new(&text, 3) };
                let found = shelf.store.search(&query);
                prop_assert!(found.is_ok(), "{text:?}: {found:?}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_same_query_has_the_same_answer() {
    let shelf = Shelf::new();
    for n in 0..30 {
        shelf
            .add(&format!("{n}.md"), &format!("# Part {n}\n\nThe engine turns, part {}.\n", n % 3));
    }
    let ids = || shelf.find("engine part").hits.iter().map(|hit| hit.chunk).collect::<Vec<_>>();
    let first = ids();
    assert!(first.len() > 1);
    for _ in 0..5 {
        assert_eq!(ids(), first);
    }
}

/// The terms the engine keeps for a text.
fn engine_terms(text: &str) -> Vec<String> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    let transaction = connection.transaction().unwrap();
    let rows = Rows::new(&mut Expander::default(), [("", text)].into_iter());
    index(&transaction, [(1, &rows, "")]).unwrap();
    transaction.commit().unwrap();
    let mut statement = connection.prepare("SELECT term FROM word_places ORDER BY offset").unwrap();
    let terms = statement.query_map((), |row| row.get(0)).unwrap();
    terms.collect::<rusqlite::Result<_>>().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_engine_keeps_our_tokens_as_they_are(text in any::<String>()) {
        let mut expanded = String::new();
        Expander::default().expand(&text, &mut expanded);
        let ours: Vec<String> = expanded.split(' ').filter(|token| !token.is_empty()).map(str::to_owned).collect();
        prop_assert_eq!(engine_terms(&text), ours);
    }

    #[test]
    fn what_a_query_asks_for_is_what_its_text_is_indexed_as(word in "[A-Za-z_0-9]{1,20}|[用户身份验]{1,4}") {
        let terms = engine_terms(&word);
        for term in Request::parse(&word).terms {
            let stem = &term.forms[0].stem;
            prop_assert!(terms.contains(stem), "{stem} of {word} not in {terms:?}");
        }
    }

    #[test]
    fn previews_are_pieces_of_the_text(text in "(?s).{0,4000}", query in "[a-z]{1,6} [a-z]{1,6}") {
        let request = Request::parse(&query);
        let mut reader = Reader::new(&request, 1_000.0);
        let preview = snippet(&mut reader, &text);
        prop_assert!(preview.chars().count() <= 600);
        prop_assert!(text.contains(&preview));
    }
}
