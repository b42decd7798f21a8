//! The reaper of a program that has no process namespace of its own: whatever it leaves becomes this
//! process's child, and is collected or ended.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitOptions, getpgid, getpid, kill_process, kill_process_group,
    set_child_subreaper, set_parent_process_death_signal, wait,
};

use super::super::report::{Ended, Failure, InStep as _, Step};
use super::{First, Order, descriptors, first_of, reap_for};

/// How long processes that were left behind are hunted.
const HUNT: Duration = Duration::from_secs(2);

/// To be made before the program is started.
#[derive(Debug)]
pub(super) struct Reaper {
    /// Readable when a child has ended.
    children: OwnedFd,
}

impl Reaper {
    /// Makes this process the parent of orphans. From here on it takes no signal but the one that
    /// nobody can refuse: the program may send it any.
    pub(super) fn new() -> Result<Self, Failure> {
        set_child_subreaper(Some(getpid())).step(Step::Supervise, "subreaper")?;
        #[expect(unsafe_code, reason = "signals have no safe wrapper")]
        // SAFETY: sets of this frame, filled by the calls; the descriptor is new and nobody's.
        let children = unsafe {
            let mut all = std::mem::zeroed::<libc::sigset_t>();
            libc::sigfillset(&raw mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
            let mut child = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut child);
            libc::sigaddset(&raw mut child, libc::SIGCHLD);
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let number = libc::signalfd(-1, &raw const child, flags);
            (number >= 0).then(|| OwnedFd::from_raw_fd(number))
        };
        let children =
            children.ok_or_else(std::io::Error::last_os_error).step(Step::Supervise, "signals")?;
        Ok(Self { children })
    }

    /// Waits for the program, then ends what it left.
    pub(super) fn watch(&self, order: &Order<'_>, main: Pid) -> Result<Ended, Failure> {
        descriptors::let_go_of_standard_streams();
        let _ = set_parent_process_death_signal(None);
        let wait_status = loop {
            self.forget();
            if let Some(status) = collect(main) {
                break status;
            }
            if let First::LetGo = first_of(&[self.children.as_fd()], order.channel)? {
                hunt();
                return Ok(Ended::STOPPED);
            }
        };
        // What finishes by itself within the grace was not left behind.
        let quiet = reap_for(order.specification.profile.limits.grace);
        let left_behind = if quiet { 0 } else { hunt() };
        Ok(Ended { wait_status, left_behind, stopped: false, free: false })
    }

    /// Forgets the signals so far: what they tell is looked at now.
    fn forget(&self) {
        let mut signals = [0; 512];
        while matches!(rustix::io::read(&self.children, &mut signals), Ok(1..)) {}
    }
}

/// Whether nothing is below this process, not even to be collected.
pub(super) fn is_alone() -> bool {
    matches!(wait(WaitOptions::NOHANG), Err(rustix::io::Errno::CHILD))
}

/// Collects what has ended; the wait status of the main process, if that has.
fn collect(main: Pid) -> Option<i32> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((process, status))) if process == main => return Some(status.as_raw()),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Kills every descendant until there is none, for at most [`HUNT`]; how many there were. Their
/// groups at one stroke, so that a fork bomb cannot outrun it.
fn hunt() -> u32 {
    let until = Instant::now() + HUNT;
    let own = getpgid(None).ok();
    let mut killed = BTreeSet::new();
    loop {
        for process in descendants() {
            if let Ok(group) = getpgid(Some(process))
                && Some(group) != own
            {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = kill_process(process, Signal::KILL);
            killed.insert(process.as_raw_nonzero());
        }
        if reap_for(Duration::from_millis(2)) || Instant::now() > until {
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        }
    }
}

/// Every process below this one; orphans have become our children.
fn descendants() -> Vec<Pid> {
    let mut found = Vec::new();
    let mut open = vec![getpid()];
    while let Some(parent) = open.pop() {
        let number = parent.as_raw_nonzero();
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{number}/task")) else { continue };
        for task in tasks.flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children: Vec<_> = children
                .unwrap_or_default()
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
                .collect();
            found.extend(&children);
            open.extend(children);
        }
    }
    found
}
