//! Digests of what real tools printed, in the middle of a long log: what they must tell, and in how little.

use super::*;

/// An output; what its digest must say at 1,500 bytes; what it must still say at 256.
struct Output {
    name: &'static str,
    text: &'static str,
    told: &'static [&'static str],
    short: &'static [&'static str],
}

macro_rules! outputs {
    ($($name:literal: $told:expr; $short:expr;)+) => {
        const OUTPUTS: &[Output] = &[$(Output {
            name: $name,
            text: include_str!(concat!("../../tests/outputs/", $name, ".txt")),
            told: &$told,
            short: &$short,
        }),+];
    };
}

outputs! {
    "pytest": ["3 failed, 300 passed, 1 skipped, 1 error", "E   ", "assert 30.0 == 31", "no attribute 'discount'", "no database at localhost"]; ["3 failed, 300 passed", "E   "];
    "cargo-test": ["test result: FAILED. 80 passed; 3 failed", "two of ten", "left: 20", "index out of bounds", "no database"]; ["test result: FAILED", "tests::adds"];
    "nextest": ["80 passed, 3 failed", "two of ten", "index out of bounds", "no database"]; ["80 passed, 3 failed"];
    "cargo-build": ["could not compile `shop`", "error[E0277]", "error[E0308]: mismatched types"]; ["could not compile", "error[E0277]"];
    "go-test": ["shop_test.go:3: Total(10, 2) = 20, want 21", "b is wrong", "--- FAIL: TestTotal", "example.test/shop"]; ["want 21"];
    "go-panic": ["panic: assignment to entry in nil map", "example.test/shop"]; ["assignment to entry in nil map"];
    "go-build": ["undefinedName"]; ["undefinedName"];
    "go-panic-run": ["panic: assignment to entry in nil map"]; ["nil map"];
    "rust-panic": ["panicked at src/main.rs:3:18", "No such file or directory"]; ["called `Result::unwrap()`"];
    "jest": ["Tests:       2 failed, 1 skipped, 41 passed", "Expected: 21", "Received: 20", "● total › adds", "reading 'price'"]; ["Tests:       2 failed"];
    "vitest": ["Tests  2 failed | 1 passed", "expected 20 to be 21", "reading 'price'"]; ["2 failed", "expected 20 to be 21"];
    "mocha": ["2 failing", "strictly equal", "reading 'price'", "1) "]; ["2 failing"];
    "node-test": ["# fail 2", "not ok 1 - total", "expected: 21", "actual: 20", "Cannot read properties of null"]; ["# fail 2"];
    "node-test-spec": ["fail 2", "✖ total", "strictly equal", "Cannot read properties of null"]; ["fail 2"];
    "minitest": ["1 failures, 1 errors", "no database", "Expected: 21", "Actual: 20"]; ["1 failures, 1 errors"];
    "rspec": ["3 examples, 2 failures", "expect(total).to eq(21)", "got: 20", "undefined method `price' for nil"]; ["3 examples, 2 failures", "Failure/Error"];
    "phpunit": ["Tests: 4, Assertions: 4, Errors: 1, Failures: 1.", "Failed asserting that 20 matches expected 21.", "no database at localhost"]; ["Errors: 1, Failures: 1"];
    "maven": ["Tests run: 4, Failures: 1, Errors: 1", "BUILD FAILURE", "expected:<21> but was:<20>", "no database"]; ["BUILD FAILURE"];
    "gradle": ["BUILD FAILED in 6s", "4 tests completed, 2 failed", "ShopTest > total FAILED", "Execution failed for task ':test'"]; ["BUILD FAILED"];
    "eslint": ["✖ 6 problems (5 errors", "'undefinedThing' is not defined", "'y' is not defined"]; ["✖ 6 problems"];
    "tsc": ["TS2322: Type 'string'", "TS2551: Property 'cont'"]; ["TS2322"];
    "make-gcc": ["undefined reference to `helper'", "b.c:4:36: error: expected", "missing.h: No such file", "make: *** [Makefile:5: c.bin] Error 1"]; ["undefined reference"];
    "gxx": ["error: no matching function"]; ["no matching function"];
    "clang-link": ["undefined reference to `helper'", "linker command failed"]; ["undefined reference"];
    "ninja": ["build stopped", "undeclared identifier 'total'", "FAILED: b.o"]; ["undeclared identifier"];
    "npm-ci": ["npm error code EUSAGE", "can only install with an existing package-lock.json"]; ["EUSAGE"];
    "npm-script": ["Missing script: \"buildd\""]; ["Missing script"];
    "docker": ["failed to solve", "npm error code EUSAGE", "#8 ERROR: process"]; ["failed to solve"];
    "syslog": ["Out of memory: Killed process 4242", "Failed with result 'oom-kill'", "[crit] 77#77", "E0102 10:00:16.123456"]; ["Killed process 4242"];
    "jsonlines": ["order lost", "\"severity\":\"ERROR\",\"message\":\"no database\"", "disk is gone", "cannot bind", "logfmt short", "lost the connection", "giving up", "password authentication failed"]; ["order lost"];
    "python-traceback": ["RuntimeError: bad order file", "JSONDecodeError"]; ["Error: "];
    "node-traceback": ["TypeError: Cannot read properties of null (reading 'items')"]; ["reading 'items'"];
    "node-import": ["Cannot find module", "ERR_MODULE_NOT_FOUND"]; ["Cannot find module"];
    "java-traceback": ["IllegalStateException: bad order", "Caused by: java.lang.NumberFormatException: For input string: \"x\""]; ["bad order"];
    "php-traceback": ["DivisionByZeroError: Division by zero"]; ["Division by zero"];
    "ruby-traceback": ["invalid value for Integer(): \"x1\" (ArgumentError)"]; ["ArgumentError"];
    "r": ["Error in f(1) : bad order"]; ["bad order"];
}

fn digest(salience: &Salience, text: &str, room: usize) -> String {
    const AROUND: u64 = 1_500;
    let mut gathered = Gathered::new(room, salience);
    let noise = |i: u64| format!("INFO step {i} of the long job went well");
    let around = (1..=AROUND).map(noise);
    let lines = around.clone().chain(text.lines().map(str::to_owned)).chain(around);
    for (index, line) in lines.enumerate() {
        gathered.line(index as u64 + 1, &line);
    }
    gathered.render(room, |line| Some(ChunkId(200_000 + line / 40)))
}

#[test]
fn a_digest_tells_what_failed_and_why_for_real_outputs() {
    let salience = Salience::new();
    let mut missed = String::new();
    for output in OUTPUTS {
        // What a handle and a state line leave of 1,500 and of 256 bytes.
        for (room, told) in [(1_390, output.told), (150, output.short)] {
            let text = digest(&salience, output.text, room);
            assert!(text.len() <= room, "{}: {}", output.name, text.len());
            for words in told.iter().filter(|words| !text.contains(*words)) {
                missed.push_str(&format!("{} at {room}: {words} is not in\n{text}\n", output.name));
            }
        }
    }
    assert!(missed.is_empty(), "{missed}");
}
