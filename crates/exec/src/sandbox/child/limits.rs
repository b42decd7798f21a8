//! Bounds on processes, memory and files.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::super::profile::Limits;
use super::super::report::{Failure, InStep as _, Step};

/// Smallest `pid_max` the kernel takes.
const FEWEST_TASKS: u64 = 301;
/// No core file. With 0 the kernel would still start a handler of the host, as root, for a program
/// that crashes; it takes 1 for "not even that", and one byte is no file either.
const NO_CORE: u64 = 1;
/// How much likelier than the server a program is to be ended when memory runs out.
const OUT_OF_MEMORY_SCORE: &str = "500";

/// Bounds processes and threads of the box: `pid_max` of the new pid namespace, through its own
/// `/proc`. Older kernels have one `pid_max` for the whole machine, which must not be touched.
pub(super) fn bound_tasks(proc: &OwnedFd, tasks: u64) -> Result<(), Failure> {
    if tasks == 0 || !pid_max_is_per_namespace() {
        return Ok(());
    }
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file =
        openat(proc, "sys/kernel/pid_max", flags, Mode::empty()).step(Step::Limits, "pid_max")?;
    let text = tasks.max(FEWEST_TASKS).to_string();
    rustix::io::write(&file, text.as_bytes()).step(Step::Limits, "pid_max")?;
    Ok(())
}

/// True from Linux 6.14 on.
pub(super) fn pid_max_is_per_namespace() -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    release_at_least(&release, (6, 14))
}

fn release_at_least(release: &str, wanted: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= wanted,
        _ => false,
    }
}

/// Sets the limits of this process and all it starts.
pub(super) fn apply(limits: &Limits) -> Result<(), Failure> {
    for (resource, value) in [
        (Resource::Core, Some(NO_CORE)),
        (Resource::Data, bound(limits.memory_bytes)),
        (Resource::Fsize, bound(limits.file_bytes)),
        (Resource::Nofile, bound(limits.open_files)),
        // Counts only for users, and inside an own user namespace only the box's processes.
        (Resource::Nproc, bound(limits.tasks)),
    ] {
        let Some(value) = value else { continue };
        let ceiling = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let value = Some(value.min(ceiling));
        setrlimit(resource, Rlimit { current: value, maximum: value })
            .step(Step::Limits, "resource limit")?;
    }
    Ok(())
}

fn bound(value: u64) -> Option<u64> {
    (value != 0).then_some(value)
}

/// Makes the box's programs the first to go when memory runs out. Best effort: some outer
/// sandboxes forbid it.
pub(super) fn offer_to_out_of_memory_killer() {
    std::fs::write("/proc/self/oom_score_adj", OUT_OF_MEMORY_SCORE).ok();
}

#[cfg(test)]
mod tests {
    use super::release_at_least;

    #[test]
    fn releases_compare_by_number() {
        for (release, per_namespace) in [
            ("6.18.44-fc-v669", true),
            ("6.14.0", true),
            ("7.0-rc1", true),
            ("6.9.3", false),
            ("5.15.0-1-generic", false),
            ("nonsense", false),
            ("", false),
        ] {
            assert_eq!(release_at_least(release, (6, 14)), per_namespace, "{release}");
        }
    }
}
