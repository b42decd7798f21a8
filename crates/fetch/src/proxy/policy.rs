//! What the proxy asks before it reaches anything.

use crate::{HostPort, guard::Class};

/// How far a host and port may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permit {
    /// Not at all.
    No,
    /// At public addresses.
    Public,
    /// At public addresses and those of private networks, not on this machine: a company's mirror.
    Private,
    /// Wherever it is, this machine included: the user named host and port for this purpose.
    Named,
}

impl Permit {
    /// Whether an address of this class may be dialled.
    pub(super) fn covers(self, class: Class) -> bool {
        let least = match class {
            Class::Public => Self::Public,
            Class::Private | Class::Shared | Class::Benchmarking => Self::Private,
            Class::Loopback => Self::Named,
            // Link-local, metadata and what no host has: not whatever the user says.
            _ => return false,
        };
        self >= least
    }
}

/// The user's policy, asked once for each request.
pub trait Permits: Send + Sync {
    /// How far `target` may be reached. Called on a thread that may block: it may read files and
    /// wait for programs.
    fn permit(&self, target: &HostPort) -> Permit;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Reach;

    #[test]
    fn a_permit_never_reaches_further_than_the_guard() {
        for class in [
            Class::Public,
            Class::Loopback,
            Class::Private,
            Class::Shared,
            Class::Benchmarking,
            Class::LinkLocal,
            Class::Metadata,
            Class::Multicast,
            Class::Unspecified,
            Class::Broadcast,
            Class::Documentation,
            Class::Reserved,
        ] {
            assert!(!Permit::No.covers(class));
            assert_eq!(Permit::Public.covers(class), class.reach() == Reach::Public, "{class:?}");
            assert_eq!(Permit::Named.covers(class), class.reach() != Reach::Never, "{class:?}");
            let elsewhere = class.reach() != Reach::Never && class != Class::Loopback;
            assert_eq!(Permit::Private.covers(class), elsewhere, "{class:?}");
        }
    }
}
