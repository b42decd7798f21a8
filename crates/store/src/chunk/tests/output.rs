//! Output of programs: a chunk starts where a failure, a commit or a file does, and says so.

use super::super::{ContentKind, Context, sections_with};
use super::titles;

/// Lines without a message, about `bytes` bytes.
fn noise(bytes: usize) -> String {
    "    at some place in the code of it\n".repeat(bytes / 36)
}

fn log(blocks: &[&str]) -> Vec<String> {
    let blocks: Vec<String> =
        blocks.iter().map(|block| format!("{block}\n{}", noise(400))).collect();
    let text = blocks.concat();
    titles(ContentKind::Log, &text)
}

#[test]
fn each_failure_starts_a_chunk_and_names_it() {
    let table: [(&[&str], &[&str]); 13] = [
        (
            &[
                "---- a::one stdout ----\nthread 'a::one' panicked at src/a.rs:3:5:",
                "---- a::two stdout ----",
            ],
            &["a::one stdout > thread 'a::one' panicked at src/a.rs:3:5:", "a::two stdout"],
        ),
        (
            &["____ test_one ____\nE   AssertionError: assert 1 == 2", "____ test_two[x-y] ____"],
            &["test_one > E AssertionError: assert 1 == 2", "test_two[x-y]"],
        ),
        (
            &["error[E0382]: use of moved value: `a`", "error: mismatched braces"],
            &["error[E0382]: use of moved value: `a`", "error: mismatched braces"],
        ),
        (
            &["--- FAIL: TestOne (0.00s)", "--- FAIL: TestTwo (0.01s)"],
            &["FAIL: TestOne (0.00s)", "FAIL: TestTwo (0.01s)"],
        ),
        (&["  ● cart › adds", "  ● cart › removes"], &["● cart › adds", "● cart › removes"]),
        (
            &["not ok 3 - rejects", "not ok 4 - accepts"],
            &["not ok 3 - rejects", "not ok 4 - accepts"],
        ),
        (
            &["        FAIL [   0.309s] shop cart::adds", "(fail) cart > removes [1.20ms]"],
            &["FAIL [ 0.309s] shop cart::adds", "(fail) cart > removes [1.20ms]"],
        ),
        (
            &["CartTest > adds() FAILED", "  Failed Shop.CartTests.Removes [12 ms]"],
            &["CartTest > adds() FAILED", "Failed Shop.CartTests.Removes [12 ms]"],
        ),
        (
            &[
                "[ERROR] adds(shop.CartTest)  Time elapsed: 0.01 s  <<< FAILURE!",
                "[ERROR] removes(shop.CartTest)  Time elapsed: 0 s  <<< ERROR!",
            ],
            &[
                "[ERROR] adds(shop.CartTest) Time elapsed: 0.01 s <<< FAILURE!",
                "[ERROR] removes(shop.CartTest) Time elapsed: 0 s <<< ERROR!",
            ],
        ),
        (
            &["src/a.c:10:5: error: unknown name", "src/b.ts(3,1): error TS2304: gone"],
            &["src/a.c:10:5: error: unknown name", "src/b.ts(3,1): error TS2304: gone"],
        ),
        (
            &[
                "commit 1234567890abcdef\nAuthor: a\n\n    Mend the thing",
                "commit abcdef1234567890\n\n    Break it",
            ],
            &["commit 1234567890ab Mend the thing", "commit abcdef123456 Break it"],
        ),
        (
            &["diff --git a/src/x.rs b/src/x.rs", "@@ -1,2 +3,4 @@ fn inner()"],
            &["diff src/x.rs", "diff src/x.rs > fn inner()"],
        ),
        (
            &["panic: runtime error: index out of range", "FAIL: test_add (tests.Sum)"],
            &["panic: runtime error: index out of range", "FAIL: test_add (tests.Sum)"],
        ),
    ];
    for (blocks, expected) in table {
        assert_eq!(log(blocks), expected);
    }
}

