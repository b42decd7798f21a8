//! Giving up every capability for good, also for programs that would gain them by `exec`.

use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities_secure_bits, set_no_new_privs,
};

use super::super::report::{Failure, InStep as _, Step};

/// Empties the bounding, ambient, effective, permitted and inheritable sets, locks them, and sets
/// `no_new_privs`. As root this comes before Landlock, which a capability can go round.
pub(super) fn drop_all() -> Result<(), Failure> {
    let step = Step::Capabilities;
    let mut emptied = true;
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Numbers that this kernel does not know end the list.
            Err(rustix::io::Errno::INVAL) => break,
            Err(_) => emptied = false,
        }
    }
    let _ = clear_ambient_capability_set();
    // Without the right to empty the bounding set (no own user namespace, not root) there is
    // nothing in the permitted set either, and `no_new_privs` keeps it so.
    if emptied {
        set_capabilities_secure_bits(
            CapabilitiesSecureBits::NO_ROOT
                | CapabilitiesSecureBits::NO_ROOT_LOCKED
                | CapabilitiesSecureBits::NO_SETUID_FIXUP
                | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
                | CapabilitiesSecureBits::KEEP_CAPS_LOCKED,
        )
        .step(step, "secure bits")
        .or_else(|failure| if failure.errno == libc::EPERM { Ok(()) } else { Err(failure) })?;
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).step(step, "sets")?;
    set_no_new_privs(true).step(step, "no_new_privs")
}
