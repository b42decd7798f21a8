//! The binary that starts the programs of the tests here: the product's hidden role and nothing else.

use quietcontext_exec::sandbox::{HIDDEN_ARGUMENT, child_main};

fn main() {
    if std::env::args_os().nth(1).is_some_and(|first| first == HIDDEN_ARGUMENT) {
        child_main();
    }
}
