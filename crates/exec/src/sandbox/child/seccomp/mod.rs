//! The filter on system calls: what namespaces and Landlock leave open.

use std::collections::{BTreeMap, BTreeSet};

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
    let parts = [(unknown, libc::ENOSYS), (families, libc::EAFNOSUPPORT), (refused, libc::EPERM)];
    let mut whole = foreign_calls();
    let named: BTreeSet<u32> =
        parts.iter().flat_map(|(rules, _)| rules.keys()).map(|number| *number as u32).collect();
    whole.extend(search(&spans(&named))?);
    let mut rest = Vec::new();
    for (rules, errno) in parts {
        // A part ends with "allow"; without it the next one decides.
        rest.pop_if(|last| is_allow(last));
        rest.extend(compile(rules, errno)?);
    }
    whole.extend(rest);
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

/// Instructions of classic BPF, as the kernel numbers them.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;

/// Offsets in what the kernel shows of a call: its number and its architecture.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// The audit number of the architecture whose calls the rules speak of.
const OWN_ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };

const fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Put before everything, and leaves the call's number loaded: calls of another architecture end
/// the process; the second numbering of x86-64 (x32) would go past rules by number.
fn foreign_calls() -> Vec<sock_filter> {
    const X32: u32 = 0x4000_0000;
    let mut start = vec![
        instruction(LOAD, 0, 0, ARCHITECTURE),
        instruction(JUMP_IF_EQUAL, 1, 0, OWN_ARCHITECTURE),
        instruction(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(LOAD, 0, 0, NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        let answer = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        start.push(instruction(JUMP_IF_AT_LEAST, 0, 1, X32));
        start.push(instruction(RETURN, 0, 0, answer));
    }
    start
}

/// Numbers from `first` to the next span, all named in a rule or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: u32,
    named: bool,
}

fn spans(named: &BTreeSet<u32>) -> Vec<Span> {
    let mut spans = vec![Span { first: 0, named: named.contains(&0) }];
    for number in named {
        for (first, named) in [(*number, true), (*number + 1, named.contains(&(*number + 1)))] {
            if spans.last().is_some_and(|last| last.first < first && last.named != named) {
                spans.push(Span { first, named });
            }
        }
    }
    spans
}

/// A binary search by number that lets through what no rule names, and leads to the rules behind it
/// with everything else. The kernel tries a filter on every call there is when it is set, and most
/// calls that programs make are named nowhere: neither should go through all rules.
fn search(spans: &[Span]) -> Result<Vec<sock_filter>, seccompiler::Error> {
    let mut code = branch(spans)?;
    let length = code.len() as u32;
    for (at, step) in code.iter_mut().enumerate() {
        if step.code == JUMP {
            step.k = length - at as u32 - 1;
        }
    }
    Ok(code)
}

/// The part of the search that tells these spans apart. A [`JUMP`] stands for "to the rules".
fn branch(spans: &[Span]) -> Result<Vec<sock_filter>, seccompiler::Error> {
    let (low, high) = spans.split_at(spans.len() / 2);
    let Some(middle) = high.first() else { return Ok(Vec::new()) };
    if low.is_empty() {
        let allow = instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW);
        return Ok(vec![if middle.named { instruction(JUMP, 0, 0, 0) } else { allow }]);
    }
    let below = branch(low)?;
    // A conditional jump leads over 255 instructions at most.
    let over = u8::try_from(below.len())
        .map_err(|_| seccompiler::BackendError::FilterTooLarge(below.len()))?;
    let mut code = vec![instruction(JUMP_IF_AT_LEAST, over, 0, middle.first)];
    code.extend(below);
    code.extend(branch(high)?);
    Ok(code)
}

#[cfg(test)]
pub(super) mod tests;
