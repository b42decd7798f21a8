//! Every chunker.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_store::fuzzing::chunks(data));
