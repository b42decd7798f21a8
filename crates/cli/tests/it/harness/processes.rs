//! Finds processes by a mark in their command line, and waits for them to come and go.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use super::PATIENCE;

/// Waits for a condition; `None` when it does not come true in time.
pub(crate) fn wait_until(within: Duration, mut condition: impl FnMut() -> bool) -> Option<()> {
    let deadline = Instant::now() + within;
    loop {
        if condition() {
            return Some(());
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A word that no other process has in its command line.
pub(crate) fn mark(name: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("QCMARK-{name}-{}-{}", std::process::id(), now.as_nanos())
}

/// A shell command that sleeps for a minute, recognizable by the mark.
pub(crate) fn sleeper(mark: &str) -> String {
    format!("python3 -c 'import time; time.sleep(60)  # {mark}'")
}

/// The live processes that have the mark in their command line.
pub(crate) fn processes(mark: &str) -> Vec<u32> {
    let marked = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(mark) && *pid != std::process::id()
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(marked).collect()
}

/// Waits until a marked process runs.
pub(crate) fn wait_for_process(mark: &str) {
    wait_until(PATIENCE, || !processes(mark).is_empty())
        .unwrap_or_else(|| panic!("no process with {mark}"));
}

/// Asserts that no marked process lives on.
pub(crate) fn assert_gone(mark: &str, within: Duration) {
    wait_until(within, || processes(mark).is_empty())
        .unwrap_or_else(|| panic!("left behind: {:?}", processes(mark)));
}
