//! Queries over a small store.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use quietcontext_store::fuzzing::Shelf;

static SHELF: LazyLock<Shelf> = LazyLock::new(|| Shelf::new(&std::env::temp_dir()));

fuzz_target!(|data: &[u8]| SHELF.query(data));
