//! First bytes of a tunnel.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_fetch::fuzzing::proxy_hello(data));
