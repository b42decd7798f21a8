//! Lines that tell how a run went, by a table of what programs print.

mod table;

use regex::bytes::{Regex, RegexSet};

use self::table::{ANNOUNCES, BAD, HINTS, LISTED, SALIENT, SOURCE};

/// How telling a line is; the order is the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// Counts and verdicts at the end of a run, when they say that something failed.
    Summary,
    /// Why it failed: the message of a compiler, an assertion, an exception, a log.
    Cause,
    /// What failed, and signs that may be one.
    Failed,
    /// Counts and verdicts of what went well.
    Passed,
    /// What may matter when nothing failed.
    Warning,
}

/// Longest part of a line that is looked at, in bytes.
const LOOK_BYTES: usize = 400;

/// The compiled table. A copy is cheap and has its own working memory.
#[derive(Debug, Clone)]
pub(crate) struct Salience {
    hints: Regex,
    /// A summary that says so tells of a failure.
    bad: Regex,
    rows: RegexSet,
    announces: Regex,
    listed: Regex,
    source: Regex,
}

impl Salience {
    /// Compiles the table; made when a digest is first needed.
    pub(crate) fn new() -> Self {
        let rows = RegexSet::new(SALIENT.iter().map(|row| row.pattern));
        Self {
            hints: compiled(HINTS),
            bad: compiled(BAD),
            rows: rows.unwrap_or_else(|_| RegexSet::empty()),
            announces: compiled(ANNOUNCES),
            listed: compiled(LISTED),
            source: compiled(SOURCE),
        }
    }

    /// Whether the next line tells why.
    pub(crate) fn announces(&self, line: &str) -> bool {
        line.len() < LOOK_BYTES && self.announces.is_match(line.as_bytes())
    }

    /// How telling a line is, if it is.
    pub(crate) fn class(&self, line: &str) -> Option<Class> {
        let look = crate::budget::cut(line, LOOK_BYTES).as_bytes();
        if !self.hints.is_match(look) {
            return None;
        }
        let rows = self.rows.matches(look);
        let classes = rows.iter().filter_map(|index| SALIENT.get(index)).map(|row| row.class);
        let least = if self.listed.is_match(look) { Class::Failed } else { Class::Summary };
        let passed = |class| class == Class::Summary && !self.bad.is_match(look);
        let class = classes.map(|class| if passed(class) { Class::Passed } else { class }).min()?;
        let vague = matches!(class, Class::Failed | Class::Warning);
        (!vague || !self.source.is_match(look)).then_some(class.max(least))
    }
}

/// A pattern of the table. They are constant and tested, so none is ever replaced by one without a match.
fn compiled(pattern: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "a constant pattern, covered by the table's test")]
    Regex::new(pattern).unwrap_or_else(|_| Regex::new("$.^").expect("valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_matches_its_example_with_its_class() {
        assert!(Regex::new(HINTS).is_ok() && Regex::new(BAD).is_ok());
        assert!(
            Regex::new(SOURCE).is_ok()
                && Regex::new(ANNOUNCES).is_ok()
                && Regex::new(LISTED).is_ok()
        );
        let salience = Salience::new();
        for row in SALIENT {
            let pattern = Regex::new(row.pattern).unwrap();
            assert!(pattern.is_match(row.example.as_bytes()), "{} / {}", row.pattern, row.example);
            let class = salience.class(row.example);
            let passed = row.class == Class::Summary && class == Some(Class::Passed);
            let told = passed || class.is_some_and(|class| class <= row.class);
            assert!(told, "{}: {class:?}", row.example);
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
            "  12: core::panicking::panic_fmt",
            "{\"level\":\"info\",\"msg\":\"request\",\"path\":\"/errors\",\"status\":200}",
            "Jan  2 10:00:12 host sshd[900]: Accepted publickey for ada port 50022",
            "#5 [1/5] FROM docker.example/library/node:22",
            "src/error.rs | 12 ++",
            "1234567",
            "",
            "    Err(error) => {",
            "        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}",
            "use crate::error::ExecError;",
            "src/main.rs:12:    Err(error) => return Err(error),",
            "pub(crate) fn untried(source: io::Error) -> ExecError {",
            "        ExecError::Spawn { program, step, source }",
            "//! The whole error space of running a program:",
            "lib/shop.py-7-    except ValueError as error:",
            "const failed = (error) => { throw error };",
            "    # [error]: a comment (error),",
        ] {
            assert_eq!(salience.class(line), None, "{line}");
        }
    }

    /// What looks like source at one end only is still told.
    #[test]
    fn messages_with_brackets_are_salient() {
        let salience = Salience::new();
        for line in [
            "  \"error\": \"no such table: orders;\",",
            "request failed: {\"code\": 3}",
            "Error: spawn true EAGAIN {",
            "main.c:3:5: error: expected ';'",
            "ERROR: relation \"orders\" does not exist at character 15;",
        ] {
            assert!(salience.class(line).is_some(), "{line}");
        }
    }
}
