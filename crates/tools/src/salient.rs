//! Lines that tell how a run went: a table of what test runners, compilers and loggers print.

use regex::bytes::{Regex, RegexSet};

/// How telling a line is; the order is the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// Counts and verdicts at the end of a run.
    Summary,
    /// What failed and where.
    Error,
    /// What may matter when nothing failed.
    Warning,
}

/// One row: what a tool prints, with a line that it matches and one that it must not.
#[derive(Debug)]
pub(crate) struct Row {
    pub class: Class,
    pub pattern: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "shows what the row is for; tested"))]
    pub example: &'static str,
}

const fn row(class: Class, pattern: &'static str, example: &'static str) -> Row {
    Row { class, pattern, example }
}

/// The table. Patterns are tried on single lines.
pub(crate) static SALIENT: &[Row] = &[
    row(Class::Summary, r"^test result: ", "test result: FAILED. 3 passed; 1 failed; 0 ignored"),
    row(
        Class::Summary,
        r"^=+ .*\b(passed|failed|error|errors|skipped|no tests ran)\b.* =+$",
        "===== 1 failed, 2 passed in 0.12s =====",
    ),
    row(
        Class::Summary,
        r"^\s*(Tests|Test Suites|Test Files|Suites|Snapshots):?\s+.*\d+ (passed|failed|total)",
        "Tests:       1 failed, 4 passed, 5 total",
    ),
    row(Class::Summary, r"^(# |ℹ )(tests|pass|fail|cancelled|skipped) \d+", "# fail 2"),
    row(
        Class::Summary,
        r"^(ok|FAIL|---\s+FAIL|PASS|\?)(:|\s+)\S+.*\s\(?[\d.]+s\)?$",
        "FAIL    example.com/pkg 0.004s",
    ),
    row(Class::Summary, r"^FAIL$", "FAIL"),
    row(Class::Summary, r"^Ran \d+ tests? in ", "Ran 12 tests in 0.034s"),
    row(
        Class::Summary,
        r"^\s*Summary \[",
        "     Summary [   1.234s] 10 tests run: 9 passed, 1 failed",
    ),
    row(Class::Summary, r"^Tests run: \d+", "Tests run: 4, Failures: 1, Errors: 0"),
    row(
        Class::Summary,
        r"^\d+ (examples?|runs?|tests?|specs?|scenarios?), .*\d+ (failures?|failed|assertions?)",
        "12 examples, 1 failure",
    ),
    row(
        Class::Summary,
        r"^(BUILD|> Task .*) (FAILED|SUCCESSFUL|SUCCESS)|^BUILD (FAILURE|SUCCESS)",
        "BUILD FAILED in 3s",
    ),
    row(
        Class::Summary,
        r"^Found \d+ (error|warning|problem|issue)",
        "Found 14 errors (8 fixed, 6 remaining).",
    ),
    row(Class::Summary, r"^(✖|✗|×) \d+ problems?", "✖ 3 problems (2 errors, 1 warning)"),
    row(Class::Summary, r"^\d+ (errors?|warnings?) generated", "2 errors generated."),
    row(
        Class::Summary,
        r"^\s*Finished .*(profile|target)",
        "    Finished `dev` profile [unoptimized] target(s) in 1.2s",
    ),
    row(Class::Summary, r"^\d+ passed, \d+ failed", "3 passed, 1 failed"),
    row(Class::Error, r"^error(\[\w+\])?: ", "error[E0308]: mismatched types"),
    row(
        Class::Error,
        r"(?i)\b(fatal|panic|panicked|segmentation fault|core dumped|out of memory|oom-kill)",
        "thread 'main' panicked at src/main.rs:2:5:",
    ),
    row(Class::Error, r"^(---- .* stdout ----|_{3,} .+ _{3,})$", "---- tests::adds stdout ----"),
    row(
        Class::Error,
        r"^(FAILED|FAIL|ERROR|not ok|E  )\b",
        "FAILED tests/test_a.py::test_x - assert 1 == 2",
    ),
    row(Class::Error, r"^\s*(✗|✘|✖|×) ", "  ✗ adds two numbers"),
    row(Class::Error, r"\.\.\. FAILED$", "test tests::adds ... FAILED"),
    row(
        Class::Error,
        r"^Traceback \(most recent call last\)",
        "Traceback (most recent call last):",
    ),
    row(Class::Error, r"^[\w.]*(Error|Exception)\b(:|$)", "ValueError: invalid literal for int()"),
    row(
        Class::Error,
        r"(?i)(^|[\s\[(:|=])(error|err|failed|failure|exception|critical|emerg|alert)([\s\])!:|]|$)",
        "2026-01-02 ERROR worker: lost connection",
    ),
    row(Class::Error, r":\d+(:\d+)?: (fatal )?error: ", "main.c:3:5: error: expected ';'"),
    row(
        Class::Error,
        r"^(npm (ERR!|error)|make(\[\d+\])?: \*\*\*|gmake)",
        "npm ERR! code ELIFECYCLE",
    ),
    row(
        Class::Error,
        r"(?i)\b(undefined reference|no such file|command not found|permission denied|cannot find|not found:|connection refused|timed out|unhandled)",
        "sh: 1: foo: command not found",
    ),
    row(
        Class::Error,
        r"^(level=error|\{.*\x22level\x22:\s*\x22(error|fatal)\x22)",
        "{\"level\":\"error\",\"msg\":\"boom\"}",
    ),
    row(
        Class::Warning,
        r"(?i)(^|[\s\[(:|=])(warning|warn|deprecated)([\s\])!:|]|\[|$)",
        "warning: unused variable: `x`",
    ),
];

