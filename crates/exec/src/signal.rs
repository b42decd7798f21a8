//! Wait statuses in words: exit code, or the signal by its name.

use crate::request::Exit;

/// Reads the wait status of a process that has ended.
pub(crate) fn exit_of(status: i32) -> Exit {
    if libc::WIFSIGNALED(status) {
        let number = libc::WTERMSIG(status);
        return Exit::Signal { number, name: name(number), core: libc::WCOREDUMP(status) };
    }
    Exit::Code(libc::WEXITSTATUS(status))
}

/// Name of a signal.
pub(crate) fn name(number: i32) -> &'static str {
    match number {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSTKFLT => "SIGSTKFLT",
        libc::SIGCHLD => "SIGCHLD",
        libc::SIGCONT => "SIGCONT",
        libc::SIGSTOP => "SIGSTOP",
        libc::SIGTSTP => "SIGTSTP",
        libc::SIGTTIN => "SIGTTIN",
        libc::SIGTTOU => "SIGTTOU",
        libc::SIGURG => "SIGURG",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGPROF => "SIGPROF",
        libc::SIGWINCH => "SIGWINCH",
        libc::SIGIO => "SIGIO",
        libc::SIGPWR => "SIGPWR",
        libc::SIGSYS => "SIGSYS",
        32..=64 => "SIGRT",
        _ => "unknown signal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn every_standard_signal_has_a_name_of_its_own() {
        let names: HashSet<_> = (1..32).map(name).collect();
        assert_eq!(names.len(), 31);
        assert!(names.iter().all(|name| name.starts_with("SIG")));
    }

    proptest! {
        #[test]
        fn an_exit_code_is_read_back(code in 0i32..256) {
            prop_assert_eq!(exit_of(code << 8), Exit::Code(code));
        }
    }

    #[test]
    fn a_core_dump_is_noted() {
        let segv = Exit::Signal { number: 11, name: "SIGSEGV", core: true };
        assert_eq!(exit_of(libc::SIGSEGV + 0x80), segv);
        let kill = Exit::Signal { number: 9, name: "SIGKILL", core: false };
        assert_eq!(exit_of(9), kill);
    }
}
