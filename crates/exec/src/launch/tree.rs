//! The supervisor's watch over its tree: the main process to its end, then whatever it left.
//!
//! Runs in the forked child, under the same rules as [`super::child`]: only async-signal-safe
//! system calls, no allocation, every signal blocked.

use std::ffi::c_int;
use std::mem;
use std::ptr;

use super::GRACE_MILLISECONDS;
use super::report::Report;

/// How long killing may take before the supervisor reports all the same.
const KILL_MILLISECONDS: u32 = 1000;

/// A round of killing lasts so long at most, or until something has ended.
const ROUND_MILLISECONDS: i64 = 20;

/// Waits for the main process, then sees to it that nothing is left.
#[expect(unsafe_code, reason = "system calls on own children")]
pub(super) unsafe fn watch(main: libc::pid_t) -> Report {
    unsafe {
        let mut tree = Tree { main, status: None, stopped_after: 0, gone: false };
        let mut stopped = false;
        loop {
            tree.reap();
            if tree.status.is_some() || tree.gone {
                break;
            }
            if wait_signal(None) == libc::SIGTERM {
                stopped = true;
                break;
            }
        }
        if !stopped {
            tree.grace();
        }
        let ended_by_itself = tree.status.is_some();
        tree.kill_all();
        Report::Ended {
            status: tree.status.unwrap_or(libc::SIGKILL),
            stopped: stopped && !ended_by_itself,
            left_behind: if ended_by_itself { tree.stopped_after } else { 0 },
        }
    }
}

/// All processes below the supervisor.
struct Tree {
    main: libc::pid_t,
    status: Option<c_int>,
    /// Processes other than the main one that ended by SIGKILL.
    stopped_after: u32,
    /// No child is left.
    gone: bool,
}

impl Tree {
    /// Collects whatever has ended.
    #[expect(unsafe_code, reason = "waits for own children")]
    unsafe fn reap(&mut self) {
        loop {
            let mut status = 0;
            let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
            if !self.note(pid, status) {
                return;
            }
        }
    }

    /// Books one result of `waitpid`; `false` when there was nothing to book.
    #[expect(unsafe_code, reason = "reads the thread's own error number")]
    fn note(&mut self, pid: libc::pid_t, status: c_int) -> bool {
        if pid < 0 {
            self.gone = unsafe { *libc::__errno_location() } == libc::ECHILD;
            return false;
        }
        if pid == self.main {
            self.status = Some(status);
        } else if pid > 0 && libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL {
            self.stopped_after += 1;
        }
        pid > 0
    }

    /// Gives leftovers a moment to end by themselves. SIGKILLs seen here were not ours.
    #[expect(unsafe_code, reason = "waits for own children")]
    unsafe fn grace(&mut self) {
        unsafe {
            let end = now_milliseconds() + i64::from(GRACE_MILLISECONDS);
            loop {
                self.reap();
                let left = end - now_milliseconds();
                if self.gone || left <= 0 || wait_signal(Some(left)) == libc::SIGTERM {
                    break;
                }
            }
            self.stopped_after = 0;
        }
    }

    /// Kills until no child is left. Descendants of a killed process become children of this one,
    /// the subreaper, whatever session or group they are in, and are killed in the next round.
    /// What cannot be killed (stuck in the kernel, or another user's) is given up in the end.
    #[expect(unsafe_code, reason = "signals to own children and their groups")]
    unsafe fn kill_all(&mut self) {
        unsafe {
            let end = now_milliseconds() + i64::from(KILL_MILLISECONDS);
            self.reap();
            while !self.gone {
                if self.status.is_none() {
                    libc::kill(-self.main, libc::SIGKILL);
                    libc::kill(self.main, libc::SIGKILL);
                }
                kill_children();
                let left = end - now_milliseconds();
                if left <= 0 {
                    self.stopped_after += 1;
                    return;
                }
                wait_signal(Some(left.min(ROUND_MILLISECONDS)));
                self.reap();
            }
        }
    }
}

/// Kills each child and the group it is in: the group at one stroke, so that a fork bomb in it
/// cannot outrun the killing.
#[expect(unsafe_code, reason = "reads /proc through a buffer on the stack; signals own children")]
unsafe fn kill_children() {
    unsafe {
        let own = libc::getpid();
        let list = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY);
        if list < 0 {
            return;
        }
        let mut buffer = [0u8; 4096];
        let mut pid: libc::pid_t = 0;
        loop {
            let n = libc::read(list, buffer.as_mut_ptr().cast(), buffer.len());
            if n <= 0 {
                break;
            }
            let mut at = 0;
            while at < n as usize {
                let byte = *buffer.as_ptr().add(at);
                at += 1;
                if byte.is_ascii_digit() {
                    pid = pid.wrapping_mul(10).wrapping_add(libc::pid_t::from(byte - b'0'));
                } else if pid > 1 {
                    let group = libc::getpgid(pid);
                    if group > 1 && group != own {
                        libc::kill(-group, libc::SIGKILL);
                    }
                    libc::kill(pid, libc::SIGKILL);
                    pid = 0;
                }
            }
        }
        libc::close(list);
    }
}

/// Waits for SIGCHLD or SIGTERM, at most so many milliseconds; 0 when none came.
#[expect(unsafe_code, reason = "system calls on structures of this frame")]
unsafe fn wait_signal(limit_milliseconds: Option<i64>) -> c_int {
    unsafe {
        let mut set = mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        let signal = match limit_milliseconds {
            None => libc::sigwaitinfo(&raw const set, ptr::null_mut()),
            Some(left) => {
                let mut limit = mem::zeroed::<libc::timespec>();
                limit.tv_sec = left / 1000;
                limit.tv_nsec = left % 1000 * 1_000_000;
                libc::sigtimedwait(&raw const set, ptr::null_mut(), &raw const limit)
            }
        };
        if signal > 0 { signal } else { 0 }
    }
}

#[expect(unsafe_code, reason = "a system call that fills the structure")]
unsafe fn now_milliseconds() -> i64 {
    unsafe {
        let mut now = mem::zeroed::<libc::timespec>();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        now.tv_sec * 1000 + now.tv_nsec / 1_000_000
    }
}
