//! Dates as they are on this machine.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment in local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Local {
    pub(crate) year: i32,
    pub(crate) month: i32,
    pub(crate) day: i32,
    pub(crate) hour: i32,
    pub(crate) minute: i32,
}

impl Local {
    /// `when`, in the time zone of this process.
    pub(crate) fn of(when: SystemTime) -> Self {
        let seconds = when.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()) as _;
        let mut parts = std::mem::MaybeUninit::<libc::tm>::zeroed();
        #[expect(unsafe_code, reason = "the time zone is the C library's")]
        // SAFETY: both pointers lead to values of their types that live during the call; all bits
        // zero are a valid `tm`, should nothing be written.
        let parts = unsafe {
            libc::localtime_r(&raw const seconds, parts.as_mut_ptr());
            parts.assume_init()
        };
        Self {
            year: parts.tm_year + 1_900,
            month: parts.tm_mon + 1,
            day: parts.tm_mday,
            hour: parts.tm_hour,
            minute: parts.tm_min,
        }
    }

    /// `2026-12-01`.
    pub(crate) fn date(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `21:05`.
    pub(crate) fn time(self) -> String {
        format!("{:02}:{:02}", self.hour, self.minute)
    }
}

/// The dates of the last `days` days, today the last of them.
pub(crate) fn last_days(days: u64, now: SystemTime) -> Vec<String> {
    const DAY: u64 = 86_400;
    let mut dates: Vec<String> = (0..days)
        .rev()
        .filter_map(|back| now.checked_sub(Duration::from_secs(back * DAY)))
        .map(|when| Local::of(when).date())
        .collect();
    // A day of 23 or 25 hours may come twice.
    dates.dedup();
    dates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn today_is_the_last_of_the_days() {
        let now = UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        let days = last_days(3, now);
        assert_eq!(days.len(), 3);
        assert_eq!(days.last(), Some(&Local::of(now).date()));
        assert!(days.is_sorted() && Local::of(now).date().starts_with("2026-09-2"));
    }
}
