//! Shell text under a deny rule.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_tools::fuzzing::deny_shell(data));
