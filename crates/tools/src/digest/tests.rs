//! Tests of `digest`.

use super::*;
use proptest::prelude::*;

fn gathered(lines: &[String], room: usize) -> Gathered {
    static SALIENCE: std::sync::LazyLock<Salience> = std::sync::LazyLock::new(Salience::new);
    let mut gathered = Gathered::new(room, &SALIENCE);
    for (index, line) in lines.iter().enumerate() {
        gathered.line(index as u64 + 1, line);
    }
    gathered
}

#[test]
fn the_ends_and_the_telling_lines_are_shown_in_order() {
    let mut lines: Vec<String> = (1..=5_000).map(|i| format!("line {i}")).collect();
    lines[3_070] = "core/x.go:88: error: boom".to_owned();
    let text = gathered(&lines, 1_500).render(1_500, |line| Some(ChunkId(line / 100)));
    assert!(text.starts_with("line 1\nline 2\n"), "{text}");
    assert!(text.contains("\n…\n[r:30] L3071: core/x.go:88: error: boom\n…\n"), "{text}");
    assert!(text.ends_with("line 4999\nline 5000\n"), "{text}");
    assert!(text.len() <= 1_500);
}

#[test]
fn what_fits_is_shown_whole_without_gaps() {
    let lines: Vec<String> = (1..=5).map(|i| format!("line {i}")).collect();
    let text = gathered(&lines, 500).render(500, |_| None);
    assert_eq!(text, "line 1\nline 2\nline 3\nline 4\nline 5\n");
}

#[test]
fn what_is_said_again_is_counted_and_leaves_room_for_the_rest() {
    let mut lines: Vec<String> = (1..=5_000)
        .map(|i| {
            format!("2026-01-02T10:{:02}:{:02}Z ERROR pool: no connection", i / 60 % 60, i % 60)
        })
        .collect();
    lines[4_000] = "2026-01-02T11:00:00Z ERROR pool: the disk is full".to_owned();
    for room in [200, 1_500] {
        let text = gathered(&lines, room).render(room, |_| None);
        assert!(text.contains("no connection (×4,999)\n"), "{room}: {text}");
        assert!(
            text.contains("L4001: 2026-01-02T11:00:00Z ERROR pool: the disk is full\n"),
            "{text}"
        );
    }
}

#[test]
fn a_run_of_equal_lines_is_shown_once_with_their_number() {
    let mut lines = vec!["waiting for the server".to_owned(); 4_000];
    lines.insert(0, "start".to_owned());
    lines.extend(["up", "up", "", "", "", "ready"].map(str::to_owned));
    lines.extend((0..500).map(|number| format!("request {number}")));
    lines.extend(vec!["Error: gone away".to_owned(); 2_000]);
    let text = gathered(&lines, 1_500).render(1_500, |_| None);
    assert!(
        text.starts_with("start\nwaiting for the server (×4,000)\nup\nup\n\nready\nrequest 0\n"),
        "{text}"
    );
    assert!(text.ends_with("request 499\nError: gone away (×2,000)\n"), "{text}");
    assert_eq!(text.matches("gone away").count(), 1, "{text}");
    // What fits is what came.
    let text = gathered(&lines[4_000..4_007], 500).render(500, |_| None);
    assert_eq!(text, "waiting for the server\nup\nup\n\n\n\nready\n");
}

#[test]
fn lines_that_only_begin_alike_are_no_run() {
    let long = "x".repeat(600);
    let lines: Vec<String> = (0..300).map(|number| format!("{long}{number}")).collect();
    let text = gathered(&lines, 1_500).render(1_500, |_| None);
    assert!(!text.contains('×'), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_digest_stays_in_its_room(
        lines in proptest::collection::vec("(error: )?([a-zé ]{0,300}|same|)", 0..200), room in 40usize..3000,
    ) {
        let text = gathered(&lines, room).render(room, |line| Some(ChunkId(line)));
        prop_assert!(text.len() <= room, "{} > {room}", text.len());
    }
}
