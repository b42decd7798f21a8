//! The table: what test runners, compilers and loggers print. Patterns are tried on single lines.

use super::Class;

/// One row: what a tool prints, with a line that it matches and one that it must not.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) class: Class,
    pub(super) pattern: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "shows what the row is for; tested"))]
    pub(super) example: &'static str,
}

const fn row(class: Class, pattern: &'static str, example: &'static str) -> Row {
    Row { class, pattern, example }
}

/// The table. Patterns are tried on single lines.
pub(super) static SALIENT: &[Row] = &[
    row(Class::Summary, "^test result: ", "test result: FAILED. 3 passed; 1 failed; 0 ignored"),
    row(
        Class::Summary,
        r"^=+ .*\b(passed|failed|error|errors|skipped|no tests ran)\b.* =+$",
        "===== 1 failed, 2 passed in 0.12s =====",
    ),
    row(Class::Summary, r"^\d+ (passed|failed)\b.* in [\d.]+", "1 failed, 2 passed in 0.12s"),
    row(
        Class::Summary,
        r"^\s*(Tests|Test Suites|Test Files|Suites|Snapshots):?\s+.*\d+ (passed|failed|total)",
        "Tests:       1 failed, 4 passed, 5 total",
    ),
    row(Class::Summary, r"^\s+\d+ (passing|failing)\b", "  2 failing"),
    row(Class::Summary, r"^(# |ℹ )(tests|pass|fail|cancelled|skipped) \d+", "# fail 2"),
    row(
        Class::Summary,
        r"^(ok|FAIL|PASS|\?)(:|\s+)\S+.*\s\(?[\d.]+s\)?$",
        "FAIL    example.com/pkg 0.004s",
    ),
    row(Class::Summary, r"^Ran \d+ tests? in ", "Ran 12 tests in 0.034s"),
    row(Class::Summary, r"^(FAILED|OK) \(", "FAILED (failures=1, errors=1)"),
    row(
        Class::Summary,
        r"^\s*Summary \[",
        "     Summary [   1.234s] 10 tests run: 9 passed, 1 failed",
    ),
    row(
        Class::Summary,
        r"^(\[\w+\] )?Tests run: \d+",
        "[ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1",
    ),
    row(Class::Summary, r"^\d+ tests? completed", "4 tests completed, 1 failed, 1 skipped"),
    row(Class::Summary, r"^Tests: \d+, Assertions: \d+", "Tests: 4, Assertions: 5, Failures: 1."),
    row(
        Class::Summary,
        r"^\d+ (examples?|runs?|tests?|specs?|scenarios?), .*\d+ (failures?|failed|assertions?)",
        "12 examples, 1 failure",
    ),
    row(
        Class::Summary,
        r"^(\[INFO\] )?BUILD (FAILED|FAILURE|SUCCESSFUL|SUCCESS)\b",
        "[INFO] BUILD FAILURE",
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
    row(
        Class::Summary,
        r"^error: (could not compile|aborting due to|\d+ targets? failed)",
        "error: could not compile `shop` (lib) due to 3 previous errors",
    ),
    row(Class::Summary, "^ninja: build stopped", "ninja: build stopped: subcommand failed."),
    row(
        Class::Summary,
        "^ERROR: failed to (solve|build)",
        "ERROR: failed to solve: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 1",
    ),
    row(Class::Summary, r"^(added|removed|changed) \d+ packages?", "added 422 packages in 59s"),
    row(Class::Cause, r"^E\s{2,}\S", "E       assert 25 == 31"),
    row(Class::Cause, r"^(FAILED|ERROR) \S+ - ", "FAILED tests/test_a.py::test_x - assert 1 == 2"),
    row(
        Class::Cause,
        r"^[\s>│]{0,10}(Uncaught )?[\w.:]*(Error|Exception|Interrupt)( \[\w+\])?(:[^:]|:?$)",
        "  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
    ),
    row(
        Class::Cause,
        r"^\s*(Expected|Received|expected|Actual|actual|got|left|right): ",
        "    Received: 20",
    ),
    row(
        Class::Cause,
        "^(Caused by: |Exception in thread )",
        "Caused by: java.lang.NumberFormatException: For input string: \"x\"",
    ),
    row(
        Class::Cause,
        r"\((\w+::)*\w*(Error|Exception)\)$",
        "-e:1:in `Integer': invalid value for Integer(): \"x1\" (ArgumentError)",
    ),
    row(
        Class::Cause,
        "^(PHP )?(Fatal|Parse) error: ",
        "PHP Fatal error:  Uncaught DivisionByZeroError: Division by zero",
    ),
    row(Class::Cause, r"^\s*Failure/Error: ", "     Failure/Error: expect(total).to eq(21)"),
    row(Class::Cause, "^Failed asserting ", "Failed asserting that 20 matches expected 21."),
    row(Class::Cause, r"^\s+→ ", "     → expected 20 to be 21 // Object.is equality"),
    row(Class::Cause, r"^\s+\S+_test\.go:\d+: ", "    shop_test.go:3: Total(10, 2) = 20, want 21"),
    row(
        Class::Cause,
        r"^(vet: )?[\w./-]+\.go:\d+:\d+: ",
        "./broken.go:2:24: undefined: undefinedName",
    ),
    row(Class::Cause, r"^(\x22)?(panic: |fatal error: )", "panic: assignment to entry in nil map"),
    row(Class::Cause, r"\bpanicked at ", "thread 'main' panicked at src/main.rs:2:5:"),
    row(
        Class::Cause,
        r"^\s*(assertion .*failed|called `(Result|Option)::)",
        "assertion `left == right` failed: two of ten",
    ),
    row(Class::Cause, r":\d+(:\d+)?: (fatal )?error: ", "main.c:3:5: error: expected ';'"),
    row(
        Class::Cause,
        r"(\(\d+,\d+\): | - )error TS\d+: ",
        "src/bad.ts(2,26): error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    row(
        Class::Cause,
        r"^\s+\d+:\d+\s+error\s",
        "  2:38  error    'undefinedThing' is not defined  no-undef",
    ),
    row(Class::Cause, r"^error(\[\w+\])?: ", "error[E0308]: mismatched types"),
    row(
        Class::Cause,
        r"(?i)\b(segmentation fault|core dumped|out of memory|oom-kill|segfault at|undefined reference|command not found|unhandled|stack overflow|double free)\b",
        "sh: 1: foo: command not found",
    ),
    row(
        Class::Cause,
        r"\b(No rule to make target|recipe for target)\b",
        "make: *** No rule to make target 'a.c', needed by 'a'.  Stop.",
    ),
    row(
        Class::Cause,
        "^npm (ERR!|error) (code |notarget |404 |Missing |Could not |Cannot |Conflicting |While |Found: |command failed|peer |The .* can )",
        "npm error code ERESOLVE",
    ),
    row(
        Class::Cause,
        r"^#\d+ ERROR: ",
        "#8 ERROR: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 1",
    ),
    row(Class::Cause, "^Execution failed for task", "Execution failed for task ':test'."),
    row(
        Class::Cause,
        r"(^|: )[EF]\d{4} \d\d:\d\d:\d\d\.\d+ ",
        "E0102 10:00:16.123456      99 store.go:42] lost the store",
    ),
    row(
        Class::Cause,
        r"(?i)\x22(level|severity|levelname|lvl|log\.level)\x22: ?(\x22(error|fatal|critical|alert|emergency|panic)\x22|[56]0\b)",
        "{\"level\":50,\"time\":1767348001000,\"msg\":\"order lost\"}",
    ),
    row(
        Class::Cause,
        r"(?i)\b(level|lvl|severity)=\x22?(error|eror|fatal|crit|critical|panic)\b",
        "time=\"2026-01-02T10:00:03Z\" level=error msg=\"cannot bind\" port=80",
    ),
    row(
        Class::Cause,
        r"(^|[\s\[(|])(ERROR|FATAL|CRITICAL|crit|emerg|alert)([\s\])|]|:\s)",
        "2026-01-02 ERROR worker: lost connection",
    ),
    row(Class::Failed, r"^(FAILED|FAIL|ERROR|not ok|--- FAIL)\b", "FAIL: test_bad (test_sums.T)"),
    row(
        Class::Failed,
        r"\b(FAILED|ERROR)\s+\[ *\d+%\]$",
        "test_orders.py::test_tax FAILED            [  0%]",
    ),
    row(Class::Failed, "^(---- .* stdout ----|_{3,} .+ _{3,})$", "---- tests::adds stdout ----"),
    row(Class::Failed, r"^\s+--> \S+:\d+:\d+", " --> src/lib.rs:3:5"),
    row(Class::Failed, r"^\s*(--- )?FAIL:?\s", "    --- FAIL: TestTable/b (0.00s)"),
    row(
        Class::Failed,
        r"^\s+(FAIL|SIG[A-Z]+|TIMEOUT|LEAK) \[",
        "        FAIL [   0.004s] shop tests::adds",
    ),
    row(Class::Failed, r"^\s*(✗|✘|✖|×|✕) ", "  ✗ adds two numbers"),
    row(Class::Failed, r"^\s*● ", "  ● total › adds"),
    row(Class::Failed, r"^\s{0,4}\d+\) \S", "  1) total"),
    row(
        Class::Failed,
        r"(\.\.\. FAILED|\(FAILED - \d+\)| > .* FAILED|<<< (FAILURE|ERROR)!.*)$",
        "test tests::adds ... FAILED",
    ),
    row(
        Class::Failed,
        r"^\[ERROR\] +\S",
        "[ERROR]   ShopTest.total:12 expected: <21> but was: <20>",
    ),
    row(
        Class::Failed,
        r"^Traceback \(most recent call last\)",
        "Traceback (most recent call last):",
    ),
    row(
        Class::Failed,
        r"(?i)(^|[\s\[(:|=])(error|err|failed|failure|exception|critical|fatal)([\s\])!:|]|$)",
        "step 3 failed: no route",
    ),
    row(
        Class::Failed,
        r"^(npm (ERR!|error) \S|make(\[\d+\])?: \*\*\*|gmake)",
        "make: *** [Makefile:3: all] Error 2",
    ),
    row(
        Class::Failed,
        r"(?i)\b(no such file|permission denied|cannot find|not found:|connection refused|timed out|address already in use|no space left|did not complete successfully)",
        "open a.txt: no such file or directory",
    ),
    row(
        Class::Failed,
        r"(?i)^\s*\x22(error|exception|failure)([_-]?message)?\x22: ?\x22[^\x22]",
        "    \"error\": \"disk quota exceeded\",",
    ),
    row(
        Class::Failed,
        "(Failed with result|Main process exited, code=(killed|dumped))",
        "host systemd[1]: shop.service: Failed with result 'oom-kill'.",
    ),
    row(
        Class::Failed,
        r"(?i)\bI/O error\b|: segfault at |\bblocked for more than \d+ seconds|\bsoft lockup\b",
        "host kernel: nvme0: I/O error, dev nvme0n1, sector 776 op 0x0:(READ)",
    ),
    row(
        Class::Failed,
        "^(FAILURE: |FAILURES!|> Task .* FAILED)",
        "FAILURE: Build failed with an exception.",
    ),
    row(
        Class::Warning,
        r"(?i)(^|[\s\[(:|=])(warning|warn|deprecated)([\s\])!:|]|\[|$)",
        "warning: unused variable: `x`",
    ),
];

/// Bits of text, at least one of which is in every line that the table matches; a cheap first look.
pub(super) const HINTS: &str = "(?i)err|fail|panic|fatal|exce|interrupt|traceback|warn|pass|✗|✘|✖|×|✕|●|→|crit|\
emerg|alert|undefined|no such|not found|denied|refused|timed out|unhandled|segfault|segmentation|core dumped|\
out of memory|oom-kill|cannot find|\\*\\*\\*|deprecated|tests?\\b|problem|found \\d|build|summary|finished|\
generated|examples?|runs?|specs?|scenarios?|suites|snapshots|skip|cancelled|_{3}|total|expected|received|\
actual|got: |left: |right: |caused by|assert|called `|_test\\.go:|\\.go:\\d|level\\x22: ?[56]0|eror|-->|\
\\d\\) |^E  |[EF]\\d{4} \\d|packages|address already|no space|overflow|double free|no rule|recipe|successfully|\
failed asserting|SIG[A-Z]+ \\[|LEAK|exited|^ok|not ok|\
blocked for|lockup";

/// What a summary says when something failed.
pub(super) const BAD: &str = "FAIL|[1-9]\\d* (failed|failing|failures?|errors?|problems?|cancelled)\\b|\
(Failures|Errors|failures|errors)[:=] ?[1-9]|(fail|cancelled) [1-9]|[Ff]ailed to|stopped|could not|aborting|\
test failed|targets? failed";

/// Lines that only list what failed, whatever words are in them.
pub(super) const LISTED: &str = r"\[ *\d+%\]$|^_{3,} .* _{3,}$";

/// Ends of lines whose next line is the message.
pub(super) const ANNOUNCES: &str =
    r"(panicked at .*:|error: \|-|What went wrong:|^\s+[\w:]*(Error|Exception):)$";

/// Lines of a program's own text, printed or found in it: words such as `error` in them are names.
pub(super) const SOURCE: &str = r"^(\S+[:-]\d+[:-])?\s*(//|/\*|#\[|<!--|use |import |from \S+ import |pub |fn |let |const |def |class \w+[:({]|except |raise |throw )|^\s*[^\s\x22].*([;{]|\{\}|[\])}],)$";
