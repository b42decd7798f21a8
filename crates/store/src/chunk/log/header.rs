//! What single lines of program output tell: the headers and messages of test runners, compilers,
//! version control and crashes, recognised by their beginning.

use super::super::line::{find, trim, word};

/// What a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    /// Says what went wrong.
    Trouble,
    /// Opens a block about one failure, commit or file, and says which.
    Header,
}

/// Whether the text of this line alone says that it comes from a program: used to tell a log.
pub(in super::super) fn is_telling(line: &[u8]) -> bool {
    tells(line).is_some() || is_placed(line) || is_stamped(line) || is_runner(line)
}

/// What a line tells by its beginning. Most lines leave at the first byte.
#[inline]
pub(super) fn tells(line: &[u8]) -> Option<Tells> {
    let line = match line.first()? {
        b' ' | b'\t' => line.trim_ascii_start(),
        _ => line,
    };
    let first = *line.first()?;
    if is_failed_member(line) {
        return Some(Tells::Header);
    }
    let starts = |prefix: &str| line.starts_with(prefix.as_bytes());
    let header = |yes: bool| yes.then_some(Tells::Header);
    let trouble = |yes: bool| yes.then_some(Tells::Trouble);
    match first {
        b'e' | b'E' => header(is_error_header(line)).or_else(|| {
            trouble(
                (has_prefix(line, "error:") && !is_closing(line))
                    || has_prefix(line, "error[")
                    || (starts("E  ") && line.len() > 4)
                    || is_exception(line),
            )
        }),
        b'-' => header(is_decorated(line, b'-') || starts("--- FAIL: ")),
        b'_' => header(is_decorated(line, b'_')),
        b'=' => header(is_decorated(line, b'=')),
        b'n' => header(starts("not ok ")),
        b'c' => header(is_commit(line)),
        b'd' => header(starts("diff -")),
        b'@' => header(starts("@@ ")),
        b'(' => header(starts("(fail) ")),
        b'[' => header(line.ends_with(b"<<< FAILURE!") || line.ends_with(b"<<< ERROR!")),
        b'F' => header(["FAIL: ", "FAIL  ", "FAIL\t", "FAIL ["].iter().any(|mark| starts(mark)))
            .or_else(|| header(starts("Failed ") && line.ends_with(b"]")))
            .or_else(|| trouble(starts("FAILED ") || starts("FAIL ") || starts("FATAL"))),
        b'f' => trouble(starts("fatal")),
        b'T' => trouble(starts("Traceback (most")).or_else(|| trouble(is_exception(line))),
        b't' => trouble(
            (starts("thread '") && has(line, "panicked"))
                || (starts("test ") && line.ends_with(b"FAILED")),
        ),
        b'p' => header(starts("panic: ")),
        b'C' => trouble(starts("Caused by")).or_else(|| trouble(is_exception(line))),
        // Marks of JavaScript runners: a failed test, and the list of them.
        0xE2 => header(starts("\u{25cf} "))
            .or_else(|| trouble(starts("\u{2716} ") || starts("\u{2717} "))),
        0xC3 => trouble(starts("\u{d7} ")),
        b'0'..=b'9' => header(is_numbered_failure(line)),
        b'A'..=b'Z' => trouble(is_exception(line)),
        _ => None,
    }
}

/// `CartTest > adds FAILED`: a member of a class, as runners of the JVM name it.
#[inline]
fn is_failed_member(line: &[u8]) -> bool {
    line.ends_with(b" FAILED") && has(line, " > ")
}

fn has(line: &[u8], word: &str) -> bool {
    find(line, word.as_bytes()).is_some()
}

fn has_prefix(line: &[u8], prefix: &str) -> bool {
    line.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// `error: …`, `error[E0382]: …`, `error TS2304: …`, `ERROR: test_x`, `ERROR in ./file`.
fn is_error_header(line: &[u8]) -> bool {
    if line.starts_with(b"error: ") {
        return !is_closing(line);
    }
    line.starts_with(b"error[")
        || line.starts_with(b"error TS")
        || line.starts_with(b"ERROR: ")
        || line.starts_with(b"ERROR in ")
}

/// The closing lines of a build say nothing new.
fn is_closing(line: &[u8]) -> bool {
    line.starts_with(b"error: aborting") || line.starts_with(b"error: could not compile")
}

/// `src/a.c:10:5: error: …` and `src/a.ts(3,1): error TS2304: …`.
pub(super) fn is_placed(line: &[u8]) -> bool {
    let Some(at) = find(line, b": error") else { return false };
    let place = &line[..at];
    let after = &line[at + 7..];
    let ends = matches!(place.last(), Some(b'0'..=b'9' | b')'));
    ends && matches!(after.first(), Some(b':' | b' ')) && !place.contains(&b' ')
}

/// A title between runs of one sign: `---- name stdout ----`, `____ name ____`, `=== FAILURES ===`.
fn is_decorated(line: &[u8], sign: u8) -> bool {
    let line = line.trim_ascii_end();
    let front = line.iter().take_while(|&&byte| byte == sign).count();
    let back = line.iter().rev().take_while(|&&byte| byte == sign).count();
    let least = if sign == b'-' { 4 } else { 3 };
    front >= least
        && back >= least
        && line.len() > front + back + 2
        && line[front] == b' '
        && line[line.len() - back - 1] == b' '
}

/// `commit 1a2b3c4…` of a version control log.
fn is_commit(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"commit ") else { return false };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    digits >= 7 && rest.get(digits).is_none_or(u8::is_ascii_whitespace)
}

/// `ValueError: …`, `java.lang.IllegalStateException: …`: a name that ends so, then a colon or nothing.
fn is_exception(line: &[u8]) -> bool {
    let end = line
        .iter()
        .position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_'));
    let name = &line[..end.unwrap_or(line.len())];
    let known =
        name.ends_with(b"Error") || name.ends_with(b"Exception") || name.ends_with(b"Warning");
    known && matches!(line.get(name.len()), None | Some(b':' | b' ' | b'('))
}

/// `1) suite name`: a failure in the summary of a JavaScript runner.
fn is_numbered_failure(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits <= 4 && line.get(digits..).is_some_and(|rest| rest.starts_with(b") "))
}

/// A line with a time or a level at its start.
fn is_stamped(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"[").unwrap_or(line);
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let date = digits == 4
        && matches!(line.get(4), Some(b'-' | b'/'))
        && line.get(5).is_some_and(u8::is_ascii_digit);
    let time = digits == 2
        && line.get(2) == Some(&b':')
        && line.get(5) == Some(&b':')
        && line.get(3..5).is_some_and(|minutes| minutes.iter().all(u8::is_ascii_digit));
    let level =
        matches!(word(line), b"INFO" | b"DEBUG" | b"WARN" | b"WARNING" | b"ERROR" | b"TRACE");
    let syslog = line.len() > 15 && line[3] == b' ' && line[9] == b':' && line[12] == b':';
    date || time
        || syslog
        || (level && matches!(line.get(word(line).len()), Some(b' ' | b':' | b']')))
}

/// Lines that runners and builds print.
fn is_runner(line: &[u8]) -> bool {
    let line = trim(line);
    let starts = |prefix: &str| line.starts_with(prefix.as_bytes());
    starts("Compiling ") && has(line, " v")
        || (starts("running ") && line.ends_with(b" tests"))
        || (starts("test ") && line.ends_with(b" ... ok"))
        || starts("TAP version ")
        || (starts("ok ") && has(line, " - "))
        || starts("=== RUN ")
        || starts("warning: ")
        || starts("\u{2714} ")
        || starts("\u{2713} ")
}
