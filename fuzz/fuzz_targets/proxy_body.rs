//! Chunked bodies through the proxy.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_fetch::fuzzing::proxy_body(data));
