//! Bytes to text: which charset, and whether it was declared or guessed.
