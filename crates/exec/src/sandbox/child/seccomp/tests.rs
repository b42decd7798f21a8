//! Tests of `seccomp`.

use super::*;

/// Runs a filter on one call, as the kernel would: enough of BPF for what is generated.
pub(in super::super) fn answer(program: &[sock_filter], number: i64, arguments: [u64; 2]) -> u32 {
    followed(program, OWN_ARCHITECTURE, number, arguments).0
}

/// The answer, and the instructions to it.
fn followed(
    program: &[sock_filter],
    architecture: u32,
    number: i64,
    arguments: [u64; 2],
) -> (u32, usize) {
    let mut data = vec![number as u32, architecture, 0, 0];
    for argument in arguments {
        data.extend([argument as u32, (argument >> 32) as u32]);
    }
    let (mut accumulator, mut at, mut steps) = (0_u32, 0, 0);
    loop {
        steps += 1;
        let step = &program[at];
        at += 1;
        let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
        match step.code {
            0x20 => accumulator = data[step.k as usize / 4],
            0x54 => accumulator &= step.k,
            0x05 => at += step.k as usize,
            0x15 => at += jump(accumulator == step.k),
            0x25 => at += jump(accumulator > step.k),
            0x35 => at += jump(accumulator >= step.k),
            0x45 => at += jump(accumulator & step.k != 0),
            RETURN => return (step.k, steps),
            code => panic!("unknown instruction {code:#x}"),
        }
    }
}

#[test]
fn the_search_changes_no_answer_and_is_short() {
    let quick = program(Sockets::Namespaced).unwrap();
    // Without the search: everything goes through all rules.
    let (start, whole) = (foreign_calls().len(), quick.len());
    let rules = (start..whole).find(|at| quick[*at].code == LOAD).unwrap();
    let slow: Vec<_> = quick[..start].iter().chain(&quick[rules..]).cloned().collect();
    let mut longest = 0;
    for number in 0..1024 {
        for first in [0, libc::CLONE_NEWUSER as u64, libc::AF_VSOCK as u64] {
            for second in [0, TYPING[0]] {
                let got = followed(&quick, OWN_ARCHITECTURE, number, [first, second]);
                assert_eq!(got.0, answer(&slow, number, [first, second]), "{number}");
                if got.0 == libc::SECCOMP_RET_ALLOW
                    && ![libc::SYS_clone, libc::SYS_ioctl, libc::SYS_socket].contains(&number)
                {
                    longest = longest.max(got.1);
                }
            }
        }
    }
    assert!(longest <= 16, "{longest}");
}

#[test]
fn calls_of_another_architecture_end_the_process() {
    let program = program(Sockets::Namespaced).unwrap();
    let (got, _) = followed(&program, 0x4000_0003, libc::SYS_read, [0, 0]);
    assert_eq!(got, libc::SECCOMP_RET_KILL_PROCESS);
}

#[test]
fn each_call_gets_its_answer() {
    const HIGH: u64 = 0xdead << 32;
    let errno = |number: i32| libc::SECCOMP_RET_ERRNO | number as u32;
    let allow = libc::SECCOMP_RET_ALLOW;
    let program = program(Sockets::Namespaced).unwrap();
    let none = super::program(Sockets::None).unwrap();
    for number in REFUSED {
        assert_eq!(answer(&program, *number, [0, 0]), errno(libc::EPERM), "{number}");
    }
    for number in UNKNOWN {
        assert_eq!(answer(&program, *number, [0, 0]), errno(libc::ENOSYS), "{number}");
    }
    for (number, arguments, want) in [
        (libc::SYS_read, [0, 0], allow),
        (libc::SYS_socketpair, [libc::AF_UNIX as u64, 0], allow),
        (libc::SYS_clone, [libc::SIGCHLD as u64, 0], allow),
        (libc::SYS_clone, [(libc::CLONE_VM | libc::CLONE_THREAD) as u64, 0], allow),
        (libc::SYS_clone, [libc::CLONE_NEWUSER as u64, 0], errno(libc::EPERM)),
        (libc::SYS_clone, [HIGH | libc::CLONE_NEWNET as u64, 0], errno(libc::EPERM)),
        (libc::SYS_ioctl, [0, 0x5401], allow),
        (libc::SYS_ioctl, [0, TYPING[0]], errno(libc::EPERM)),
        (libc::SYS_ioctl, [0, HIGH | TYPING[0]], errno(libc::EPERM)),
        (libc::SYS_ioctl, [0, TYPING[1]], errno(libc::EPERM)),
        (libc::SYS_socket, [libc::AF_INET as u64, 0], allow),
        (libc::SYS_socket, [libc::AF_INET6 as u64, 0], allow),
        (libc::SYS_socket, [libc::AF_UNIX as u64, 0], allow),
        (libc::SYS_socket, [libc::AF_NETLINK as u64, 0], allow),
        (libc::SYS_socket, [libc::AF_VSOCK as u64, 0], errno(libc::EAFNOSUPPORT)),
        (libc::SYS_socket, [libc::AF_PACKET as u64, 0], errno(libc::EAFNOSUPPORT)),
        (libc::SYS_socket, [HIGH | libc::AF_VSOCK as u64, 0], errno(libc::EAFNOSUPPORT)),
    ] {
        assert_eq!(answer(&program, number, arguments), want, "{number} {arguments:x?}");
    }
    assert_eq!(
        answer(&none, libc::SYS_socket, [libc::AF_UNIX as u64, 0]),
        errno(libc::EAFNOSUPPORT)
    );
    assert_eq!(answer(&none, libc::SYS_socketpair, [libc::AF_UNIX as u64, 0]), allow);
    if cfg!(target_arch = "x86_64") {
        let second = 0x4000_0000 | libc::SYS_ptrace;
        assert_eq!(answer(&program, second, [0, 0]), errno(libc::ENOSYS));
    }
}
