//! Gives big pieces of memory back to the system as soon as they are free.

/// Blocks of this size and more are mapped by themselves and unmapped when they are freed.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: libc::c_int = 256 << 10;

/// What an arena keeps of free memory at its end: with less, each search has pages mapped that the one before
/// has given back.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 1 << 20;

/// Gives back what is free now, in small blocks as well.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "the C library's only way to say it")]
    // SAFETY: releases pages of the allocator that are free; any thread may ask for it.
    let _released = unsafe { libc::malloc_trim(0) };
}

/// For a process of many threads: few arenas, since each keeps what was freed in it.
pub(crate) fn few_arenas() {
    /// About one for each thread that can run at a time on a small machine.
    #[cfg(target_env = "gnu")]
    const ARENAS: libc::c_int = 4;
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "the C library's only way to say it")]
    // SAFETY: changes a number in the allocator.
    let _taken = unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
}

/// Fixes the allocator's thresholds. By itself the one for mapping rises to the size of the biggest
/// block that was freed: one message of 12 MB then made an idle server keep 60 MiB for the rest of its life.
pub(crate) fn give_back_big_blocks() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "the C library's only way to say it")]
    // SAFETY: changes numbers in the allocator, and no thread but this one exists yet.
    let _taken = unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES)
            & libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES)
    };
}
