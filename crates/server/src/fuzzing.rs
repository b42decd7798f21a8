//! What holds for any bytes that a client sends: the fuzzer tries it, the tests replay it.

pub use crate::stdio::fuzzing::guard;

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;
    use super::*;

    #[test]
    fn any_stream_of_bytes_is_answered_once() {
        replay("guard", guard);
    }
}