/// Bits of text, at least one of which is in every line that the table matches; a cheap first look.
const HINTS: &str = "(?i)err|fail|panic|fatal|exce|traceback|warn|passed|ok|pass|✗|✘|✖|×|critical|emerg|\
alert|undefined|no such|not found|denied|refused|timed out|unhandled|segmentation|core dumped|out of memory|\
oom-kill|cannot find|\\*\\*\\*|deprecated|tests?|problem|found \\d|build|summary|finished|generated|examples?|runs?|specs?|scenarios?|suites|snapshots|skip|cancelled|_{3}|total";

/// Longest part of a line that is looked at, in bytes.
const LOOK_BYTES: usize = 400;

/// The compiled table.
#[derive(Debug)]
pub(crate) struct Salience {
    hints: Regex,
    rows: RegexSet,
}

impl Salience {
    /// Compiles the table; made when a digest is first needed.
    pub(crate) fn new() -> Self {
        let rows = RegexSet::new(SALIENT.iter().map(|row| row.pattern));
        let hints = Regex::new(HINTS);
        Self {
            rows: rows.unwrap_or_else(|_| RegexSet::empty()),
            hints: hints.unwrap_or_else(|_| never()),
        }
    }

    /// How telling a line is, if it is.
    pub(crate) fn class(&self, line: &str) -> Option<Class> {
        let look = crate::budget::cut(line, LOOK_BYTES).as_bytes();
        if !self.hints.is_match(look) {
            return None;
        }
        self.rows
            .matches(look)
            .iter()
            .filter_map(|index| SALIENT.get(index))
            .map(|row| row.class)
            .min()
    }
}

/// A pattern without a match. The table is constant and tested, so this is never reached.
fn never() -> Regex {
    #[expect(clippy::expect_used, reason = "a constant pattern, covered by the table's test")]
    Regex::new("$.^").expect("valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_matches_its_example_with_its_class() {
        assert!(Regex::new(HINTS).is_ok());
        let salience = Salience::new();
        for row in SALIENT {
            let pattern = Regex::new(row.pattern).unwrap();
            assert!(pattern.is_match(row.example.as_bytes()), "{} / {}", row.pattern, row.example);
            let class = salience.class(row.example);
            assert!(class.is_some_and(|class| class <= row.class), "{}: {class:?}", row.example);
        }
    }

    #[test]
    fn ordinary_lines_are_not_salient() {
        let salience = Salience::new();
        for line in [
            "INFO worker heartbeat ok",
            "pkg/f12.go:12: filler line 12",
            "   Compiling errno v0.3.14",
            "GET /terror-management 200",
            "test tests::adds ... ok",
            "src/error.rs | 12 ++",
            "1234567",
            "",
        ] {
            assert_eq!(salience.class(line), None, "{line}");
        }
    }
}
