//! Messages on standard input.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_server::fuzzing::guard(data));
