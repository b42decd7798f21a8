//! How the binary is linked.

use std::env;
use std::process::Command;

/// The first glibc whose loader and start-up code know packed relocations.
const KNOWS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // 65,000 relocations take 1.6 MB of the file, all of which is read at each start, or 20 kB packed.
    if is_for_this_machine() && glibc().is_some_and(|version| version >= KNOWS_PACKED) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

fn is_for_this_machine() -> bool {
    env::var("HOST").is_ok() && env::var("HOST") == env::var("TARGET")
}

/// Version of this machine's glibc: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