#[test]
fn a_test_point_its_name_and_its_details_are_one_chunk() {
    let point = |number: usize, name: &str, error: &str| {
        format!(
            "    # Subtest: {name}\n    not ok {number} - {name}\n      ---\n      duration_ms: 16.3\n      \
             error: {error}\n      code: 'ERR_TEST_FAILURE'\n\n      expected:\n        total: 3\n      stack: |-\n\
             {}      ...\n",
            noise(400)
        )
    };
    let passed = "    # Subtest: fine\n    ok 1 - fine\n      ---\n      ...\n".repeat(8);
    let text = format!(
        "TAP version 13\n{passed}{}{}error: not a detail\n{}",
        point(9, "rejects vouchers", "\"Cannot read 'x'\""),
        point(10, "adds", "'timed out'"),
        noise(400)
    );
    let chunks = super::cut(ContentKind::Log, &text);
    let found: Vec<_> =
        chunks.iter().map(|(title, body)| (title.as_str(), body.lines().next().unwrap())).collect();
    assert_eq!(
        found,
        [
            ("TAP version 13", "TAP version 13"),
            (
                "not ok 9 - rejects vouchers > error: \"Cannot read 'x'\"",
                "    # Subtest: rejects vouchers"
            ),
            ("not ok 10 - adds > error: 'timed out'", "    # Subtest: adds"),
            ("error: not a detail", "error: not a detail"),
        ]
    );
}

#[test]
fn the_title_of_a_log_is_its_gravest_line() {
    let text = "2024-01-01 INFO start\n2024-01-01 WARN low\n2024-01-01 ERROR disk full\n2024-01-01 INFO end\n";
    assert_eq!(titles(ContentKind::Log, text), ["2024-01-01 ERROR disk full"]);
    let quiet = "2024-01-01 INFO start\n2024-01-01 INFO end\n";
    assert_eq!(titles(ContentKind::Log, quiet), ["2024-01-01 INFO start"]);
    let traced = format!(
        "2024-01-01 INFO start\nTraceback (most recent call last):\n{}ValueError: bad\n",
        noise(200)
    );
    assert_eq!(titles(ContentKind::Log, &traced), ["Traceback (most recent call last):"]);
}

#[test]
fn a_stack_trace_stays_with_its_message() {
    let event = format!("2024-01-01 ERROR failed\n{}", noise(700));
    let text = event.repeat(6);
    let starts: Vec<bool> = super::cut(ContentKind::Log, &text)
        .iter()
        .map(|(_, body)| body.starts_with("2024"))
        .collect();
    assert_eq!(starts, vec![true; starts.len()]);
}

#[test]
fn a_failure_goes_on_in_the_next_window() {
    let mut context = Context::default();
    sections_with(ContentKind::Log, None, "---- a::one stdout ----\nleft: 1\n", &mut context);
    let found = sections_with(ContentKind::Log, None, "right: 2\n", &mut context);
    assert_eq!(
        found.first().map(|section| section.title.as_str()),
        Some("a::one stdout > right: 2")
    );
}

#[test]
fn a_command_leads_the_first_title_and_replaces_one_that_only_repeats_the_text() {
    let led = |command: Option<&str>, text: &str| {
        let mut sections = sections_with(ContentKind::Log, None, text, &mut Context::default());
        super::super::lead(command, &mut sections, text);
        sections.into_iter().map(|section| section.title).collect::<Vec<_>>()
    };
    let plain = "id,region\n1,eu\n";
    assert_eq!(led(Some("head  -200\taccounts.csv"), plain), ["head -200 accounts.csv"]);
    assert_eq!(led(None, plain), ["id,region"]);
    assert_eq!(led(Some(" "), plain), ["id,region"]);
    let failing = format!("error: one\n{}error: two\n{}", noise(400), noise(400));
    assert_eq!(led(Some("make"), &failing), ["make", "error: two"]);
    let later = format!("building\nerror: one\n{}", noise(400));
    assert_eq!(led(Some("make"), &later), ["make > error: one"]);
    assert!(led(Some(&"x".repeat(900)), plain)[0].chars().count() <= 160);
    assert!(led(Some("make"), "").is_empty());
}
