//! The built-in reader of PDFs, run in the program's place: it keeps its three streams and loses the
//! system calls that could do anything else.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::super::report::{Failure, InStep as _, Step};
use super::{Order, descriptors, init, limits, privileges};

/// All that is left: reading, writing, memory, time, and ending. Nothing that opens, connects, starts
/// or signals anything but this process.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_read,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Reads, when the box is built. Does not return.
pub(super) fn run() -> Failure {
    match confine() {
        Err(failure) => failure,
        Ok(()) => read(),
    }
}

/// The same where no box is around it.
pub(super) fn bare(order: &Order<'_>) -> Result<(), Failure> {
    limits::offer_to_out_of_memory_killer();
    limits::apply(&order.specification.profile.limits)?;
    privileges::drop_all()?;
    confine()?;
    read()
}

fn read() -> ! {
    // Damage in a document unwinds to the page it is on, and says nothing.
    std::panic::set_hook(Box::new(|_| {}));
    init::leave(i32::from(!crate::pdf::run()))
}

fn confine() -> Result<(), Failure> {
    let failed = |error: seccompiler::Error| Failure::plain(Step::Seccomp, error.to_string());
    seccompiler::apply_filter(&filter().map_err(failed)?).map_err(failed)?;
    // The report's socket among them: from here on the reader tells nothing but its frames.
    descriptors::close_from(3).step(Step::Descriptors, "")
}

/// Everything that is not listed is refused; a foreign architecture ends the process.
fn filter() -> Result<BpfProgram, seccompiler::Error> {
    let rules: BTreeMap<_, _> = ALLOWED.iter().map(|number| (*number, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?.try_into()?)
}

#[cfg(test)]
mod tests {
    use super::super::seccomp::tests::answer;
    use super::*;

    #[test]
    fn the_reader_can_read_and_write_and_nothing_else() {
        let filter = filter().unwrap();
        let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        for number in ALLOWED {
            assert_eq!(answer(&filter, *number, [0, 0]), libc::SECCOMP_RET_ALLOW, "{number}");
        }
        for number in [
            libc::SYS_openat,
            libc::SYS_openat2,
            libc::SYS_unlinkat,
            libc::SYS_renameat2,
            libc::SYS_fchmod,
            libc::SYS_ftruncate,
            libc::SYS_utimensat,
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_kill,
            libc::SYS_tgkill,
            libc::SYS_ptrace,
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_connect,
            libc::SYS_sendmsg,
            libc::SYS_ioctl,
            libc::SYS_fcntl,
            libc::SYS_prctl,
            libc::SYS_seccomp,
            libc::SYS_bpf,
            libc::SYS_io_uring_setup,
            libc::SYS_memfd_create,
            libc::SYS_prlimit64,
        ] {
            assert_eq!(answer(&filter, number, [0, 0]), refused, "{number}");
        }
    }
}
