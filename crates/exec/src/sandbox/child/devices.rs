//! The box's own `/dev` and `/proc`.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat};
use rustix::mount::MountAttrFlags;

use super::super::report::{Failure, InStep as _, Step};
use super::super::table::{DEVICE_LINKS, DEVICES};
use super::limits;
use super::mounts::{self, Access};
use super::view::View;

/// A minimal `/dev` in the box's own space: five devices, own terminals, own shared memory. Nothing is
/// created beside them: what a program writes to `/dev/tty` or `/dev/nul` would be lost in a file.
pub(super) fn dev(view: &View) -> Result<(), Failure> {
    let step = Step::Devices;
    let space = view.space();
    mkdirat(space, "dev", Mode::from_raw_mode(0o755)).step(step, "/dev")?;
    let directory =
        openat(space, "dev", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).step(step, "/dev")?;
    for (name, target) in DEVICE_LINKS {
        symlinkat(*target, &directory, *name).step(step, name)?;
    }
    mkdirat(&directory, "shm", Mode::from_raw_mode(0o1777)).step(step, "shm")?;
    mkdirat(&directory, "pts", Mode::from_raw_mode(0o755)).step(step, "pts")?;
    for name in DEVICES {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(&directory, *name, flags, Mode::from_raw_mode(0o666)).step(step, name)?;
    }
    let tree = mounts::copy_tree(directory.as_fd()).step(step, "/dev")?;
    mounts::restrict(&tree, Access::ReadOnly).step(step, "/dev")?;
    let place = view.find(Path::new("/dev")).step(step, "/dev")?;
    mounts::attach(&tree, &place).step(step, "/dev")?;
    let put = |mount: &OwnedFd, name: &str| {
        let place = openat(&tree, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        mounts::attach(mount, place.step(step, name)?).step(step, name)
    };
    for name in DEVICES {
        // A device keeps being one only on a mount that allows devices, hence read-only mounts of
        // the host's: nothing in the box can change their mode.
        let device = openat2(
            CWD,
            Path::new("/dev").join(name),
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        )
        .step(step, name)?;
        let device = mounts::copy_tree(device.as_fd()).step(step, name)?;
        mounts::restrict_device(&device).step(step, name)?;
        put(&device, name)?;
    }
    let memory = openat(&directory, "shm", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .step(step, "shm")?;
    put(&mounts::copy_tree(memory.as_fd()).step(step, "shm")?, "shm")?;
    let terminals = mounts::new(
        c"devpts",
        &[(c"ptmxmode", "0666"), (c"mode", "0620")],
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
    .step(step, "pts")?;
    put(&terminals, "pts")
}

/// A new `/proc` of this pid namespace. Read-only as a whole: as root its switches would be the
/// host's. The bound on processes is written on the way, while only we can.
pub(super) fn proc(view: &View, tasks: u64) -> Result<(), Failure> {
    let step = Step::Processes;
    let tree = mounts::new(
        c"proc",
        &[],
        MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
    .step(step, "/proc")?;
    limits::bound_tasks(&tree, tasks)?;
    mounts::restrict(&tree, Access::ReadOnly).step(step, "/proc")?;
    let place = view.find(Path::new("/proc")).step(step, "/proc")?;
    mounts::attach(&tree, &place).step(step, "/proc")
}
