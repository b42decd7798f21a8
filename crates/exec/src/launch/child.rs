//! The supervisor's own code: what happens between the fork and the supervisor's end.
//!
//! It runs in a fork of a threaded process, so it may only use async-signal-safe system calls and
//! memory that was there before: no allocation, no locks, no panics, no unwinding, no drops. That
//! is why this is raw `libc`. Every signal is blocked from before the fork on, and stays so: the
//! supervisor takes SIGCHLD and SIGTERM by waiting for them, never by a handler.

use std::ffi::{c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;

use super::GRACE_MILLISECONDS;
use super::prepare::Prepared;
use super::report::{REPORT_BYTES, Report, Step};

/// Stack of the main process between its creation and its `exec`: a dozen system calls deep.
const START_STACK_BYTES: usize = 32 * 1024;

/// Lives on the supervisor's stack and is shared with the starting main process.
struct Start<'a> {
    prepared: &'a Prepared,
    supervisor: libc::pid_t,
    failed: Option<(Step, c_int)>,
}

#[repr(align(16))]
struct StartStack(#[expect(dead_code, reason = "used by address")] [u8; START_STACK_BYTES]);

/// Becomes the supervisor. Called in the child of a fork with every signal blocked.
pub(super) fn supervise(prepared: &Prepared) -> ! {
    let mut report = Report::Failed { step: Step::Fork, errno: 0 };
    #[expect(unsafe_code, reason = "only system calls; the child runs on its own copy of memory")]
    unsafe {
        // A session of its own: no controlling terminal, and no signal meant for the client's or
        // the server's process group.
        libc::setsid();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        if libc::getppid() != prepared.server {
            // The server was gone before it could be watched.
            libc::_exit(0);
        }
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        // Ignored signals stay ignored through exec: the server ignores SIGPIPE, and whoever
        // started it may have ignored more. The raw call, because the C library refuses the
        // numbers that it keeps for itself; all zeroes mean the default action.
        let default = [0u64; 4];
        for signal in 1..=64 {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), 0usize, 8usize);
        }
        let mut start = Start { prepared, supervisor: libc::getpid(), failed: None };
        let main = start_main(&mut start);
        if main < 0 {
            report = Report::Failed { step: Step::Fork, errno: *libc::__errno_location() };
        } else if let Some((step, errno)) = start.failed {
            report = Report::Failed { step, errno };
        }
        close_all_but(prepared.report);
        // Seen in a process list; and its memory, a copy of the server's, is nobody's to read.
        libc::prctl(libc::PR_SET_NAME, c"qc-supervisor".as_ptr());
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        if main > 0 && start.failed.is_none() {
            report = watch(main);
        }
        let bytes = report.encode();
        libc::write(prepared.report, bytes.as_ptr().cast(), REPORT_BYTES);
        libc::_exit(0)
    }
}

/// Makes the main process in the way of `vfork`: it shares memory, and the supervisor stands
/// still until it has executed the program or failed. Nothing is copied a second time.
#[expect(unsafe_code, reason = "clone with a stack of its own; both live until it returns")]
unsafe fn start_main(start: &mut Start<'_>) -> libc::pid_t {
    let mut stack = MaybeUninit::<StartStack>::uninit();
    unsafe {
        let top = stack.as_mut_ptr().cast::<u8>().add(START_STACK_BYTES);
        libc::clone(
            main_process,
            top.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            ptr::from_mut(start).cast(),
        )
    }
}

/// The main process until its `exec`.
extern "C" fn main_process(start: *mut c_void) -> c_int {
    let start = start.cast::<Start<'_>>();
    #[expect(unsafe_code, reason = "the supervisor stands still and keeps the structure alive")]
    unsafe {
        let prepared = (*start).prepared;
        // A group of its own: a program that signals its group must not reach the supervisor.
        // Not a session of its own: a session leader could still acquire a terminal.
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != (*start).supervisor {
            libc::_exit(127);
        }
        for (from, to) in [(prepared.stdin, 0), (prepared.stdout, 1), (prepared.stderr, 2)] {
            if libc::dup2(from, to) < 0 {
                return fail(start, Step::Streams);
            }
        }
        close_rest_on_exec();
        if libc::chdir(prepared.cwd.as_ptr()) < 0 {
            return fail(start, Step::Directory);
        }
        let mut none = mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::execve(prepared.program.as_ptr(), prepared.argv.as_ptr(), prepared.envp.as_ptr());
        fail(start, Step::Execute)
    }
}

#[expect(unsafe_code, reason = "writes to the structure that the waiting supervisor owns")]
unsafe fn fail(start: *mut Start<'_>, step: Step) -> c_int {
    unsafe {
        (*start).failed = Some((step, *libc::__errno_location()));
        libc::_exit(127)
    }
}

/// Descriptors that the server inherited without close-on-exec do not reach the program.
#[expect(unsafe_code, reason = "system calls on descriptor numbers")]
unsafe fn close_rest_on_exec() {
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0 {
            return;
        }
        // A kernel before 5.11.
        for fd in 3..descriptor_limit() {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// The supervisor keeps nothing of the server's open: no socket, no lock, no pipe of the program.
#[expect(unsafe_code, reason = "system calls on descriptor numbers of this process alone")]
unsafe fn close_all_but(keep: c_int) {
    unsafe {
        let below = libc::syscall(libc::SYS_close_range, 0, keep - 1, 0);
        let above = libc::syscall(libc::SYS_close_range, keep + 1, u32::MAX, 0);
        if below == 0 && above == 0 {
            return;
        }
        for fd in 0..descriptor_limit() {
            if fd != keep {
                libc::close(fd);
            }
        }
    }
}

#[expect(unsafe_code, reason = "a system call that fills the structure")]
unsafe fn descriptor_limit() -> c_int {
    unsafe {
        let mut limit = mem::zeroed::<libc::rlimit>();
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur.min(65_536) as c_int
    }
}

/// Waits for the main process, then sees to it that nothing is left.
#[expect(unsafe_code, reason = "system calls on own children")]
unsafe fn watch(main: libc::pid_t) -> Report {
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
    #[expect(unsafe_code, reason = "signals to own children and their groups")]
    unsafe fn kill_all(&mut self) {
        unsafe {
            self.reap();
            while !self.gone {
                if self.status.is_none() {
                    libc::kill(-self.main, libc::SIGKILL);
                    libc::kill(self.main, libc::SIGKILL);
                }
                kill_children();
                let mut status = 0;
                // Cannot hang: every child known at this moment is being killed, and a child that
                // came since then came by the death of one of them, which is what is waited for.
                let pid = libc::waitpid(-1, &raw mut status, 0);
                self.note(pid, status);
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
