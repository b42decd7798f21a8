//! What is purged leaves no word behind.

use std::fs;

use super::Shelf;
use crate::Purge;

/// Whether any file of the store holds a word, in any case.
fn holds(shelf: &Shelf, word: &str) -> bool {
    let word = word.to_lowercase();
    fs::read_dir(shelf.folder.path()).unwrap().any(|entry| {
        let bytes = fs::read(entry.unwrap().path()).unwrap().to_ascii_lowercase();
        memchr::memmem::find(&bytes, word.as_bytes()).is_some()
    })
}

#[test]
fn purged_words_are_gone_and_the_others_still_repair_slips() {
    let shelf = Shelf::with(&[
        ("secret.md", "# Zebraquux\n\nThe zebraquux passphrase is Mirabilis.\n"),
        ("plain.md", "# Plain\n\nThe harbour opens at dawn.\n"),
    ]);
    assert!(holds(&shelf, "mirabili"));
    assert_eq!(shelf.first("mirabilsi").as_deref(), Some("secret.md"));
    shelf.store.purge(Purge::Source("secret.md")).unwrap();
    for word in ["zebraquux", "mirabili", "passphras"] {
        assert!(!holds(&shelf, word), "{word}");
    }
    assert!(shelf.find("mirabilis").hits.is_empty());
    assert_eq!(shelf.first("habrour").as_deref(), Some("plain.md"));
}

#[test]
fn replaced_text_is_no_longer_found() {
    let shelf = Shelf::with(&[("a.md", "# First\n\nThe walrus sleeps.\n")]);
    shelf.add("a.md", "# Second\n\nThe heron wades.\n");
    assert!(shelf.find("walrus").hits.is_empty());
    assert_eq!(shelf.first("heron").as_deref(), Some("a.md"));
}

#[test]
fn a_slip_that_the_text_had_once_is_repaired() {
    let shelf = Shelf::with(&[("a.md", "# Post\n\nYou recieve a letter.\n")]);
    assert_eq!(shelf.first("recieve").as_deref(), Some("a.md"));
    shelf.add("a.md", "# Post\n\nYou receive a letter.\n");
    assert_eq!(shelf.first("recieve").as_deref(), Some("a.md"));
}
