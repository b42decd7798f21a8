//! Whether the kernel ended programs for lack of memory: its own count, before and after a run.

use std::fs::File;
use std::io::Read as _;

/// Programs of the whole machine that the kernel has ended for lack of memory, in all groups.
/// `None` where it does not tell.
pub(crate) fn kills() -> Option<u64> {
    // Each read has the kernel count anew, and the file is of two pages: few reads, and no more than
    // are needed.
    let mut file = File::open("/proc/vmstat").ok()?;
    let (mut text, mut filled) = ([0; 16 * 1024], 0);
    loop {
        let read = file.read(text.get_mut(filled..)?).ok().filter(|read| *read > 0)?;
        filled += read;
        // Whole lines: the next read may go on in the middle of one.
        let whole = text.get(..filled)?.rsplitn(2, |byte| *byte == b'\n').nth(1)?;
        if let Some(count) = count(std::str::from_utf8(whole).ok()?) {
            return Some(count);
        }
    }
}

fn count(vmstat: &str) -> Option<u64> {
    vmstat.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_by_its_whole_name() {
        assert_eq!(count("pgfault 1\noom_kill_x 5\noom_kill 7\nswap_ra 2\n"), Some(7));
        assert_eq!(count("pgfault 1\n"), None);
        assert!(kills().is_some(), "this kernel counts them");
    }
}
