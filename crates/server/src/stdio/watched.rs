//! Registers a descriptor with the runtime's event queue.

use std::{io, os::fd::OwnedFd};

use tokio::io::{
    Interest,
    unix::{AsyncFd, AsyncFdRegisterError},
};

/// Watches `fd`; gives it back where the kernel cannot watch that kind of file.
#[expect(unsafe_code, reason = "the runtime wants a promise that the descriptor stays open")]
pub(super) fn watch(
    fd: OwnedFd,
    interest: Interest,
) -> Result<AsyncFd<OwnedFd>, (OwnedFd, io::Error)> {
    // SAFETY: `AsyncFd` takes ownership of the descriptor, so it stays open until the registration
    // ends; nothing here reaches into it to close or replace it.
    unsafe { AsyncFd::register_with_interest(fd, interest) }
        .map_err(AsyncFdRegisterError::into_parts)
}
