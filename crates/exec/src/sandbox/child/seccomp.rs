//! The filter on system calls: what namespaces and Landlock leave open.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::super::report::{Failure, Step};

/// Which sockets a program may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// The families that its own network namespace holds.
    Namespaced,
    /// None but connected pairs: nothing else would hold them.
    None,
}

/// Refused with EPERM, whatever the arguments.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    OPEN_TREE_ATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// `open_tree_attr`, newer than the C library's table; the number is the same everywhere.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// Answered with ENOSYS, so that libraries fall back: `clone3`, whose flags a filter cannot read,
/// and io_uring, whose operations it would not see.
const UNKNOWN: &[libc::c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
];

/// `ioctl` requests that type into a terminal: TIOCSTI and TIOCLINUX. As numbers, since the C
/// libraries do not agree on their type.
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// Socket families that a network namespace holds.
const FAMILIES: [libc::c_int; 4] = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];

/// Namespaces that `clone` may not make. Most need a capability that is gone; a user namespace
/// does not.
const NEW_NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// The filter of programs, compiled. A launcher compiles it once for all that it forks.
#[derive(Debug, Clone)]
pub(super) struct Filter(BpfProgram);

impl Filter {
    /// Compiles it.
    pub(super) fn new(sockets: Sockets) -> Result<Self, Failure> {
        program(sockets).map(Self).map_err(failed)
    }

    /// Sets it for this thread and all it starts, for good.
    pub(super) fn apply(&self) -> Result<(), Failure> {
        seccompiler::apply_filter(&self.0).map_err(failed)
    }
}

fn failed(error: seccompiler::Error) -> Failure {
    Failure::plain(Step::Seccomp, error.to_string())
}

/// The whole filter: one part for each answer, one after the other.
fn program(sockets: Sockets) -> Result<BpfProgram, seccompiler::Error> {
    let mut refused = BTreeMap::new();
    for number in REFUSED {
        refused.insert(*number, Vec::new());
    }
    refused.insert(libc::SYS_ioctl, typing()?);
    refused.insert(libc::SYS_clone, each_bit(NEW_NAMESPACES)?);
    let unknown = UNKNOWN.iter().map(|number| (*number, Vec::new())).collect();
    let families = match sockets {
        Sockets::None => Vec::new(),
        Sockets::Namespaced => vec![SeccompRule::new(
            FAMILIES
                .iter()
                .map(|family| {
                    // The kernel reads an int: the upper half of the register is anything.
                    SeccompCondition::new(
                        0,
                        SeccompCmpArgLen::Dword,
                        SeccompCmpOp::Ne,
                        *family as u64,
                    )
                })
                .collect::<Result<_, _>>()?,
        )?],
    };
    let families = BTreeMap::from([(libc::SYS_socket, families)]);
    let mut whole = foreign_calls();
    for (rules, errno) in
        [(unknown, libc::ENOSYS), (families, libc::EAFNOSUPPORT), (refused, libc::EPERM)]
    {
        // A part ends with "allow"; without it the next one decides.
        whole.pop_if(|last| is_allow(last));
        whole.extend(compile(rules, errno)?);
    }
    Ok(whole)
}

const RETURN: u16 = 0x06;

fn is_allow(instruction: &sock_filter) -> bool {
    instruction.code == RETURN && instruction.k == libc::SECCOMP_RET_ALLOW
}

/// Compiles rules whose match gives an error number; everything else passes. The compiled program
/// kills on a foreign architecture before it looks at anything.
fn compile(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: libc::c_int,
) -> Result<BpfProgram, seccompiler::Error> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno as u32),
        architecture,
    )?;
    Ok(filter.try_into()?)
}

/// Terminal requests, compared on their low 32 bits, as the kernel does.
fn typing() -> Result<Vec<SeccompRule>, seccompiler::Error> {
    TYPING
        .iter()
        .map(|request| {
            let condition =
                SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request)?;
            Ok(SeccompRule::new(vec![condition])?)
        })
        .collect()
}

/// One rule for each bit: any of them set in the first argument matches.
fn each_bit(bits: libc::c_int) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    (0..32)
        .map(|position| 1_u64 << position)
        .filter(|bit| u64::from(bits as u32) & bit != 0)
        .map(|bit| {
            let condition = SeccompCondition::new(
                0,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::MaskedEq(bit),
                bit,
            )?;
            Ok(SeccompRule::new(vec![condition])?)
        })
        .collect()
}

/// Put before everything on x86-64: the second numbering of system calls there (x32) would go past
/// rules by number.
fn foreign_calls() -> Vec<sock_filter> {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_AT_LEAST: u16 = 0x35;
    const X32: u32 = 0x4000_0000;
    if !cfg!(target_arch = "x86_64") {
        return Vec::new();
    }
    let answer = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_AT_LEAST, jt: 0, jf: 1, k: X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: answer },
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Runs a filter on one call, as the kernel would: enough of BPF for what is generated.
    pub(in super::super) fn answer(
        program: &[sock_filter],
        number: i64,
        arguments: [u64; 2],
    ) -> u32 {
        const X86_64: u32 = 0xc000_003e;
        const AARCH64: u32 = 0xc000_00b7;
        let architecture = if cfg!(target_arch = "x86_64") { X86_64 } else { AARCH64 };
        let mut data = vec![number as u32, architecture, 0, 0];
        for argument in arguments {
            data.extend([argument as u32, (argument >> 32) as u32]);
        }
        let (mut accumulator, mut at) = (0_u32, 0);
        loop {
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
                RETURN => return step.k,
                code => panic!("unknown instruction {code:#x}"),
            }
        }
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
}
