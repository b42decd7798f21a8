//! Arguments of the six tools.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_tools::fuzzing::arguments(data));
