//! Mounts by descriptor: every operation names what it works on by an open descriptor, never by a
//! path that could have changed meanwhile.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use super::super::codec::Wire;

/// Whether a mount may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Not by anybody in the box.
    ReadOnly,
    /// As far as the files' own modes allow.
    Writable,
}

impl Wire for Access {
    fn put(&self, out: &mut Vec<u8>) {
        (*self == Self::Writable).put(out);
    }
    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(input)? { Self::Writable } else { Self::ReadOnly })
    }
}

/// A detached copy of the mounts at `place`, everything below included.
pub(super) fn copy_tree(place: BorrowedFd<'_>) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    open_tree(place, c"", flags)
}

/// A detached copy of the whole tree of this process.
pub(super) fn copy_root() -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, c"/", flags)
}

/// Makes a detached tree private (nothing mounted outside later may appear in it), without setuid
/// programs and devices, and read-only where asked.
pub(super) fn restrict(tree: &OwnedFd, access: Access) -> io::Result<()> {
    let read_only = if access == Access::ReadOnly { libc::MOUNT_ATTR_RDONLY } else { 0 };
    set_attributes(tree, read_only | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)
}

/// The same for a device, which must stay one.
pub(super) fn restrict_device(tree: &OwnedFd) -> io::Result<()> {
    set_attributes(
        tree,
        libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC,
    )
}

fn set_attributes(tree: &OwnedFd, set: u64) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    #[expect(unsafe_code, reason = "mount_setattr has no safe wrapper")]
    // SAFETY: an empty C string and a struct of exactly the size given, both alive over the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Puts a detached tree on the place of a descriptor.
pub(super) fn attach(tree: &OwnedFd, place: impl AsFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", place, c"", flags)
}

/// A new, detached file system of a kind. Options with an empty value are flags.
pub(super) fn new(
    kind: &CStr,
    options: &[(&CStr, &str)],
    attributes: MountAttrFlags,
) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        if value.is_empty() {
            fsconfig_set_flag(context.as_fd(), *key)?;
        } else {
            fsconfig_set_string(context.as_fd(), *key, *value)?;
        }
    }
    fsconfig_create(context.as_fd())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}
