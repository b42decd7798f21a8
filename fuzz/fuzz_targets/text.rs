//! Captured bytes to their view.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_store::fuzzing::text(data));
