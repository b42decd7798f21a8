//! The store of this workspace, and the disk on which all stores lie.

use std::{fs, path::Path};

use quietcontext_store::{Store, StoreError};

use super::{Check, Patient};
use crate::terminal::text::{counted, size};

/// Less free space than this and writing soon fails.
const LITTLE: u64 = 256 << 20;

/// Whether the store opens and is sound. One that is not there is not made.
pub(super) fn store(store: &Store) -> Check {
    let path = store.path();
    if !path.exists() {
        return Check::good("store", "nothing is stored for this workspace yet");
    }
    let bytes: u64 = ["", "-wal"]
        .iter()
        .filter_map(|ending| {
            let mut file = path.as_os_str().to_owned();
            file.push(ending);
            Some(fs::metadata(file).ok()?.len())
        })
        .sum();
    let outcome = store.check().and_then(|faults| Ok((faults, store.sources()?.len())));
    let broken = |found: String| {
        Check::bad("store", found)
            .means("what is stored for this workspace may be lost; a new store is made when it cannot be opened")
            .repaired_by("quietcontext purge --all")
    };
    // Nobody should remove a store that only this program, now, cannot use.
    let intact = |error: &StoreError| {
        Check::bad("store", error.to_string()).means(
            "nothing is stored or found for this workspace until then; what is in the store stays",
        )
    };
    match outcome {
        Ok((faults, sources)) if faults.is_empty() => {
            let sources = counted(sources as u64, "source");
            Check::good("store", format!("sound, {sources}, {}", size(bytes)))
        }
        Ok((faults, _)) => broken(faults.join("; ")),
        Err(error @ StoreError::Newer { .. }) => {
            intact(&error).repaired_by("install the newest quietcontext")
        }
        Err(error @ (StoreError::Locked { .. } | StoreError::Full | StoreError::ReadOnly)) => {
            intact(&error)
        }
        Err(error) => broken(error.to_string()),
    }
}

/// How much room there is, and what is kept for how long.
pub(super) fn space(patient: &Patient) -> Check {
    let folder = patient.data_dir.as_path();
    let retention = &patient.settings.retention;
    let kept = format!(
        "output and pages are kept {}, {} a workspace at most",
        counted(retention.max_age.as_secs() / 86_400, "day"),
        size(retention.max_bytes),
    );
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder);
    let free = match rustix::fs::statvfs(there) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => return Check::bad("disk", format!("{}: {error}", folder.display())),
    };
    let found = format!("{} free, {} used by stores; {kept}", size(free), size(used(folder)));
    if let Err(error) = writable(there) {
        return Check::bad("disk", format!("{} cannot be written: {error}", there.display()))
            .means("nothing can be stored")
            .repaired_by(format!("make {} yours, or set data_dir", there.display()));
    }
    if free < LITTLE {
        return Check::missing("disk", found)
            .means("large output may be lost when the disk is full; answers say so")
            .repaired_by("quietcontext purge --all, or a smaller store.max_bytes");
    }
    Check::good("disk", found)
}

fn used(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .sum()
}

fn writable(folder: &Path) -> Result<(), rustix::io::Errno> {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
}
