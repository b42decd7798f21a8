//! Addresses: as URLs and as numbers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_fetch::fuzzing::address(data));
