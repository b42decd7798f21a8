//! Whether the kernel ended programs for lack of memory: its own count, before and after a run.

/// Programs of the whole machine that the kernel has ended for lack of memory, in all groups.
/// `None` where it does not tell.
pub(crate) fn kills() -> Option<u64> {
    count(&std::fs::read_to_string("/proc/vmstat").ok()?)
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
