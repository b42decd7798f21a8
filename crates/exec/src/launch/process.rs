//! The server's end of a launch: fork, stop, reap.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};

use super::prepare::Prepared;
use super::report::{REPORT_BYTES, Report};
use super::{Launch, Received, Supervisor, child, sweep};

/// How long a supervisor may take to stop its tree before it is killed itself. Cancelling promises
/// two seconds in all.
pub(crate) const STOP_LIMIT: Duration = Duration::from_millis(1500);

/// A supervisor that is a fork of this process.
#[derive(Debug)]
pub(crate) struct Forked {
    supervisor: Pid,
    report: OwnedFd,
    reaped: bool,
}

impl Launch<'_> {
    /// Starts the program under a supervisor. A program that cannot be executed is not an error
    /// here: the supervisor reports it.
    pub(crate) fn start_unconfined(&self) -> io::Result<Box<dyn Supervisor>> {
        let (report, child_end) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&report, OFlags::NONBLOCK)?;
        let prepared = Prepared::new(self, child_end.as_fd())?;
        let supervisor = fork_supervisor(&prepared)?;
        Ok(Box::new(Forked { supervisor, report, reaped: false }))
    }
}

impl Supervisor for Forked {
    fn report_fd(&self) -> BorrowedFd<'_> {
        self.report.as_fd()
    }

    fn try_report(&mut self) -> io::Result<Received> {
        let mut bytes = [0; REPORT_BYTES];
        match rustix::io::read(&self.report, &mut bytes) {
            Ok(REPORT_BYTES) => Ok(Report::decode(&bytes).map_or(Received::End, Received::Report)),
            Ok(_) => {
                sweep::kill_session(self.supervisor);
                Ok(Received::End)
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(Received::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// A supervisor that the program has halted is continued as well.
    fn stop(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        sweep::kill_session(self.supervisor);
    }

    fn reap(&mut self) -> Option<i32> {
        if self.reaped {
            return None;
        }
        self.reaped = true;
        loop {
            match waitpid(Some(self.supervisor), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Some(status.as_raw()),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                // Somebody ignores SIGCHLD: there is no status to have.
                Err(_) => return None,
            }
        }
    }

    /// The report is the last thing it does.
    fn release(mut self: Box<Self>) {
        self.reap();
    }
}

impl Forked {
    fn signal(&self, signal: Signal) {
        // Not reaped, so the number is still this process's own.
        if !self.reaped {
            let _ = kill_process(self.supervisor, signal);
        }
    }
}

impl Drop for Forked {
    /// Only reached un-reaped when the run failed half way: nothing may be left running.
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        self.stop();
        let limit = Instant::now() + STOP_LIMIT;
        if !ends_before(self.supervisor, limit) {
            self.kill();
        }
        self.reap();
    }
}

fn ends_before(pid: Pid, limit: Instant) -> bool {
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let left = limit.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    matches!(poll(&mut fds, Some(&timeout)), Ok(n) if n > 0)
}

/// Forks. Every signal is blocked across the fork, so that no handler of the server ever runs in
/// the child, where it would write to descriptors that it shares with the server.
fn fork_supervisor(prepared: &Prepared) -> io::Result<Pid> {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut old = MaybeUninit::<libc::sigset_t>::uninit();
    #[expect(
        unsafe_code,
        reason = "no safe call blocks signals; both sets are filled by the calls"
    )]
    let pid = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
        let pid = libc::fork();
        if pid == 0 {
            child::supervise(prepared);
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), std::ptr::null_mut());
        if pid < 0 {
            return Err(error);
        }
        pid
    };
    Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process"))
}
