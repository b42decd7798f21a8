//! Heads of requests to the proxy.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_fetch::fuzzing::proxy_head(data));
