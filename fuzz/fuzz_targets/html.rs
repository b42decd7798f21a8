//! Pages: bytes to Markdown.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| quietcontext_fetch::fuzzing::html(data));
