//! Patterns of deny rules.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_tools::fuzzing::deny_pattern(data));
