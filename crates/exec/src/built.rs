//! Compiled programs, kept by what they were made of, so that a rerun does not compile again.
//!
//! A program is copied in and out, never run in place: no run gets a file of the cache into its
//! hands, and so no run can change what another one executes.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest as _, Sha256};

use crate::plan::Build;
use crate::scratch::Scratch;

/// Programs that are kept, the latest used.
const KEPT_PROGRAMS: usize = 64;

/// Bytes that are kept.
const KEPT_BYTES: u64 = 512 * 1024 * 1024;

/// Name of the build's output in the cache; `None` when it must not be used again. The compiler is
/// part of it: its path, size and time of change.
pub(crate) fn key(build: &Build) -> Option<String> {
    let inputs = build.inputs.as_ref()?;
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(env!("CARGO_PKG_VERSION").as_bytes());
    part(build.program.as_os_str().as_encoded_bytes());
    let compiler = fs::metadata(&build.program).ok()?;
    part(&compiler.len().to_le_bytes());
    let changed = compiler.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    part(&changed.as_nanos().to_le_bytes());
    for input in inputs {
        part(input);
    }
    let mut half = [0; 16];
    half.copy_from_slice(&hash.finalize()[..16]);
    Some(format!("{:032x}", u128::from_be_bytes(half)))
}

/// Copies a kept program to `target`; `false` when it is not there.
pub(crate) fn fetch(scratch: &Scratch, key: &str, target: &Path) -> bool {
    let Ok(directory) = scratch.built_directory() else { return false };
    let kept = directory.join(key);
    if fs::copy(&kept, target).is_err() {
        drop(fs::remove_file(target));
        return false;
    }
    // The time of last use decides what goes when there are too many.
    let now = FileTimes::new().set_modified(SystemTime::now());
    if let Ok(file) = File::open(&kept) {
        drop(file.set_times(now));
    }
    true
}

/// Keeps a copy of a program. Failing to costs the next run a compilation, nothing else.
pub(crate) fn keep(scratch: &Scratch, key: &str, program: &Path) {
    if let Err(error) = try_keep(scratch, key, program) {
        tracing::debug!(%error, "a compiled program was not kept");
    }
}

fn try_keep(scratch: &Scratch, key: &str, program: &Path) -> io::Result<()> {
    let directory = scratch.built_directory()?;
    // The compiler ran other people's code where it wrote this: a link would lead the server to
    // files that no program may see.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut program = File::from(openat(CWD, program, flags, Mode::empty())?);
    let found = program.metadata()?;
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let bytes = found.len();
    evict(&directory, KEPT_PROGRAMS - 1, KEPT_BYTES.saturating_sub(bytes))?;
    if bytes > KEPT_BYTES {
        return Ok(());
    }
    // Whole or not there: another server may be looking.
    let pending = directory.join(format!("{key}.{}", std::process::id()));
    let result = copy(&mut program, &pending, found.permissions())
        .and_then(|()| fs::rename(&pending, directory.join(key)));
    if result.is_err() {
        drop(fs::remove_file(&pending));
    }
    result
}

fn copy(from: &mut File, to: &Path, permissions: fs::Permissions) -> io::Result<()> {
    let mut copy = File::create(to)?;
    io::copy(from, &mut copy)?;
    copy.set_permissions(permissions)
}

/// Removes the longest unused until so many programs and bytes are left.
fn evict(directory: &Path, programs: usize, bytes: u64) -> io::Result<()> {
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if let Ok(data) = entry.metadata() {
            kept.push((data.modified()?, data.len(), entry.path()));
        }
    }
    kept.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
    let mut sum = 0u64;
    for (n_before, (_, len, path)) in kept.iter().enumerate() {
        sum = sum.saturating_add(*len);
        if n_before >= programs || sum > bytes {
            drop(fs::remove_file(path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_longest_unused_go_first() {
        let directory = tempfile::tempdir().unwrap();
        for age in 0..5u64 {
            let file = File::create(directory.path().join(age.to_string())).unwrap();
            file.set_len(10).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age * 100)).unwrap();
        }
        let left = || {
            let mut names: Vec<_> = fs::read_dir(directory.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names.join("")
        };
        evict(directory.path(), 4, 1000).unwrap();
        assert_eq!(left(), "0123");
        evict(directory.path(), 4, 25).unwrap();
        assert_eq!(left(), "01");
    }

    #[test]
    fn a_link_in_the_place_of_the_output_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(vec![place.path().join("scratch")]);
        let (secret, output) = (place.path().join("secret"), place.path().join("program"));
        fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(&secret, &output).unwrap();
        keep(&scratch, "key", &output);
        assert!(!fetch(&scratch, "key", &place.path().join("copy")));
        // The same path as a file is kept.
        fs::remove_file(&output).unwrap();
        fs::write(&output, "program").unwrap();
        keep(&scratch, "key", &output);
        assert!(fetch(&scratch, "key", &place.path().join("copy")));
    }

    #[test]
    fn the_key_depends_on_every_input_and_on_where_one_ends() {
        let key_of = |inputs: &[&str]| {
            key(&Build {
                program: "/bin/sh".into(),
                arguments: Vec::new(),
                cwd: "/".into(),
                output: "x",
                inputs: Some(inputs.iter().map(|input| input.as_bytes().to_vec()).collect()),
            })
            .unwrap()
        };
        assert_eq!(key_of(&["a", "b"]), key_of(&["a", "b"]));
        assert_ne!(key_of(&["a", "b"]), key_of(&["ab", ""]));
        assert_ne!(key_of(&["a", "b"]), key_of(&["a"]));
        assert_eq!(key_of(&["a"]).len(), 32);
    }
}
