//! Tests of `cause`.

use super::*;
use quietcontext_exec::sandbox::Limits;

fn line(held: bool, exit: Exit, text: &str) -> Option<String> {
    let limits = Limits { memory_bytes: 8 << 30, ..Limits::default() };
    let held = held.then_some(Held { mode: Mode::WorkspaceWrite, limits: &limits });
    let root = Path::new("/");
    let (out_of_memory, network_said) = (text.contains("OOM"), text.contains("DENIED"));
    let text = text.to_owned();
    Failed { exit, out_of_memory, network_said, text, held, root }.line()
}

/// What real programs print when they run into something, and what is said of it.
#[test]
fn each_cause_is_named_with_what_to_do() {
    let code = Exit::Code;
    let signal = |number, name| Exit::Signal { number, name, core: false };
    for (exit, printed, confined, unconfined) in [
        (
            code(1),
            "  x = bytearray(9 << 30)\nMemoryError\n",
            "a process may use 8 GiB; the user can set sandbox.memory_bytes]",
            "",
        ),
        (code(254), "-bash: fork: Cannot allocate memory", "sandbox.memory_bytes", ""),
        (
            signal(6, "SIGABRT"),
            "memory allocation of 9663676416 bytes failed\n",
            "sandbox.memory_bytes",
            "",
        ),
        (
            signal(6, "SIGABRT"),
            "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
            "--max-old-space-size",
            "--max-old-space-size",
        ),
        (
            signal(9, "SIGKILL"),
            "OOM",
            "the kernel ended it; it may use 8 GiB, the user can set sandbox.memory_bytes]",
            "[out of memory, the kernel ended it]",
        ),
        (code(137), "line 3: 12 Killed  ./hog OOM", "the kernel ended it", "the kernel ended it"),
        (
            code(2),
            "g++: fatal error: Killed signal terminated program cc1plus OOM",
            "the kernel ended it",
            "the kernel ended it",
        ),
        (
            code(1),
            "x.sh: fork: retry: Resource temporarily unavailable",
            "1,024 processes and threads; the user can set sandbox.tasks]",
            "",
        ),
        (code(1), "RuntimeError: can't start new thread", "sandbox.tasks", ""),
        (code(1), "OSError: [Errno 24] Too many open files: 'a'", "4,096 open files", ""),
        (signal(25, "SIGXFSZ"), "", "4 GiB for one file; the user can set sandbox.file_bytes]", ""),
        (code(1), "OSError: [Errno 27] File too large", "sandbox.file_bytes", ""),
        (
            code(1),
            "dd: error writing '/tmp/x': No space left on device",
            "1 GiB for /tmp and the home; write to the workspace",
            "",
        ),
        (
            code(128),
            "fatal: could not read Username for 'https://x.test': terminal prompts disabled",
            "the user has to do this",
            "the user has to do this",
        ),
        (
            code(255),
            "Host key verification failed.\n",
            "password, key or login",
            "password, key or login",
        ),
        (
            code(255),
            "git@x.test: Permission denied (publickey).\n",
            "password, key or login",
            "password, key or login",
        ),
        (
            code(1),
            "sudo: a terminal is required to read the password; either use ssh's -t option",
            "password, key or login",
            "password, key or login",
        ),
        (
            code(1),
            "GetPassWarning: Can not control echo\ntermios.error: (25, 'Inappropriate ioctl for device')",
            "password, key or login",
            "password, key or login",
        ),
        (
            code(2),
            "gpg: signing failed: Inappropriate ioctl for device",
            "password, key or login",
            "password, key or login",
        ),
        (
            code(1),
            "stty: 'standard input': Inappropriate ioctl for device",
            "no terminal",
            "no terminal",
        ),
        (code(1), "the input device is not a TTY", "no terminal", "no terminal"),
        (
            code(1),
            "sh: 1: cannot open /dev/tty: No such device or address",
            "no terminal",
            "no terminal",
        ),
        (
            code(1),
            "EOFError: EOF when reading a line",
            "put the input into the program",
            "put the input into the program",
        ),
        (code(6), "curl: (6) Could not resolve host: x.test", "quietcontext allow HOST", ""),
        (code(6), "curl: (6) Could not resolve host: x.test DENIED", "", ""),
        (
            code(7),
            "curl: (7) Failed to connect to localhost port 5432: Connection refused",
            "not the host's]",
            "",
        ),
        (
            code(1),
            "Error: spawn true EAGAIN {\n  code: 'EAGAIN',\n  syscall: 'spawn true'\n}",
            "sandbox.tasks",
            "",
        ),
        (
            code(1),
            "touch: /usr/x: Read-only file system",
            "writable are the workspace and /tmp",
            "",
        ),
        (Exit::TimedOut, "Building…\nOverwrite? [y/N] ", "nobody can answer", "nobody can answer"),
        (Exit::TimedOut, "[sudo] password for ada: ", "nobody can answer", "nobody can answer"),
    ] {
        for (held, wanted) in [(true, confined), (false, unconfined)] {
            let said = line(held, exit, printed);
            assert_eq!(said.is_some(), !wanted.is_empty(), "{printed}: {said:?}");
            let said = said.unwrap_or_default();
            assert!(said.contains(wanted) && said.len() < 170, "{printed}: {said}");
        }
    }
}

#[test]
fn ordinary_failures_get_no_advice() {
    let kill = Exit::Signal { number: 9, name: "SIGKILL", core: false };
    for (exit, printed) in [
        (kill, "killed by itself"),
        (Exit::Code(1), "Killed by a test OO"),
        (Exit::Code(1), "AssertionError: 2 != 3"),
        (Exit::Code(2), "ls: cannot access 'x': No such file or directory"),
        (Exit::Code(255), "Pseudo-terminal will not be allocated because stdin is not a terminal."),
        (Exit::Code(1), "read failed: EAGAIN"),
        (Exit::TimedOut, "partial-progress-1\n"),
        (Exit::TimedOut, "Enter password: ok\nworking\n"),
        (Exit::OutputCap, "MemoryError"),
        (Exit::Cancelled, "MemoryError"),
    ] {
        assert_eq!(line(true, exit, printed), None, "{printed}");
    }
}
