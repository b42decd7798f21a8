//! The `quietcontext` binary.
fn main() {}
