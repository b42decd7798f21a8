//! The supervisor's own code: what happens between the fork and the supervisor's end.
//!
//! It runs in a fork of a threaded process, so it may only use async-signal-safe system calls and
//! memory that was there before: no allocation, no locks, no panics, no unwinding, no drops. That
//! is why this is raw `libc`. Every signal is blocked from before the fork on, and stays so: the
//! supervisor takes SIGCHLD and SIGTERM by waiting for them, never by a handler.

use std::ffi::{c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;

use super::prepare::Prepared;
use super::report::{REPORT_BYTES, Report, Step};
use super::tree::watch;

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
